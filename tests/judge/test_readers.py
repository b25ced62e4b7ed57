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
    AS_CONSIDERED,
    HYPOTHESES,
    by_entailment,
    decided,
    rescaled,
    vote,
)
from equipoise.judge.reading import Feature, asked, plainly_asked
from equipoise.judge.rubric import require_reader
from equipoise.models.registry import load_judge_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
SHARE = st.floats(0, 1)
ASKED = asked("A passage.", Feature("race", ("Black",)))


@given(st.lists(st.tuples(SHARE, SHARE, SHARE), min_size=1, max_size=5))
def test_entailments_give_probabilities(entailed: list[tuple[float, float, float]]) -> None:
    """Each row adds up to 1, and a passage that mentions nothing weighs and dismisses nothing."""
    flat = np.ravel(entailed)
    inference = np.stack([flat, 1 - flat, np.zeros_like(flat)], axis=1)

    found = by_entailment(lambda _: inference, [ASKED] * len(entailed))

    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert all(
        row[TREATMENTS.index("unmentioned")] == 1 for row, one in zip(found, entailed, strict=True) if one[0] == 0
    )


def test_a_judge_of_inference_is_asked_of_the_subject() -> None:
    """The hypotheses name the subject (race) of each question, three to a passage."""
    heard: list[tuple[str, str]] = []

    def inference(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        heard.extend(pairs)
        return np.full((len(pairs), 3), 1 / 3)

    by_entailment(inference, [ASKED])

    assert heard == [("A passage.", one.format(subject="race")) for one in HYPOTHESES]


def test_the_majority_decides() -> None:
    """Two judges of three that find a feature weighed outvote one that is certain that it is restated."""
    weighed, restated = np.array([[0.44, 0.36, 0.2, 0.0]]), np.array([[0.0, 0.0, 1.0, 0.0]])

    # 0.44 + 0.36 reaches 0.8, and weighed is the likelier of the two.
    assert decided(weighed) == ["weighed"]
    np.testing.assert_allclose(vote([weighed, weighed, restated]), [[2 / 3, 0, 1 / 3, 0]])


@given(st.lists(SHARE, min_size=4, max_size=4).filter(lambda row: sum(row) > 0.01))
def test_a_half_becomes_where_the_reading_turns(row: list[float]) -> None:
    """Rescaled rows are probabilities, considered from 0.8 exactly where they were from a half, shares kept."""
    p = np.array([row]) / sum(row)
    found = rescaled(p)
    considered = p[0, AS_CONSIDERED].sum()

    np.testing.assert_allclose(found.sum(), 1, atol=1e-6)
    np.testing.assert_allclose(found[0, 0] * p[0, 1], found[0, 1] * p[0, 0], atol=1e-6)
    assert abs(considered - 0.5) < 1e-6 or (found[0, AS_CONSIDERED].sum() >= 0.8) == (considered >= 0.5)


def test_a_half_is_considered() -> None:
    """Of four orders two that find a feature weighed are enough."""
    found = rescaled(np.array([[0.5, 0.0, 0.5, 0.0], [0.25, 0.25, 0.25, 0.25]]))

    assert [one != "restated" for one in decided(found)] == [True, True]


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

    assert plainly_asked(asked(text, feature)) == (text, "race", words)
