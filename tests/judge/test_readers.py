"""Tests of readers: judges of inference read by entailment, and panels that vote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.readers import (
    HYPOTHESES,
    decide,
    read_by_sentences,
    vote,
)
from equipoise.judge.reading import ask_about, parse_question
from equipoise.judge.rubric import require_reader
from equipoise.models.registry import load_judge_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equipoise.judge.passages import Treatment

ROOT = Path(__file__).parents[2]
SHARE = st.floats(0, 1)
ASKED = ("[ Black ] skin.", "The race of the patient (Black) is used as evidence.")


@given(st.lists(st.tuples(SHARE, SHARE, SHARE), min_size=1, max_size=5))
def test_entailments_give_probabilities(entailed: list[tuple[float, float, float]]) -> None:
    """Each row adds up to 1, and a passage whose sentences mention nothing weighs and dismisses nothing."""
    flat = np.ravel(entailed)
    inference = np.stack([flat, 1 - flat, np.zeros_like(flat)], axis=1)

    probabilities = read_by_sentences(lambda _: inference, [ASKED] * len(entailed))

    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert all(
        row[TREATMENTS.index("unmentioned")] == 1
        for row, shares in zip(probabilities, entailed, strict=True)
        if shares[0] == 0
    )


@pytest.mark.parametrize(
    ("entailed", "treatment"),
    [
        # Mentioned, weighed, dismissed; a feature is weighed from 0.4 and dismissed from 0.6, if that is likelier.
        ((0.9, 0.4, 0.0), "weighed"),
        ((0.9, 0.39, 0.59), "restated"),
        ((0.9, 0.5, 0.6), "dismissed"),
        ((0.9, 0.7, 0.65), "weighed"),
        ((0.3, 0.9, 0.9), "unmentioned"),
    ],
)
def test_sentences_have_the_thresholds_of_their_judge(
    entailed: tuple[float, float, float], treatment: Treatment
) -> None:
    """Whatever the thresholds, the judgement turns at a half, as it does for other readers."""
    inference = np.array([[p, 1 - p, 0.0] for p in entailed])

    assert decide(read_by_sentences(lambda _: inference, [ASKED])) == [treatment]


def test_sentences_that_name_the_feature_are_read() -> None:
    """The hypotheses name the subject (race); a sentence without the feature's words is not asked about."""
    heard: list[tuple[str, str]] = []

    def inference(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        heard.extend(pairs)
        return np.full((len(pairs), 3), 1 / 3)

    feature = load_lexicon(ROOT / "data/features").features({"race": "Black"})[0]
    named, other = (ask_about(text, feature) for text in ("She coughs. She is Black.", "She coughs."))
    probabilities = read_by_sentences(inference, [other, named, other])

    assert heard == [("She is Black.", hypothesis.format(subject="race")) for hypothesis in HYPOTHESES]
    assert decide(probabilities[[0, 2]]) == ["unmentioned"] * 2


def test_the_majority_decides() -> None:
    """Two judges of three that find a feature weighed outvote one that is certain that it is restated."""
    weighed, restated = np.array([[0.3, 0.2, 0.5, 0.0]]), np.array([[0.0, 0.0, 1.0, 0.0]])

    # 0.3 + 0.2 reaches a half, and weighed is the likelier of the two.
    assert decide(weighed) == ["weighed"]
    np.testing.assert_allclose(vote([weighed, weighed, restated]), [[2 / 3, 0, 1 / 3, 0]])


def test_a_panel_has_distinct_judges_that_are_no_panels(tmp_path: Path) -> None:
    """A judge named twice, and a panel within a panel, are refused with the fix."""
    folder = tmp_path / "models/judges"
    folder.mkdir(parents=True)
    common = {"title": "A panel", "licence": "none", "kind": "panel"}
    source = {"title": "One", "licence": "none", "source": {"kind": "local", "path": "one"}, "max_tokens": 512}
    panels = {"twice": ["one", "one"], "nested": ["one", "twice"], "unknown": ["one", "two"]}
    for name, judges in panels.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(common | {"judges": judges}), "utf-8")
    (folder / "one.yaml").write_text(yaml.safe_dump(source), "utf-8")

    with pytest.raises(EquipoiseError, match=r"twice.yaml: field judges: one is named twice: name each judge once"):
        require_reader("twice", tmp_path)
    with pytest.raises(EquipoiseError, match=r"nested.yaml: field judges: twice is a panel itself: name its judges"):
        require_reader("nested", tmp_path)
    with pytest.raises(EquipoiseError, match=r"no entry 'two'"):
        require_reader("unknown", tmp_path)


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    """The error names the file, the field and the kinds there are."""
    folder = tmp_path / "models/judges"
    folder.mkdir(parents=True)
    (folder / "odd.yaml").write_text("kind: oracle\n", "utf-8")

    with pytest.raises(EquipoiseError, match=r"odd.yaml: field kind: it must be one of llm, panel, or left out"):
        load_judge_entry("odd", tmp_path)


@pytest.mark.parametrize("words", ["Black", "75-year-old", "low income", "tall (very)"])
def test_a_pair_gives_back_what_was_asked(words: str) -> None:
    """Other readers get the passage without brackets, the subject and the words."""
    feature = load_lexicon(ROOT / "data/features").features({"race": words})[0]
    text = "A Black man, of Black heritage [sic]. White count raised."

    assert parse_question(ask_about(text, feature)) == (text, "race", words)
