from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import sha256
from equipoise.judge.passages import TREATMENTS
from workshop.settings import section
from workshop.training import POOL, TrainSettings, begin_with, length_grouped, train

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from workshop.snli import Pair

SETTINGS = TrainSettings(
    seed=1,
    epochs=4,
    batch_size=6,
    learning_rate=3e-3,
    warmup=0.1,
    weight_decay=0.01,
    max_length=32,
    precision="float32",
    threads=1,
)


@given(lengths=st.lists(st.integers(1, 99), max_size=300), size=st.integers(1, 9), seed=st.integers(0, 9))
def test_every_pair_is_in_one_batch(lengths: list[int], size: int, seed: int) -> None:
    """Every index is in exactly one batch, and no batch is too large."""
    batches = length_grouped(lengths, size, seed)

    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(len(batch) <= size for batch in batches)
    assert batches == length_grouped(lengths, size, seed)


def test_batches_hold_like_lengths() -> None:
    """Within one pool, lengths are sorted into batches, so that next to nothing is padded."""
    lengths = [1, 9] * 2 * POOL
    batches = length_grouped(lengths, 4, 0)

    # Half of the 4 * POOL pairs have length 1 and half 9, and POOL is even: each batch has one length only.
    assert all(len({lengths[index] for index in batch}) == 1 for batch in batches)


def test_training_learns_and_repeats(checkpoint: Callable[..., Path], pairs: list[Pair], tmp_path: Path) -> None:
    """A few steps lower the loss, the labels are written to the config, and a second run gives the same bytes."""
    losses: list[float] = []
    base = checkpoint()
    train(base, lambda _: pairs, SETTINGS, tmp_path / "one", lambda _step, _steps, loss: losses.append(loss))
    train(base, lambda _: pairs, SETTINGS, tmp_path / "two")
    config = json.loads((tmp_path / "one/config.json").read_text("utf-8"))

    # 30 pairs in batches of 6 are 5 steps an epoch, 20 in four epochs.
    assert len(losses) == 20
    assert sum(losses[-5:]) < sum(losses[:5])
    assert config["id2label"] == {"0": "entailment", "1": "neutral", "2": "contradiction"}
    assert sha256(tmp_path / "one/model.safetensors") == sha256(tmp_path / "two/model.safetensors")


def test_bfloat16_trains(checkpoint: Callable[..., Path], pairs: list[Pair], tmp_path: Path) -> None:
    """Training under bfloat16 leaves float32 weights."""
    from safetensors import safe_open

    train(checkpoint(), lambda _: pairs, SETTINGS.model_copy(update={"precision": "bfloat16", "epochs": 1}), tmp_path)
    with safe_open(tmp_path / "model.safetensors", framework="np") as weights:
        kinds = {str(weights.get_tensor(name).dtype) for name in weights.keys()}  # noqa: SIM118 - not a mapping

    assert {"float32"} == kinds


def test_settings_of_the_pipeline_are_well_formed(root: Path) -> None:
    """The section `train` of both halves' params.yaml can be read."""
    assert all(section(root / path / "params.yaml", "train", TrainSettings).epochs for path in ("judge", "judge/snli"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("train: {epochs: 0}", r"params\.yaml, train\.seed: Field required"),
        ("other: {}", r"params\.yaml, section train: cannot be read"),
        ("train: [", r"params\.yaml, section train: cannot be read"),
    ],
)
def test_malformed_settings_are_named(tmp_path: Path, content: str, message: str) -> None:
    """Wrong settings are refused in one line that names the file and the key."""
    path = tmp_path / "params.yaml"
    path.write_text(content, "utf-8")

    with pytest.raises(EquipoiseError, match=message):
        section(path, "train", TrainSettings)


def test_a_reader_begins_as_the_judge_of_entailment() -> None:
    """To weigh is to entail and to dismiss to contradict; what is neutral is shared by the other two alike."""
    import torch

    judge = SimpleNamespace(
        classifier=torch.nn.Linear(5, 3),
        config=SimpleNamespace(label2id={"contradiction": 0, "entailment": 1, "neutral": 2}),
    )
    label2id = {label: place for place, label in enumerate(TREATMENTS)}
    reader = SimpleNamespace(classifier=torch.nn.Linear(5, 4), config=SimpleNamespace(label2id=label2id))
    begin_with(reader, judge)
    hidden = torch.linspace(-1, 1, 5)
    told, asked = (model.classifier(hidden).softmax(0).tolist() for model in (judge, reader))

    # Weighed, dismissed, restated, unmentioned.
    assert asked == pytest.approx([told[1], told[0], told[2] / 2, told[2] / 2], abs=1e-6)
