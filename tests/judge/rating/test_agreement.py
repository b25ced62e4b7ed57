from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import judgement
from equipoise.core.errors import EquipoiseError
from equipoise.judge.rating.agreement import (
    LISTED,
    agreement,
    binary_agreement,
    cohens_kappa,
    disagreements,
    judge_agreement,
    judgements_by_row,
    rater_agreement,
)
from equipoise.judge.rating.blind import KeyRow, Rating
from equipoise.materials.judgement import Judgement
from workshop.scored import add_auc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.materials.judgement import Consideration


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
    figures = agreement(LABELS, FOUND, CASES, **OPTIONS)

    # Considered: 6 labelled; 5 found of them, 1 missed; 4 not, of which 1 found. Agreed 8 of 10; by chance
    # (6 x 6 + 4 x 4) / 100 = 0.52; kappa (0.8 - 0.52) / 0.48 = 7/12.
    assert figure(figures, "considered", "kappa") == pytest.approx(7 / 12, abs=1e-6)
    assert figure(figures, "considered", "recall") == pytest.approx(5 / 6, abs=1e-6)
    assert figure(figures, "considered", "precision") == pytest.approx(5 / 6, abs=1e-6)
    assert figure(figures, "considered", "f1") == pytest.approx(5 / 6, abs=1e-6)
    assert figure(figures, "considered", "specificity") == pytest.approx(3 / 4)
    # Three ways: agreed 4 weighed + 3 none = 7; by chance (5 x 5 + 1 x 1 + 4 x 4) / 100 = 0.42; 0.28 / 0.58 = 14/29.
    assert figure(figures, "three_way", "kappa") == pytest.approx(14 / 29, abs=1e-6)
    # Silent is what is not weighed: 5 are none or dismissed.
    assert figures["errors"] == {"silent": {"right": 4, "of": 5}, "not_silent": {"right": 4, "of": 5}}
    assert figures["considered"]["n"] == 10  # type: ignore[index]
    assert figures["considered"]["n_cases"] == 5  # type: ignore[index]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=4, max_size=25))
def test_figures_are_those_of_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    """On any sample with both labels and findings every figure is scikit-learn's, ties of scores included."""
    from sklearn import metrics

    rows = [*rows, (True, 4), (True, 0), (False, 4), (False, 0)]
    truth = [yes for yes, _ in rows]
    scores = [float(score) for _, score in rows]
    predicted = [score >= 2 for score in scores]
    cases = [str(at) for at in range(len(rows))]
    measured = add_auc(binary_agreement(truth, predicted, cases, **OPTIONS), scores, truth, cases, **OPTIONS)

    expected = {
        "kappa": metrics.cohen_kappa_score(truth, predicted),
        "recall": metrics.recall_score(truth, predicted),
        "precision": metrics.precision_score(truth, predicted),
        "f1": metrics.f1_score(truth, predicted),
        "specificity": metrics.recall_score(truth, predicted, pos_label=False),
        "auc": metrics.roc_auc_score(truth, scores),
    }
    assert {name: figure(measured, name) for name in expected} == pytest.approx(expected, abs=1e-6)


def test_one_label_alone_leaves_recall() -> None:
    """Where all texts are labelled yes, only recall is defined; where all are no, only specificity."""
    truth, cases = [True] * 4, list("aabb")
    yes = binary_agreement(truth, [True, True, True, False], cases, **OPTIONS)
    no = binary_agreement([False] * 4, [True, True, True, False], list("aabb"), **OPTIONS)

    assert add_auc(yes, [1, 2, 3, 4], truth, cases, **OPTIONS) == yes
    assert set(yes) == {"n", "n_yes", "n_cases", "recall"}
    assert figure(yes, "recall") == 0.75
    assert set(no) == {"n", "n_yes", "n_cases", "specificity"}
    assert "kappa" not in agreement(["none"] * 4, ["none"] * 4, list("aabb"), **OPTIONS)["three_way"]  # type: ignore[operator]


def test_precision_without_findings_is_left_out() -> None:
    """A reader that never says yes has no precision, and a kappa of 0."""
    figures = binary_agreement([True, False], [False, False], ["a", "b"], **OPTIONS)

    assert "precision" not in figures
    assert figure(figures, "kappa") == 0.0


def test_whole_cases_are_resampled() -> None:
    """Twenty copies of each of four cases narrow no interval."""
    truth, predicted = [True, True, True, True], [True, True, True, False]
    once = binary_agreement(truth, predicted, list("abcd"), **OPTIONS)
    copied = binary_agreement(truth * 20, predicted * 20, list("abcd") * 20, **OPTIONS)

    assert once["recall"] == copied["recall"]
    assert once["recall"]["ci_low"] < 0.75 < once["recall"]["ci_high"]  # type: ignore[index,operator]


def test_auc_resamples_pairs_of_cases() -> None:
    """A resample's AUC counts each text as often as its case was drawn."""
    from workshop.scored import _auc_statistic as _auc

    yes = np.array([True, False, True, False])
    statistic = _auc(np.array([0.9, 0.5, 0.4, 0.1]), yes, ["a", "a", "b", "b"])

    # Once each: 0.9 beats both, 0.4 beats one of two: 3/4. Case a twice: positives 0.9 twice, 0.4 once, negatives 0.5
    # twice, 0.1 once: 6 + 1 of 9.
    assert statistic(np.array([[1.0, 1.0], [2.0, 1.0]])) == pytest.approx([3 / 4, 7 / 9])


def test_kappa_of_tables() -> None:
    """Kappa of one table by hand; a table of one cell has none."""
    # Cohen's example in shape: agreed 35 of 50; by chance (25 x 30 + 25 x 20) / 2500 = 0.5; kappa 0.4.
    kappas = cohens_kappa(np.array([[[20, 5], [10, 15]], [[4, 0], [0, 0]]]))

    assert kappas[0] == pytest.approx(0.4)
    assert np.isnan(kappas[1])


@pytest.mark.parametrize("seed", range(2))
def test_intervals_cover(seed: int) -> None:
    """The interval of recall covers the true recall in about 95 of 100 samples of 40 cases of 4 alike texts."""
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(100):
        # A case is easy (found with 0.9) or hard (0.5): recall 0.7, and texts of one case are alike.
        by_case = rng.choice([0.9, 0.5], size=40)
        predicted = (rng.random((40, 4)) < by_case[:, None]).ravel().tolist()
        cases = np.repeat(np.arange(40), 4).astype(str).tolist()
        recall: Any = binary_agreement([True] * 160, predicted, cases, seed=seed, n_bootstrap=200)["recall"]
        covered += recall["ci_low"] <= 0.7 <= recall["ci_high"]

    # Binomial(100, 0.95) lies below 87 in fewer than 1 of 1,000 tries; the percentile interval of 40 cases is a little
    # short.
    assert covered >= 86


SEEDED: dict[str, Any] = {"seed": 0, "n_bootstrap": 200}
PEOPLE: list[Consideration] = [*["weighed"] * 5, "dismissed", *["none"] * 4]  # type: ignore[list-item]
JUDGE: list[Consideration] = [*["weighed"] * 4, "none", "weighed", "none", "none", "none", "dismissed"]  # type: ignore[list-item]


def key_rows(considered: Sequence[Consideration], of: dict[Consideration, int] | None = None) -> list[KeyRow]:
    """Build the key of a sheet with two rows a pair."""
    sizes = of or {kind: considered.count(kind) for kind in considered}
    return [
        KeyRow(
            key=f"r{at:03d}",
            study="vignettes",
            response=f"pair{at // 2}/{at % 2}",
            pair=f"pair{at // 2}",
            stratum=kind,
            of=sizes[kind],
            responses_sha256="5e",
        )
        for at, kind in enumerate(considered)
    ]


def ratings_of(considered: Sequence[Consideration]) -> dict[str, Rating]:
    """Build ratings in which what is not considered is not mentioned either."""
    return {f"r{at:03d}": Rating(kind != "none", kind, "a note") for at, kind in enumerate(considered)}


def judges_of(considered: Sequence[Consideration]) -> dict[str, Judgement]:
    """Build judgements of the same kind."""
    return judgements_by_row(
        key_rows(considered),
        [judgement(f"pair{at // 2}/{at % 2}", kind, window="He is old.") for at, kind in enumerate(considered)],
    )


def estimate(measured: Any, *names: str) -> float:
    """Give the estimate of a figure."""
    for name in names:
        measured = measured[name]
    assert measured["ci_low"] <= measured["estimate"] <= measured["ci_high"]
    return float(measured["estimate"])


def test_agreement_with_the_judge_by_hand() -> None:
    """Kappa of considered yes or no, and three ways, of ten rows."""
    figures = judge_agreement(ratings_of(PEOPLE), key_rows(JUDGE), judges_of(JUDGE), **SEEDED)

    # Agreed on yes or no 8 of 10; by chance (6 x 6 + 4 x 4) / 100 = 0.52; kappa (0.8 - 0.52) / 0.48 = 7/12.
    assert estimate(figures, "considered", "kappa") == pytest.approx(7 / 12, abs=1e-6)
    assert estimate(figures, "mentioned", "kappa") == pytest.approx(7 / 12, abs=1e-6)
    # Three ways: agreed 4 weighed + 3 none = 7; by chance (5 x 5 + 1 x 1 + 4 x 4) / 100 = 0.42; 0.28 / 0.58 = 14/29.
    assert estimate(figures, "three_way", "kappa") == pytest.approx(14 / 29, abs=1e-6)
    assert (figures["n"], figures["unrated"], "run" in figures) == (10, 0, False)
    assert figures["considered"]["n_cases"] == 5  # type: ignore[index]


def test_a_sample_is_weighted_back_to_the_run() -> None:
    """Where rows were drawn by what the judge found, the run's kappa counts each for the responses it represents."""
    judge: list[Consideration] = ["weighed", "weighed", "none", "none"]
    people: list[Consideration] = ["weighed", "none", "none", "none"]
    key = key_rows(judge, {"weighed": 4, "none": 16})
    figures = judge_agreement(ratings_of(people), key, judges_of(judge), **SEEDED)

    # In the sample: agreed 3/4; by chance 1/4 x 1/2 + 3/4 x 1/2 = 1/2; kappa 1/2.
    assert estimate(figures, "considered", "kappa") == 0.5
    # Weighed rows represent 2 responses each, the others for 8. Of 20: agreed 2 + 16 = 18; rated weighed 2, none 18;
    # by chance 2/20 x 4/20 + 18/20 x 16/20 = 0.74; kappa (0.9 - 0.74) / 0.26 = 8/13.
    assert estimate(figures, "run", "considered", "kappa") == pytest.approx(8 / 13, abs=1e-6)


def test_a_stratum_that_nobody_rated_leaves_the_run_out() -> None:
    """What no row represents cannot be weighted."""
    judge: list[Consideration] = ["weighed", "none", "none", "none"]
    ratings = {row: rating for row, rating in ratings_of(judge).items() if row != "r000"}
    figures = judge_agreement(ratings, key_rows(judge, {"weighed": 4, "none": 16}), judges_of(judge), **SEEDED)

    assert (figures["n"], figures["unrated"], "run" in figures) == (3, 1, False)


def test_agreement_between_raters_by_hand() -> None:
    """Two raters are compared over the rows that both rated, and it does not matter which is first."""
    other = {row: rating for row, rating in ratings_of(JUDGE).items() if row != "r009"}
    figures = rater_agreement(ratings_of(PEOPLE), other, key_rows(JUDGE), **SEEDED)

    # Of nine: agreed 4 weighed + 3 none = 7; by chance (5 x 5 + 1 x 0 + 3 x 4) / 81 = 37/81; (63 - 37) / (81 - 37).
    assert estimate(figures, "three_way", "kappa") == pytest.approx(26 / 44, abs=1e-6)
    # Yes or no: agreed 5 + 3 = 8; by chance (6 x 5 + 3 x 4) / 81 = 42/81; (72 - 42) / (81 - 42).
    assert estimate(figures, "considered", "kappa") == pytest.approx(30 / 39, abs=1e-6)
    assert figures["n"] == 9
    assert estimate(rater_agreement(other, ratings_of(PEOPLE), key_rows(JUDGE), **SEEDED), "considered", "kappa") == (
        pytest.approx(30 / 39, abs=1e-6)
    )


def test_kappa_of_raters_without_variety_is_left_out() -> None:
    """Where both say the same of every row, or rated no row in common, kappa is undefined."""
    none = ratings_of(["none", "none"])

    assert rater_agreement(none, none, key_rows(["none", "none"]), **SEEDED) == {"n": 2}
    assert rater_agreement({"r000": none["r000"]}, {"r001": none["r001"]}, key_rows(["none", "none"]), **SEEDED) == {
        "n": 0
    }


def test_disagreements_are_listed() -> None:
    """Rows that differ are listed with both readings, the judge's sentence and the rater's note; others are not."""
    listed = disagreements("anna", ratings_of(PEOPLE), key_rows(JUDGE), judges_of(JUDGE))

    assert [line["row"] for line in listed] == ["r004", "r005", "r009"]
    assert tuple(listed[0]) == LISTED
    assert tuple(listed[0].values()) == (
        *("anna", "r004", "pair2/0", "yes", "no", "weighed", "none", "He is old.", "a note"),
    )


def test_a_row_without_judgement_is_refused() -> None:
    """A response that the judge has not read is named."""
    with pytest.raises(EquipoiseError, match=r"row 'r000': no judgement of 'pair0/0': run `dvc repro score`"):
        judgements_by_row(key_rows(["none"]), [])
