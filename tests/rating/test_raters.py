from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from builders import judgement
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Judgement
from equipoise.rating.blind import KeyRow, Rating
from equipoise.rating.raters import LISTED, between, disagreements, judged, with_judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.records import Consideration

OPTIONS: dict[str, Any] = {"seed": 0, "n_bootstrap": 200}
PEOPLE: list[Consideration] = [*["weighed"] * 5, "dismissed", *["none"] * 4]  # type: ignore[list-item]
JUDGE: list[Consideration] = [*["weighed"] * 4, "none", "weighed", "none", "none", "none", "dismissed"]  # type: ignore[list-item]


def key_rows(found: Sequence[Consideration], of: dict[Consideration, int] | None = None) -> list[KeyRow]:
    """Build the key of a sheet with two rows a pair."""
    sizes = of or {kind: found.count(kind) for kind in found}
    return [
        KeyRow(
            key=f"r{at:03d}",
            response=f"pair{at // 2}/{at % 2}",
            pair=f"pair{at // 2}",
            stratum=kind,
            of=sizes[kind],
            responses_sha256="5e",
        )
        for at, kind in enumerate(found)
    ]


def ratings_of(considered: Sequence[Consideration]) -> dict[str, Rating]:
    """Build ratings in which what is not considered is not mentioned either."""
    return {f"r{at:03d}": Rating(kind != "none", kind, "a note") for at, kind in enumerate(considered)}


def judges_of(considered: Sequence[Consideration]) -> dict[str, Judgement]:
    """Build judgements of the same kind."""
    return judged(
        key_rows(considered),
        [judgement(f"pair{at // 2}/{at % 2}", kind, window="He is old.") for at, kind in enumerate(considered)],
    )


def estimate(found: Any, *names: str) -> float:
    """Give the estimate of a figure."""
    for name in names:
        found = found[name]
    assert found["ci_low"] <= found["estimate"] <= found["ci_high"]
    return float(found["estimate"])


def test_agreement_with_the_judge_by_hand() -> None:
    """Kappa of considered yes or no, and three ways, of ten rows."""
    found = with_judge(ratings_of(PEOPLE), key_rows(JUDGE), judges_of(JUDGE), **OPTIONS)

    # Agreed on yes or no 8 of 10; by chance (6 x 6 + 4 x 4) / 100 = 0.52; kappa (0.8 - 0.52) / 0.48 = 7/12.
    assert estimate(found, "considered", "kappa") == pytest.approx(7 / 12, abs=1e-6)
    assert estimate(found, "mentioned", "kappa") == pytest.approx(7 / 12, abs=1e-6)
    # Three ways: agreed 4 weighed + 3 none = 7; by chance (5 x 5 + 1 x 1 + 4 x 4) / 100 = 0.42; 0.28 / 0.58 = 14/29.
    assert estimate(found, "three_way", "kappa") == pytest.approx(14 / 29, abs=1e-6)
    assert (found["n"], found["unrated"], "run" in found) == (10, 0, False)
    assert found["considered"]["n_cases"] == 5  # type: ignore[index]


def test_a_sample_is_weighted_back_to_the_run() -> None:
    """Where rows were drawn by what the judge found, the run's kappa counts each for the responses it stands for."""
    judge: list[Consideration] = ["weighed", "weighed", "none", "none"]
    people: list[Consideration] = ["weighed", "none", "none", "none"]
    key = key_rows(judge, {"weighed": 4, "none": 16})
    found = with_judge(ratings_of(people), key, judges_of(judge), **OPTIONS)

    # In the sample: agreed 3/4; by chance 1/4 x 1/2 + 3/4 x 1/2 = 1/2; kappa 1/2.
    assert estimate(found, "considered", "kappa") == 0.5
    # Weighed rows stand for 2 responses each, the others for 8. Of 20: agreed 2 + 16 = 18; rated weighed 2, none 18;
    # by chance 2/20 x 4/20 + 18/20 x 16/20 = 0.74; kappa (0.9 - 0.74) / 0.26 = 8/13.
    assert estimate(found, "run", "considered", "kappa") == pytest.approx(8 / 13, abs=1e-6)


def test_a_stratum_that_nobody_rated_leaves_the_run_out() -> None:
    """What no row stands for cannot be weighted."""
    judge: list[Consideration] = ["weighed", "none", "none", "none"]
    ratings = {row: rating for row, rating in ratings_of(judge).items() if row != "r000"}
    found = with_judge(ratings, key_rows(judge, {"weighed": 4, "none": 16}), judges_of(judge), **OPTIONS)

    assert (found["n"], found["unrated"], "run" in found) == (3, 1, False)


def test_agreement_between_raters_by_hand() -> None:
    """Two raters are compared over the rows that both rated, and it does not matter which is first."""
    other = {row: rating for row, rating in ratings_of(JUDGE).items() if row != "r009"}
    found = between(ratings_of(PEOPLE), other, key_rows(JUDGE), **OPTIONS)

    # Of nine: agreed 4 weighed + 3 none = 7; by chance (5 x 5 + 1 x 0 + 3 x 4) / 81 = 37/81; (63 - 37) / (81 - 37).
    assert estimate(found, "three_way", "kappa") == pytest.approx(26 / 44, abs=1e-6)
    # Yes or no: agreed 5 + 3 = 8; by chance (6 x 5 + 3 x 4) / 81 = 42/81; (72 - 42) / (81 - 42).
    assert estimate(found, "considered", "kappa") == pytest.approx(30 / 39, abs=1e-6)
    assert found["n"] == 9
    assert estimate(between(other, ratings_of(PEOPLE), key_rows(JUDGE), **OPTIONS), "considered", "kappa") == (
        pytest.approx(30 / 39, abs=1e-6)
    )


def test_kappa_of_raters_without_variety_is_left_out() -> None:
    """Where both say the same of every row, or rated no row in common, kappa is undefined."""
    none = ratings_of(["none", "none"])

    assert between(none, none, key_rows(["none", "none"]), **OPTIONS) == {"n": 2}
    assert between({"r000": none["r000"]}, {"r001": none["r001"]}, key_rows(["none", "none"]), **OPTIONS) == {"n": 0}


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
        judged(key_rows(["none"]), [])
