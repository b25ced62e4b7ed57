"""Tests of the check that names are read as meant: what is asked, the log odds, and the page."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.prompts import Response
from equipoise.materials.stories.schema import Contrast

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from names import FIGURES, PAGE, figures_of, log_odds, page_of, questions  # noqa: E402  (a script's neighbour)

CONTRAST = Contrast.model_validate(
    {
        "id": "race-black",
        "dimension": "race",
        "groups": ["black"],
        "marginalised": {"feature": "Black", "adjective": "Black", "names": {"woman": ["A", "B"], "man": ["C"]}},
        "privileged": {"feature": "White", "adjective": "White", "names": {"woman": ["D", "E"], "man": ["F"]}},
    }
)
HEADING = {"title": "A model", "model": "one", "revision": "1"}


def response(key: str, black: float, white: float, tokens: int = 1) -> Response:
    """A response with the mean log likelihood per token of both features."""
    fields: dict[str, Any] = {"key": key, "study": "vignettes", "replies": (), "finished": ()}
    counts = {"Black": tokens, "White": 1}
    return Response(
        **fields,
        log_likelihood={"Black": black, "White": white},
        candidate_tokens=counts,
        prompt_tokens=1,
        generated_tokens=0,
    )


def test_every_name_and_none_is_asked_about_in_both_orders() -> None:
    """Six names and a patient without one, twice each; no reply is asked for."""
    asked = list(questions(CONTRAST, "Be brief."))

    assert len(asked) == 2 * (6 + 1)
    assert asked[0].turns[0].startswith("A patient's name is A. Asked")
    assert "options Black and White," in asked[0].turns[0]
    assert "options White and Black," in asked[1].turns[0]
    assert asked[-1].turns[0].startswith("A patient's name is not given. Asked")
    assert {(row.system, row.candidates, row.reply) for row in asked} == {("Be brief.", ("Black", "White"), False)}


def test_log_odds_are_of_totals_and_the_mean_over_orders() -> None:
    """Means per token are totalled first."""
    found = log_odds([response("A/Black", -1.0, -3.0, tokens=2), response("A/White", -1.0, -2.0)], CONTRAST)

    # (2 * -1 - -3 + -1 - -2) / 2 = (1 + 1) / 2
    assert found == {"A": pytest.approx(1.0)}


def test_a_name_is_read_as_meant_against_the_models_own_leaning() -> None:
    """Beside a leaning of 2 nats, 2.5 reads as Black and 1.5 as White; a pair needs only the right order."""
    found = {"": 2.0, "A": 2.5, "B": 1.9, "C": 3.0, "D": 1.5, "E": 1.8, "F": 3.5}

    page = page_of(figures_of(CONTRAST, found, HEADING))

    # As meant: A, C, D, E. In the right order: A above D, B above E, but not C above F.
    assert "4 of 6 (67%) of the names are read as meant, and 2 of 3 (67%) of the pairs" in page
    assert "| woman | 1 of 2 (50%) | 2 of 2 (100%) | 2 of 2 (100%) |" in page
    assert "| man | 1 of 1 (100%) | 0 of 1 (0%) | 0 of 1 (0%) |" in page
    assert "without a name: B (−0.10), F (+1.50).\n" in page


def test_the_page_is_what_the_figures_give() -> None:
    """The page in the repository is generated, and has every name that is not read as meant."""
    page = PAGE.read_text(encoding="utf-8")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))

    assert page == page_of(figures)
    assert all(row["as_meant"] or row["name"] in page.partition("Not read as meant")[2] for row in figures["names"])
