"""Tests of answers whose likelihoods are not all known: bounds that cannot matter, and those that leave all open."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from builders import decision, response, vignette
from equipoise.materials.orders import order_of
from equipoise.studies.decisions.rows import read_decision
from equipoise.text.answer import Answer
from equipoise.text.answers import error_probability, log_odds, log_sum, read_likelihood

if TYPE_CHECKING:
    from equipoise.core.prompts import Response


def answer(label: str) -> Answer:
    """Give an answer with one wording."""
    return Answer(label=label, synonyms=(label,))


CASE = vignette(
    "pair",
    expected=answer("infarction"),
    stereotyped=answer("panic"),
    components=(answer("anxiety"),),
    distractors=(answer("reflux"), answer("gout")),
)
KNOWN = {"infarction": math.log(0.6), "panic": math.log(0.3), "anxiety": math.log(0.1), "gout": math.log(1e-6)}


def scored(known: dict[str, float], **at_most: float) -> Response:
    """Build a response with the log probabilities of some answers, and the most that others can have."""
    return response("a", log_likelihood=known, at_most={name: math.log(most) for name, most in at_most.items()})


def test_a_bound_that_cannot_matter_counts_as_nothing() -> None:
    """A distractor of at most 1e-4 leaves the others as they are: 0.4 of 1 (and 1e-6), and log (0.4 / 0.6)."""
    given = scored(KNOWN, reflux=1e-4)

    assert error_probability(given, CASE.answers) == pytest.approx(0.4, rel=1e-5)
    assert log_odds(given, CASE.answers, "total") == pytest.approx(math.log(0.4 / 0.6))
    likeliest = read_likelihood(given, CASE.answers, "total")
    assert likeliest is not None
    assert likeliest.kind == "expected"


def test_a_distractor_that_could_matter_leaves_the_probability_open() -> None:
    """It may have a twentieth: the share of the error is not known, its odds against the expected answer are."""
    given = scored(KNOWN, reflux=0.05)

    assert error_probability(given, CASE.answers) is None
    assert log_odds(given, CASE.answers, "total") == pytest.approx(math.log(0.4 / 0.6))
    assert read_likelihood(given, CASE.answers, "total") is not None


@pytest.mark.parametrize("missing", ["infarction", "panic"])
def test_an_answer_that_is_not_known_leaves_the_odds_open(missing: str) -> None:
    """Either side of the odds may be missing; the likeliest answer is open if the missing one could be it."""
    known = {name: value for name, value in KNOWN.items() if name != missing}
    given = scored(known, reflux=1e-4, **{missing: 0.7})

    assert log_odds(given, CASE.answers, "total") is None
    assert error_probability(given, CASE.answers) is None
    assert read_likelihood(given, CASE.answers, "total") is None


def test_nothing_known_is_undefined() -> None:
    """A server that gave nothing about a prompt leaves all of it open."""
    given = scored({}, infarction=1.0, panic=1.0, anxiety=1.0, reflux=1.0, gout=1.0)

    assert log_sum({}, given.at_most, ("panic", "anxiety")) is None
    assert log_odds(given, CASE.answers, "total") is None
    assert error_probability(given, CASE.answers) is None
    assert read_likelihood(given, CASE.answers, "total") is None


def test_a_letter_among_unknown_ones_is_read_if_these_cannot_matter() -> None:
    """0.8 and 0.2 of two letters, and none of the other two; with a bound of a tenth no letter is read."""
    options = dict.fromkeys("ABCD", "text")
    known = {"A": math.log(0.8), "B": math.log(0.2)}

    settled = order_of(scored(known, C=1e-5, D=1e-5), options)
    open_ = order_of(scored(known, C=0.1, D=0.1), options)

    assert settled.probabilities == pytest.approx({"A": 0.8, "B": 0.2, "C": 0.0, "D": 0.0})
    assert open_.probabilities == {}


def test_a_decision_among_unknown_levels_is_read_if_these_cannot_matter() -> None:
    """Levels 0 and 1 of three with 0.25 and 0.75: their mean is 0.75; a tilt needs all of them."""
    asked = decision()
    known = {"low": math.log(0.25), "middle": math.log(0.75)}

    settled = read_decision(scored(known, high=1e-5), asked, "")
    open_ = read_decision(scored(known, high=0.2), asked, "")

    assert (settled.expected, settled.chosen, settled.tilt) == (pytest.approx(0.75), "middle", None)
    assert (open_.expected, open_.chosen, open_.probabilities) == (None, "", {})
