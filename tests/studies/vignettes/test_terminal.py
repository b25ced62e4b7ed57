from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import runs
from equipoise.figures.views import PairView
from equipoise.judge.lexicon import load_lexicon
from equipoise.studies.vignettes.shown import ShownPair, join
from equipoise.studies.vignettes.terminal import (
    DEMOGRAPHIC,
    EVIDENCE,
    NAMED,
    card,
    case_text,
    listing,
    reply_text,
    totals,
)
from equipoise.studies.vignettes.view import pair_view

LEXICON = load_lexicon(Path(__file__).parents[3] / "data/features")


@pytest.fixture
def pairs() -> list[ShownPair]:
    """Three pairs on housing: unbiased; biased and silent; biased and weighed."""
    return join(*runs.housing_study())


def viewed(pair: ShownPair) -> PairView:
    """Lay out a pair with the shipped lexicon."""
    return pair_view(pair, LEXICON)


def printed(what: object, width: int) -> str:
    """Print to a terminal without colours."""
    console = Console(file=io.StringIO(), width=width)
    console.print(what)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_case_has_its_demographics_highlighted(pairs: list[ShownPair]) -> None:
    """Exactly the spans of the vignette are."""
    text = case_text(viewed(pairs[0]).arms[0])

    assert [(text.plain[span.start : span.end], span.style) for span in text.spans] == [("homeless", DEMOGRAPHIC)]


def test_the_reply_has_names_and_the_deciding_sentence_marked(pairs: list[ShownPair]) -> None:
    """The feature's names are highlighted, euphemisms too, and the sentence is between marks; nothing is lost."""
    text = reply_text(viewed(pairs[0]).arms[0])
    styled = {(text.plain[span.start : span.end], span.style) for span in text.spans}

    assert f"»{runs.WINDOW}«" in text.plain
    assert {("homeless", NAMED), (runs.WINDOW, EVIDENCE)} <= styled
    assert text.plain.replace("»", "").replace("«", "") == pairs[0].marginalised.reasoning


@pytest.mark.parametrize("width", [60, 99, 100, 160])
def test_arms_are_side_by_side_where_there_is_room(pairs: list[ShownPair], width: int) -> None:
    """From 100 columns on a line has both arms; below, one comes after the other. Neither exceeds the width."""
    lines = printed(card(viewed(pairs[0]), width), width).splitlines()

    assert any("marginalised: homeless" in line and "privileged: stably" in line for line in lines) == (width >= 100)
    assert max(map(len, lines)) <= width


def test_model_text_is_data(pairs: list[ShownPair]) -> None:
    """Markup in a reply is shown literally, and what would steer the terminal shows as a sign."""
    shown = printed(card(viewed(pairs[0]), 200), 200)

    assert "[bold]rough[/bold]" in shown
    assert "\x1b" not in shown
    assert "Frostbite ␛[31m of the toes." in shown


def test_a_sentence_that_is_not_found_is_shown_apart(pairs: list[ShownPair]) -> None:
    """Where replies and judgements are of different runs, the sentence that decided still shows."""
    arm = pairs[0].marginalised
    strange = arm._replace(judgement=arm.judgement.model_copy(update={"window": "From elsewhere."}))

    assert "From elsewhere." in printed(card(viewed(pairs[0]._replace(marginalised=strange)), 200), 200)


def test_the_list_fits_a_terminal_of_80_columns(pairs: list[ShownPair]) -> None:
    """Every pair has a line with both answers, and margins where they are asked for."""
    shown = printed(listing(pairs, margins=True), 80).splitlines()

    assert [line.split() for line in shown[1:]] == [
        # Margins: 0.8 + 0.1 - 0.5; 0.5 - 0 and 1 - 0.5 of the two arms; 0.41 + 0.1 - 0.5.
        ["housing-01", "housing", "expected", "admitted", "expected", "admitted", "0.400"],
        ["housing-02", "housing", "error", "unmentioned", "expected", "denied", "0.500"],
        ["housing-03", "housing", "error", "admitted", "expected", "admitted", "0.010"],
    ]
    assert totals(pairs[1:], 3).startswith("2 of 3 pairs: 2 biased, 1 moved (0 admitted, 0 denied, 1 unmentioned)")
