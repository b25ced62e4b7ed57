from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from equipoise.core.errors import EquipoiseError
from equipoise.judge import model
from equipoise.judge.located import locate_judge
from equipoise.judge.model import LABELS, CrossEncoder, cut_to_first_token, needed_graph, task_columns

if TYPE_CHECKING:
    from pathlib import Path


MAN = "A 45-year-old Black man has chest pain."
CLINICAL = [
    (f"{who} has {what}.", f"The patient is {guess}.")
    for who in ("A young woman", "An elderly man", "The homeless patient", "A Black student who lives in a hostel")
    for what in ("chest pain", "a fever and a cough", "been low in mood since the birth of her second child in March")
    for guess in ("ill", "a man", "homeless", "in pain and short of breath")
]


@pytest.mark.parametrize(
    ("premise", "hypothesis", "label"),
    [
        (MAN, "A man has pain in his chest.", "entailment"),
        (MAN, "A woman is well.", "contradiction"),
        (MAN, "The man is afraid of dying.", "neutral"),
        ("A woman is sleeping on a sofa.", "A woman is running in a park.", "contradiction"),
        ("Two boys play football outside.", "Some boys are outdoors.", "entailment"),
    ],
)
def test_shipped_judge_knows_plain_pairs(judge: CrossEncoder, premise: str, hypothesis: str, label: str) -> None:
    """The judge that ships gives plain pairs the label that any reader would."""
    (row,) = judge.probabilities([(premise, hypothesis)])

    assert label == LABELS[row.argmax()]


def test_rows_are_probabilities(judge: CrossEncoder) -> None:
    """Each row holds three probabilities that add up to one."""
    probabilities = judge.probabilities(CLINICAL)

    assert (len(CLINICAL), 3) == probabilities.shape
    assert np.all(probabilities >= 0)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("tokens_a_batch", [1, 100, 5000])
def test_batch_size_changes_no_bit(judge: CrossEncoder, tokens_a_batch: int) -> None:
    """Pairs computed one by one, in small and in large batches come out bit for bit the same."""
    alone = np.concatenate([judge.probabilities([pair]) for pair in CLINICAL])

    np.testing.assert_array_equal(alone, judge.probabilities(CLINICAL, tokens_a_batch=tokens_a_batch))


def test_order_changes_no_bit(judge: CrossEncoder) -> None:
    """Shuffled pairs come out bit for bit as in order."""
    order = np.random.default_rng(3).permutation(len(CLINICAL))
    shuffled = judge.probabilities([CLINICAL[place] for place in order])

    np.testing.assert_array_equal(judge.probabilities(CLINICAL)[order], shuffled)


@pytest.mark.parametrize("cores", [1, 3])
def test_number_of_cores_changes_no_bit(
    judge: CrossEncoder, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    """As many batches at once as there are cores, however many, give bit for bit the same."""
    monkeypatch.setattr(model, "cores", lambda: cores)
    other = locate_judge("minilm_snli", root, tmp_path).open()

    np.testing.assert_array_equal(judge.probabilities(CLINICAL), other.probabilities(CLINICAL, tokens_a_batch=40))


def test_equal_pairs_share_a_row(judge: CrossEncoder) -> None:
    """A pair that is asked twice gets the same row twice, in its places."""
    pairs = [CLINICAL[0], CLINICAL[1], CLINICAL[0]]
    probabilities = judge.probabilities(pairs)

    np.testing.assert_array_equal(probabilities[0], probabilities[2])
    assert not np.array_equal(probabilities[0], probabilities[1])


def test_no_pairs_give_no_rows(judge: CrossEncoder) -> None:
    """Nothing asked is an empty answer of the right shape."""
    assert judge.probabilities([]).shape == (0, 3)


def test_overlong_premise_loses_its_end(judge: CrossEncoder) -> None:
    """A premise beyond the token limit is cut at its end, and the hypothesis stays whole."""
    long = "word " * 600
    hypothesis = "A man has chest pain."
    probabilities = judge.probabilities([(long, hypothesis), (long + "A man has chest pain.", hypothesis)])

    np.testing.assert_array_equal(probabilities[0], probabilities[1])


def test_label_order_is_read_from_the_config(tmp_path: Path) -> None:
    """The columns come from id2label, whatever its order and case."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"id2label": {"0": "Contradiction", "1": "ENTAILMENT", "2": "neutral"}}), "utf-8")

    # Entailment is output 1, neutral 2, contradiction 0.
    assert task_columns(config) == ("inference", [1, 2, 0])


def test_a_reader_is_told_by_its_labels(tmp_path: Path) -> None:
    """A model with the labels of the treatments reads passages; their columns are put in order too."""
    config = tmp_path / "config.json"
    labels = {"0": "unmentioned", "1": "restated", "2": "dismissed", "3": "weighed"}
    config.write_text(json.dumps({"id2label": labels}), "utf-8")

    # Weighed is output 3, dismissed 2, restated 1, unmentioned 0.
    assert task_columns(config) == ("reading", [3, 2, 1, 0])


@pytest.mark.parametrize(
    "content", ["{}", "not json", '{"id2label": {"0": "positive", "1": "negative"}}', '{"id2label": 3}']
)
def test_model_of_no_task_is_refused(tmp_path: Path, content: str) -> None:
    """A config without the labels of either task is refused in one line that names file and field."""
    config = tmp_path / "config.json"
    config.write_text(content, "utf-8")

    with pytest.raises(
        EquipoiseError, match=r"config\.json, id2label: must name weighed, dismissed, .* or entailment, neutral"
    ):
        task_columns(config)


def test_incomplete_folder_is_refused(tmp_path: Path) -> None:
    """A folder without one of the three files is refused with the file's name."""
    with pytest.raises(EquipoiseError, match=r"model\.onnx: missing"):
        CrossEncoder(tmp_path, max_tokens=64)


def test_model_of_another_kind_is_opened_as_it_is(tmp_path: Path) -> None:
    """The file itself is opened for a model other than BERT, however large, and not read before."""
    (tmp_path / "config.json").write_text('{"model_type": "deberta-v2"}', "utf-8")

    assert tmp_path / "model.onnx" == needed_graph(tmp_path)


def test_unknown_judge_is_refused_with_the_nearest(root: Path, tmp_path: Path) -> None:
    """A misspelt name is answered with the known ones and the nearest."""
    with pytest.raises(
        EquipoiseError,
        match=r"did you mean 'minilm_passages'\? known: deberta_v3_large, llm, llm_letters, minilm_letters, minilm_p",
    ):
        locate_judge("minilm_passage", root, tmp_path).open()


ASKED = [
    (f"{who} has {what}.", f"The patient is {guess}.")
    for who in ("A young woman", "The homeless patient", "A Black student who lives in a hostel")
    for what in ("chest pain", "been low in mood since the birth of her second child in March")
    for guess in ("ill", "homeless", "in pain and short of breath")
]


def test_shipped_judge_is_cut_and_no_bit_changes(
    judge: CrossEncoder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge that ships is cut when it is opened, and gives bit for bit what its whole graph gives."""
    weights = root / "judge/snli/weights"
    monkeypatch.setattr(model, "needed_graph", lambda folder: folder / "model.onnx")
    whole = CrossEncoder(weights, max_tokens=512)

    assert cut_to_first_token(onnx.load(weights / "model.onnx"))
    np.testing.assert_array_equal(whole.probabilities(ASKED), judge.probabilities(ASKED))


def test_only_the_last_layer_is_cut(root: Path) -> None:
    """Of six layers the sixth one's projection and residual see one token, and the valid graph gains two slices."""
    model = onnx.load(root / "judge/snli/weights/model.onnx")
    before = {node.output[0]: list(node.input) for node in model.graph.node}

    assert cut_to_first_token(model)
    onnx.checker.check_model(model)
    assert {"first_token.attended", "first_token.hidden"} == {
        node.output[0] for node in model.graph.node
    } - before.keys()
    changed = [
        node.name for node in model.graph.node if list(node.input) != before.get(node.output[0], list(node.input))
    ]
    assert changed == [
        "/bert/encoder/layer.5/attention/output/dense/MatMul",
        "/bert/encoder/layer.5/attention/output/Add",
    ]


def test_graph_that_is_cut_is_left(root: Path) -> None:
    """A graph that is cut already has nothing left to cut."""
    model = onnx.load(root / "judge/snli/weights/model.onnx")
    cut_to_first_token(model)
    once = model.SerializeToString()

    assert not cut_to_first_token(model)
    assert once == model.SerializeToString()


def test_other_graph_is_left() -> None:
    """A graph that gathers the first token, but of no layer that is BERT's, stays as it is."""
    nodes = [
        helper.make_node("Relu", ["x"], ["hidden"]),
        helper.make_node("Gather", ["hidden", "first"], ["y"], axis=1),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    first = helper.make_tensor("first", TensorProto.INT64, [], [0])
    model = helper.make_model(helper.make_graph(nodes, "other", ends[:1], ends[1:], [first]))
    before = model.SerializeToString()

    assert not cut_to_first_token(model)
    assert before == model.SerializeToString()
