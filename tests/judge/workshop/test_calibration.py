from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from workshop.calibration import CalibrateSettings, calibrate, choose, codes_of, dealt, hold_out, tabulate
from workshop.grid import Scan, scan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from equipoise.core.records import Consideration

PLAIN = {"mentioned": ["is {feature}"], "weighed": ["{subject} matters"], "dismissed": ["{subject} aside"]}
BARS = [round(0.1 * step, 1) for step in range(1, 10)]
SETTINGS: dict[str, Any] = {
    "hypotheses": {"plain": PLAIN},
    "sentences": [1],
    "top_k": [1],
    "temperatures": [1.0],
    "thresholds": {"weighed": BARS, "dismissed": BARS},
    "objective": "both",
    "standard_errors": 1.0,
    "folds": 4,
    "repeats": 3,
    "deals": 4,
    "similarity": 0.4,
    "seed": 0,
    "n_bootstrap": 100,
}
GROUPS = [f"g{place // 6:02d}" for place in range(96)]


def given(**changes: Any) -> CalibrateSettings:
    """Settings of one form and nine by nine thresholds, but for the changes."""
    return CalibrateSettings.model_validate(SETTINGS | changes)


def planted(seed: int, *, bar: float, shift: float = 0.0) -> tuple[list[NDArray[Any]], list[Consideration]]:
    """Texts of three windows in 16 groups of six: weighed where the best reaches `bar`, dismissed where aside does."""
    rng = np.random.default_rng(seed)
    texts: list[NDArray[Any]] = []
    labels: list[Consideration] = []
    kinds: list[Consideration] = ["weighed", "none", "none", "weighed", "dismissed", "none"]
    for kind in kinds * 16:
        window = rng.uniform(0, bar - 0.05, size=(3, 3))
        window[:, 0] = 1.0
        if kind == "weighed":
            window[1, 1] = rng.uniform(bar + 0.01, 1)
        if kind == "dismissed":
            window[1, 2] = rng.uniform(bar + 0.01, 1)
        texts.append(window + shift)
        labels.append(kind)
    return texts, labels


def table(texts: Sequence[NDArray[Any]]) -> Mapping[tuple[str, int], Sequence[NDArray[Any]]]:
    """Entailments of the one set of hypotheses and window length."""
    return {("plain", 1): texts}


def figures(found: Any, *names: str) -> Any:
    """Follow names into the figures."""
    for name in names:
        found = found[name]
    return found


def test_a_planted_threshold_is_found() -> None:
    """Where texts reach 0.6 exactly if they weigh or dismiss, 0.6 is chosen, and labels not seen agree."""
    texts, labels = planted(1, bar=0.6)
    found = calibrate(given(), table(texts), labels, GROUPS)

    # What is below 0.6 lies below 0.55, and what is above, above 0.61: of the thresholds only 0.6 parts them.
    assert figures(found, "choice", "thresholds") == {"weighed": 0.6, "dismissed": 0.6}
    assert figures(found, "held_out", "considered", "kappa", "estimate") == 1.0
    assert figures(found, "held_out", "considered", "auc", "estimate") == 1.0
    assert figures(found, "held_out", "three_way", "kappa", "estimate") == 1.0
    # 3 of 6 texts in each of 16 groups are silent.
    assert figures(found, "held_out", "errors", "silent") == {"right": 48, "of": 48}
    assert figures(found, "stability", "weighed") == {"mean": 0.6, "median": 0.6, "least": 0.6, "most": 0.6}
    assert figures(found, "stability", "n_folds") == 12


def test_a_planted_form_is_found() -> None:
    """Where a stray window weighs in the texts that do not, two windows are chosen although one is the simpler."""
    texts, labels = planted(2, bar=0.6)
    # Every text has one window that says all; those that weigh or dismiss have two of their kind.
    strays = [
        np.vstack([text, [[1.0, 0.99, 0.0]] if label == "none" else text[1:2]])
        for text, label in zip(texts, labels, strict=True)
    ]
    found = calibrate(given(top_k=[1, 2]), table(strays), labels, GROUPS)

    assert figures(found, "choice", "top_k") == 2
    assert figures(found, "stability", "share", "top_k") == {"2": 1.0}


def test_the_simplest_form_is_kept_where_others_are_no_better() -> None:
    """Two forms that read alike: the one with fewer departures is chosen."""
    texts, labels = planted(3, bar=0.6)
    twice = {(name, 1): texts for name in ("plain", "other")}
    found = calibrate(given(hypotheses={"plain": PLAIN, "other": PLAIN}), twice, labels, GROUPS)

    assert figures(found, "choice", "hypotheses") == "plain"


def test_the_most_central_threshold_is_chosen() -> None:
    """Among thresholds that part the texts equally well, the middle one is chosen."""
    texts = [np.array([[1.0, p, 0.0]]) for p in (0.15, 0.85) * 12]
    labels: list[Consideration] = ["none", "weighed"] * 12
    found = calibrate(given(folds=3), table(texts), labels, [f"g{at // 2}" for at in range(24)])

    # 0.2 to 0.8 part 0.15 from 0.85, and every threshold of dismissal leaves all be: the middles of 0.2–0.8, 0.1–0.9.
    assert figures(found, "choice", "thresholds") == {"weighed": 0.5, "dismissed": 0.5}


def test_a_fold_is_read_as_chosen_without_it() -> None:
    """Changing the labels of a fold changes nothing in how that fold is read."""
    texts, labels = planted(4, bar=0.6)
    settings = given()
    read = scan(settings, table(texts))
    rng = np.random.default_rng(0)
    held = hold_out(settings, read, tabulate(read, codes_of(labels), GROUPS), GROUPS, 0)
    from workshop.grid import grouped_folds

    for place, test in enumerate(grouped_folds(GROUPS, settings.folds, 0)):
        changed = codes_of(labels)
        changed[test] = rng.integers(0, 3, size=len(test))
        again = hold_out(settings, read, tabulate(read, changed, GROUPS), GROUPS, 0)
        assert again.choices[place] == held.choices[place]
        assert np.array_equal(again.codes[test], held.codes[test])


def test_labels_dealt_to_other_texts_leave_no_agreement() -> None:
    """With labels permuted, the agreement on unseen labels is near 0, while that on the labels chosen on is not."""
    texts, labels = planted(5, bar=0.6)
    rng = np.random.default_rng(7)
    held, apparent = [], []
    for _ in range(12):
        dealt = [labels[place] for place in rng.permutation(len(labels))]
        found = calibrate(given(repeats=1, standard_errors=0.0), table(texts), dealt, GROUPS)
        held.append(figures(found, "held_out", "considered", "kappa", "estimate"))
        apparent.append(figures(found, "apparent", "kappa_considered"))

    # The standard error of a kappa of 96 texts is about 0.1, so that of the mean of 12 about 0.03.
    assert abs(np.mean(held)) < 0.1
    assert np.mean(apparent) > np.mean(held)


def test_the_control_keeps_windows_and_mentions() -> None:
    """Dealt anew, every text keeps its windows and their mentions, and the pool keeps its entailments."""
    rng = np.random.default_rng(3)
    texts = [rng.random((length, 3)) for length in (4, 0, 7, 1)]
    given_texts = [text.copy() for text in texts]
    (found,) = dealt(table(texts), rng).values()

    assert all(np.array_equal(one, other) for one, other in zip(texts, given_texts, strict=True))
    assert [len(text) for text in found] == [4, 0, 7, 1]
    assert np.array_equal(np.concatenate(found)[:, 0], np.concatenate(texts)[:, 0])
    for mentioning in (True, False):
        pools = [np.concatenate(pool) for pool in (found, texts)]
        kept = [sorted(map(tuple, pool[(pool[:, 0] >= 0.5) == mentioning, 1:])) for pool in pools]
        assert kept[0] == kept[1]


def test_the_control_shows_what_the_number_of_windows_gives() -> None:
    """Texts of one length leave the control without agreement; where those considered are long, it has some."""
    texts, labels = planted(8, bar=0.6)
    alike = calibrate(given(standard_errors=0.0), table(texts), labels, GROUPS)
    rng = np.random.default_rng(0)
    lengths = {"none": 1, "weighed": 12, "dismissed": 12}
    noise = [rng.random((lengths[label], 3)) * [0, 1, 1] + [1, 0, 0] for label in labels]
    longer = calibrate(given(standard_errors=0.0), table(noise), labels, GROUPS)

    # The mean of four kappas of 96 texts has a standard error of about 0.05.
    assert abs(figures(alike, "control", "considered", "mean")) < 0.2
    # Of 12 uniform draws one exceeds 0.8 with 0.93, of one draw with 0.2.
    assert figures(longer, "control", "considered", "mean") > 0.5


def test_counts_are_by_group_label_and_finding() -> None:
    """A scan of one form and pair of thresholds gives one table a group."""
    codes = np.array([0, 1, 2, 1], dtype=np.int8)[None, None, None]
    found = tabulate(Scan((), np.empty((1, 4, 2)), codes), np.array([0, 1, 1, 0]), ["a", "a", "b", "b"])

    # Group a: none found none, weighed found weighed. Group b: weighed found dismissed, none found weighed.
    assert found[0, 0, 0].tolist() == [[[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]]]


@pytest.mark.parametrize("objective", ["considered", "three_way", "both"])
def test_every_objective_finds_the_planted_threshold(objective: str) -> None:
    """Kappa of considered or not, of all three, and their mean all single out the threshold that parts the texts."""
    texts, labels = planted(6, bar=0.4)
    settings = given(objective=objective)
    read = scan(settings, table(texts))
    chosen = choose(read, tabulate(read, codes_of(labels), GROUPS), settings)

    assert (BARS[chosen.weighed], BARS[chosen.dismissed]) == (0.4, 0.4)
