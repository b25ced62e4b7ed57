from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from equipoise.judge.reading import Feature, ReadingSettings, read_reasonings
from equipoise.judge.wordings import Finder, Wording
from equipoise.rating.agreement import CONSIDERATIONS
from workshop.grid import DISMISSED, NONE, WEIGHED, Grid, decide, entail_all, forms, margins, scan

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLACK = Feature("race", ("Black",))
PAIN = Feature("pain", ("pain",), Finder([Wording(words="pain")]))
PLAIN = {"mentioned": ["is {feature}"], "weighed": ["{subject} matters"], "dismissed": ["{subject} aside"]}
GRID: dict[str, Any] = {
    "hypotheses": {"plain": PLAIN},
    "sentences": [1],
    "top_k": [1],
    "temperatures": [1.0],
    "thresholds": {"weighed": [0.5], "dismissed": [0.5]},
}


def grid(**changes: Any) -> Grid:
    """A grid of one way of reading, but for the changes."""
    return Grid.model_validate(GRID | changes)


def drawn(pairs: list[tuple[str, str]]) -> NDArray[Any]:
    """Entailments that depend on the pair alone, and on nothing else."""
    import zlib

    p = np.array([zlib.crc32(repr(pair).encode()) % 1000 / 1000 for pair in pairs])
    return np.stack([p, 1 - p, np.zeros_like(p)], axis=1)


def test_codes_follow_the_considerations() -> None:
    """None, weighed and dismissed are 0, 1 and 2 throughout."""
    assert [CONSIDERATIONS[code] for code in (NONE, WEIGHED, DISMISSED)] == ["none", "weighed", "dismissed"]


def test_each_set_of_hypotheses_and_length_is_asked_once() -> None:
    """Every text has the entailments of its windows for one feature after the other, in each set and length."""
    calls = []

    def judge(pairs: list[tuple[str, str]]) -> NDArray[Any]:
        calls.append(pairs)
        return drawn(pairs)

    tried = grid(hypotheses={"plain": PLAIN, "other": PLAIN | {"weighed": ["{feature} counts"]}}, sentences=[1, 2])
    found = entail_all(tried, [("Pain. Rash.", [BLACK, PAIN]), ("", [BLACK]), ("He came.", [PAIN])], judge)

    assert set(found) == {("plain", 1), ("plain", 2), ("other", 1), ("other", 2)}
    assert len(calls) == 4
    assert [[len(text) for text in found["plain", sentences]] for sentences in (1, 2)] == [[4, 0, 1], [2, 0, 1]]
    first = found["other", 1][0]
    assert first[0, 1] == drawn([("Pain.", "Black counts")])[0, 0]
    # The second window does not have the words of the second feature, and is not asked about it.
    assert first[3].tolist() == [0, 0, 0]
    assert first[2, 1] == drawn([("Pain.", "pain counts")])[0, 0]
    assert found["plain", 1][2].tolist() == [[0, 0, 0]]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([BLACK, PAIN]),
    st.lists(st.sampled_from(["He came.", "She left.", "All well.", "Pain.", "Rash."]), min_size=0, max_size=6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.floats(0.05, 0.95),
    st.floats(0.05, 0.95),
)
def test_a_scan_reads_as_the_judge_does(
    feature: Feature, words: list[str], sentences: int, top_k: int, weighed: float, dismissed: float
) -> None:
    """At a temperature of 1 the table's reading is that of `read_reasonings`."""
    text = " ".join(words)
    thresholds = {"weighed": weighed, "dismissed": dismissed}
    reading = ReadingSettings.model_validate(
        {"sentences": sentences, "stride": 1, "top_k": top_k, "hypotheses": PLAIN}
        | {"thresholds": thresholds | {"mentioned": 0.5}}
    )
    (expected,) = read_reasonings([(text, [feature])], drawn, reading)
    tried = grid(sentences=[sentences], top_k=[top_k], thresholds={name: [value] for name, value in thresholds.items()})
    read = scan(tried, entail_all(tried, [(text, [feature])], drawn))

    assert read.probabilities[0, 0] == pytest.approx([expected.p_weighed, expected.p_dismissed])
    assert CONSIDERATIONS[read.codes[0, 0, 0, 0]] == expected.considered


def test_temperature_and_best_windows() -> None:
    """Windows (mentioned, weighed, dismissed) = (0.2, 0.9, 0), (0.6, 0.5, 0), (0.9, 0.1, 0), in several forms."""
    table = [np.array([[0.2, 0.9, 0.0], [0.6, 0.5, 0.0], [0.9, 0.1, 0.0]])]
    tried = grid(top_k=[1, 2], temperatures=[1.0, 0.5])
    read = scan(tried, {("plain", 1): table})
    found = {(form.top_k, form.temperature): p for form, p in zip(read.forms, read.probabilities[:, 0, 0], strict=True)}

    # At most the mention: 0.2, 0.5, 0.1. A temperature of 1/2 squares the odds: 0.2 becomes 1/17.
    assert found == pytest.approx({(1, 1.0): 0.5, (2, 1.0): 0.35, (2, 0.5): (0.5 + 1 / 17) / 2})


def test_forms_count_their_departures() -> None:
    """Each place from the first of a list is one departure; one window is tried at the first temperature alone."""
    tried = {
        (form.sentences, form.top_k, form.temperature): form.departures
        for form in forms(grid(sentences=[1, 2], top_k=[1, 3], temperatures=[1.0, 2.0]))
    }

    assert tried == {(1, 1, 1): 0, (1, 3, 1): 1, (1, 3, 2): 2, (2, 1, 1): 1, (2, 3, 1): 2, (2, 3, 2): 3}


def test_dismissed_must_be_likelier() -> None:
    """A text is dismissed where that reaches its threshold and exceeds weighed, else weighed where that does."""
    p = np.array([[0.6, 0.7], [0.7, 0.6], [0.3, 0.4], [0.3, 0.6]])

    assert decide(p, [0.5, 0.8], [0.5]).tolist() == [
        [[DISMISSED, WEIGHED, NONE, DISMISSED]],
        [[DISMISSED, NONE, NONE, DISMISSED]],
    ]


def test_a_margin_is_above_zero_where_a_threshold_is_reached() -> None:
    """The margin is the distance in log odds from the nearer threshold."""
    # log odds of 0.8 less those of 0.5: log 4; of 0.5 less those of 0.9: -log 9, and 0.2 lies log 4 below 0.5.
    assert margins(np.array([[0.8, 0.5], [0.2, 0.5]]), 0.5, 0.9) == pytest.approx([np.log(4), -np.log(4)])


@pytest.mark.parametrize("values", [[0.5, 0.4], [0.5, 0.5], [], [1.5]])
def test_thresholds_rise(values: list[float]) -> None:
    """Thresholds that do not rise, or are no probabilities, are refused."""
    with pytest.raises(ValidationError):
        grid(thresholds={"weighed": values, "dismissed": [0.5]})
