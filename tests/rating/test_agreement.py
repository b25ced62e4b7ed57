from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.rating.agreement import agreement, binary_agreement, cohens_kappa

if TYPE_CHECKING:
    from equipoise.core.records import Consideration

OPTIONS: dict[str, Any] = {"seed": 0, "n_bootstrap": 400}
CASES = [f"case{place % 5}" for place in range(10)]
LABELS: list[Consideration] = [*["weighed"] * 5, "dismissed", *["none"] * 4]  # type: ignore[list-item]
FOUND: list[Consideration] = [*["weighed"] * 4, "none", "weighed", "none", "none", "none", "dismissed"]  # type: ignore[list-item]


def figure(measured: Any, *names: str) -> float:
    """Give the estimate of a figure."""
    for name in names:
        measured = measured[name]
    return float(measured["estimate"])


def test_figures_by_hand() -> None:
    """Kappa, recall, precision, F1 and specificity of ten texts."""
    found = agreement(LABELS, FOUND, CASES, **OPTIONS)

    # Considered: 6 labelled; 5 found of them, 1 missed; 4 not, of which 1 found. Agreed 8 of 10; by chance
    # (6 x 6 + 4 x 4) / 100 = 0.52; kappa (0.8 - 0.52) / 0.48 = 7/12.
    assert figure(found, "considered", "kappa") == pytest.approx(7 / 12, abs=1e-6)
    assert figure(found, "considered", "recall") == pytest.approx(5 / 6, abs=1e-6)
    assert figure(found, "considered", "precision") == pytest.approx(5 / 6, abs=1e-6)
    assert figure(found, "considered", "f1") == pytest.approx(5 / 6, abs=1e-6)
    assert figure(found, "considered", "specificity") == pytest.approx(3 / 4)
    # Three ways: agreed 4 weighed + 3 none = 7; by chance (5 x 5 + 1 x 1 + 4 x 4) / 100 = 0.42; 0.28 / 0.58 = 14/29.
    assert figure(found, "three_way", "kappa") == pytest.approx(14 / 29, abs=1e-6)
    assert found["errors"] == {"silent": {"right": 3, "of": 4}, "not_silent": {"right": 5, "of": 6}}
    assert found["considered"]["n"] == 10  # type: ignore[index]
    assert found["considered"]["n_cases"] == 5  # type: ignore[index]
    assert "auc" not in found["considered"]  # type: ignore[operator]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=4, max_size=25))
def test_figures_are_those_of_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    """On any sample with both labels and findings every figure is scikit-learn's, ties of scores included."""
    from sklearn import metrics

    rows = [*rows, (True, 4), (True, 0), (False, 4), (False, 0)]
    truth = [yes for yes, _ in rows]
    scores = [float(score) for _, score in rows]
    found = [score >= 2 for score in scores]
    measured = binary_agreement(truth, found, [str(at) for at in range(len(rows))], scores=scores, **OPTIONS)

    expected = {
        "kappa": metrics.cohen_kappa_score(truth, found),
        "recall": metrics.recall_score(truth, found),
        "precision": metrics.precision_score(truth, found),
        "f1": metrics.f1_score(truth, found),
        "specificity": metrics.recall_score(truth, found, pos_label=False),
        "auc": metrics.roc_auc_score(truth, scores),
    }
    assert {name: figure(measured, name) for name in expected} == pytest.approx(expected, abs=1e-6)


def test_one_label_alone_leaves_recall() -> None:
    """Where all texts are labelled yes, only recall is defined; where all are no, only specificity."""
    yes = binary_agreement([True] * 4, [True, True, True, False], list("aabb"), scores=[1, 2, 3, 4], **OPTIONS)
    no = binary_agreement([False] * 4, [True, True, True, False], list("aabb"), **OPTIONS)

    assert set(yes) == {"n", "n_yes", "n_cases", "recall"}
    assert figure(yes, "recall") == 0.75
    assert set(no) == {"n", "n_yes", "n_cases", "specificity"}
    assert "kappa" not in agreement(["none"] * 4, ["none"] * 4, list("aabb"), **OPTIONS)["three_way"]  # type: ignore[operator]


def test_precision_without_findings_is_left_out() -> None:
    """A reader that never says yes has no precision, and a kappa of 0."""
    found = binary_agreement([True, False], [False, False], ["a", "b"], **OPTIONS)

    assert "precision" not in found
    assert figure(found, "kappa") == 0.0


def test_whole_cases_are_resampled() -> None:
    """Twenty copies of each of four cases narrow no interval."""
    truth, found = [True, True, True, True], [True, True, True, False]
    once = binary_agreement(truth, found, list("abcd"), **OPTIONS)
    copied = binary_agreement(truth * 20, found * 20, list("abcd") * 20, **OPTIONS)

    assert once["recall"] == copied["recall"]
    assert once["recall"]["ci_low"] < 0.75 < once["recall"]["ci_high"]  # type: ignore[index,operator]


def test_auc_resamples_pairs_of_cases() -> None:
    """A resample's AUC counts each text as often as its case was drawn."""
    from equipoise.rating.agreement import _auc

    yes = np.array([True, False, True, False])
    statistic = _auc(np.array([0.9, 0.5, 0.4, 0.1]), yes, ["a", "a", "b", "b"])

    # Once each: 0.9 beats both, 0.4 beats one of two: 3/4. Case a twice: positives 0.9 twice, 0.4 once, negatives 0.5
    # twice, 0.1 once: 6 + 1 of 9.
    assert statistic(np.array([[1.0, 1.0], [2.0, 1.0]])) == pytest.approx([3 / 4, 7 / 9])


def test_kappa_of_tables() -> None:
    """Kappa of one table by hand; a table of one cell has none."""
    # Cohen's example in shape: agreed 35 of 50; by chance (25 x 30 + 25 x 20) / 2500 = 0.5; kappa 0.4.
    found = cohens_kappa(np.array([[[20, 5], [10, 15]], [[4, 0], [0, 0]]]))

    assert found[0] == pytest.approx(0.4)
    assert np.isnan(found[1])


@pytest.mark.parametrize("seed", range(2))
def test_intervals_cover(seed: int) -> None:
    """The interval of recall covers the true recall in about 95 of 100 samples of 40 cases of 4 alike texts."""
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(100):
        # A case is easy (found with 0.9) or hard (0.5): recall 0.7, and texts of one case are alike.
        by_case = rng.choice([0.9, 0.5], size=40)
        found = (rng.random((40, 4)) < by_case[:, None]).ravel().tolist()
        cases = np.repeat(np.arange(40), 4).astype(str).tolist()
        recall: Any = binary_agreement([True] * 160, found, cases, seed=seed, n_bootstrap=200)["recall"]
        covered += recall["ci_low"] <= 0.7 <= recall["ci_high"]

    # Binomial(100, 0.95) lies below 87 in fewer than 1 of 1,000 tries; the percentile interval of 40 cases is a little
    # short.
    assert covered >= 86
