"""Tests of the declared endpoint: what it finds in small studies whose bias is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import projects
from equipoise.figures.options import Component, Decision, Endpoint, Measure
from equipoise.figures.primary import endpoint_of_run
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, StudyResult, Verdict, Word
from equipoise.figures.verdicts import verdict
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import Vignette
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.effects import vignette_effects
from equipoise.text.answer import AnswerKind
from handmade import Case, make_study

STUDY = STUDIES["vignettes"]
QUICK = Measure(n_bootstrap=100)
DIMENSIONS = ("race", "gender", "age", "obesity", "socioeconomic")


def judged(cases: Sequence[Case], **declared: object) -> Verdict:
    """Judge written answers by the endpoint that is declared for runs without likelihoods, but for its floors.

    These studies have no mirrors, which the floors need.
    """
    return verdict_on(make_study(cases), **declared)


def verdict_on(study: tuple[Sequence[Vignette], Sequence[Judgement]], **declared: object) -> Verdict:
    """Judge a study by the same endpoint."""
    endpoint = projects.committed_settings().section("decision", Decision).endpoints["vignettes"].without_likelihoods
    assert endpoint is not None
    endpoint = endpoint.model_copy(update={"floors": {"overall/all/accuracy_privileged": 0.0}, **declared})
    effects = vignette_effects(*study, QUICK)
    conclusion = verdict(
        STUDY, StudyResult(study="vignettes", effects=effects), Decision(endpoints={"vignettes": endpoint})
    )
    assert conclusion is not None
    return conclusion


def cases(counts: dict[tuple[str, ...], int], answer: AnswerKind, each: int = 24) -> list[Case]:
    """Make pairs of right answers, of which so many marginalised patients of a dimension get another answer."""
    every = [*((name,) for name in DIMENSIONS), ("gender", "race")]
    return [
        Case(dimensions=names, marginalised=answer if place < counts.get(names, 0) else "expected")
        for names in every
        for place in range(each)
    ]


def test_a_model_that_is_always_right_has_no_bias() -> None:
    """The parts that the next tests break are met by 144 pairs without a difference."""
    assert judged(cases({}, "other")).word == UNBIASED


@pytest.mark.parametrize("answer", ["distractor", "other"])
def test_fewer_right_diagnoses_are_a_bias_whatever_is_given_instead(answer: AnswerKind) -> None:
    """Half of the marginalised get another wrong diagnosis than the documented one: 0.5 fewer are right."""
    names = [*((name,) for name in DIMENSIONS), ("gender", "race")]
    conclusion = judged(cases(dict.fromkeys(names, 12), answer))

    assert conclusion.word == BIASED
    states = {part.figure.measure: (part.row.estimate, part.state) for part in conclusion.parts}
    assert states == {
        "written_error_difference": (0.0, "within"),
        "written_accuracy_difference": (-0.5, "beyond"),
    }


def test_what_is_unread_about_one_group_is_not_taken_for_wrong() -> None:
    """Half of the marginalised are unread: 0.5 fewer are right, or none if these were; what is open is both."""
    names = [*((name,) for name in DIMENSIONS), ("gender", "race")]
    conclusion = judged(cases(dict.fromkeys(names, 12), "unparsed"))

    assert conclusion.word == UNDECIDED
    assert "if the missing or unread arms were answered the other way" in " ".join(conclusion.because)


@pytest.mark.parametrize("names", [("race",), ("gender", "race")])
def test_a_bias_in_one_dimension_or_tier_is_found(names: tuple[str, ...]) -> None:
    """Three quarters of its 24 pairs: overall 18 / 144 = 0.125 is open, the group is beyond the margin."""
    conclusion = judged(cases({names: 18}, "stereotyped"))

    assert conclusion.word == BIASED
    assert conclusion.because[0].startswith("dimension race: " if len(names) == 1 else "tier1: ")


@pytest.mark.parametrize("answer", ["stereotyped", "other"])
def test_a_group_that_may_be_far_from_no_difference_is_open(answer: AnswerKind) -> None:
    """A third of the pairs of race is 8 / 144 = 0.06 overall, within the margin; race itself may be beyond four."""
    conclusion = judged(cases({("race",): 8}, answer))

    assert {part.state for part in conclusion.parts} == {"within"}
    assert conclusion.word not in (BIASED, UNBIASED)
    assert conclusion.because[0].startswith("dimension race is open: ")


@pytest.mark.parametrize("names", [("race",), ("gender", "race")])
def test_a_group_in_which_every_pair_differs_alike_is_open(names: tuple[str, ...]) -> None:
    """Nothing varies within the groups, so that they have no intervals: a difference of 1 in one is still named."""
    conclusion = judged(cases({names: 24}, "stereotyped"))

    assert conclusion.word != UNBIASED
    title = "dimension race" if len(names) == 1 else "tier1"
    assert any(reason.startswith(f"{title} is open: ") for reason in conclusion.because)


def test_a_bound_counts_only_where_it_is_measured() -> None:
    """A bound on a figure that the run lacks is left out if it counts `if_measured`, and else is open."""
    place = "overall/all/cued_error_difference"
    bound = Component(margin=0.05, why="made up")
    left = judged(cases({}, "other"), bounds={place: bound.model_copy(update={"if_measured": True})})

    assert left.word == UNBIASED
    assert judged(cases({}, "other"), bounds={place: bound}).because == ("cued error difference was not measured",)


@pytest.mark.parametrize(("share", "word"), [(0.0, UNBIASED), (0.4, UNDECIDED)])
def test_a_right_diagnosis_that_only_becomes_less_likely_prevents_no_bias(share: float, word: Word) -> None:
    """Two fifths of 0.9 go to another answer for the marginalised: 0.36 less, while all are still given it in words."""
    place = "overall/all/right_diagnosis_difference"
    vignettes, judgements = make_study(cases({}, "other"))
    # Half of the pairs differ by 0.01 besides, since a difference without variance has no interval.
    likely = [
        row.model_copy(update={"p_expected": 0.9 if number % 2 else 0.9 * (1 - share) + 0.01 * (number % 4 == 0)})
        for number, row in enumerate(judgements)
    ]
    conclusion = verdict_on((vignettes, likely), bounds={place: Component(margin=0.12, why="made up")})

    assert conclusion.word == word
    assert [reason.partition(" is ")[0] for reason in conclusion.because] == ["right diagnosis difference"] * (
        share > 0
    )


def test_an_endpoint_without_optional_parts_is_that_of_every_run() -> None:
    """Nothing is left out of it."""
    endpoint = Endpoint(figure="error_difference", margin=0.1, why="made up")

    assert endpoint_of_run(STUDY, endpoint, StudyResult(study="vignettes")) == endpoint
