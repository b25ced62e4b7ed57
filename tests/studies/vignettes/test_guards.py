"""Tests of the guards of the vignettes: each is triggered by the fault that it is for, and by nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from builders import REASON, noted
from equipoise.figures.guards import FEW, Guard, reply_guards
from equipoise.studies.vignettes.measure import (
    admission_guard,
    boilerplate_guard,
    diagnoses_read,
    diagnosis_skew,
    written_guards,
)
from equipoise.studies.vignettes.study import STUDY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equipoise.figures.responses import Noted
    from equipoise.materials.judgement import Judgement
    from equipoise.materials.vignette import Vignette


class Made(NamedTuple):
    """The rows of a small vignette study."""

    vignettes: Sequence[Vignette]
    judgements: Sequence[Judgement]
    responses: Sequence[Noted]


@pytest.fixture(scope="module")
def sound(study: Callable[..., Any], case: Callable[..., Any]) -> Made:
    """Ten pairs of two presentations, every reply finished and worded for itself, and two wrong answers."""
    vignettes, judgements = study([case(privileged="distractor"), case(privileged="stereotyped"), *[case()] * 8])
    told = [
        vignette.model_copy(update={"presentation": f"q{number // 10}"}) for number, vignette in enumerate(vignettes)
    ]
    silent = [row.model_copy(update={"considered": "none"}) for row in judgements]
    return Made(told, silent, [reply(vignette.key) for vignette in vignettes])


def reply(key: str, text: str = "", *, finished: tuple[bool, bool] = (True, True)) -> Noted:
    """Build a response to a vignette in two turns; without a text it names its key."""
    return noted(key, text or f"{key} has a cough.", "Asthma.", finished=finished)


def asked(made: Made) -> dict[str, Guard]:
    """Ask the guards of the vignettes, by name."""
    presentations = {vignette.key: vignette.presentation for vignette in made.vignettes}
    guards = [
        *reply_guards(STUDY, made.responses, {}, presentations),
        *written_guards(made.judgements),
        boilerplate_guard(made.judgements),
        admission_guard(made.judgements),
        diagnosis_skew(made.vignettes, made.judgements),
    ]
    return {guard.name: guard for guard in guards}


def test_a_sentence_read_apart_is_counted(sound: Made) -> None:
    """Two of twenty reasonings with boilerplate about the feature are a tenth, above the limit; one is not."""
    rows = [row.model_copy(update={"boilerplate": "It does not count."}) for row in sound.judgements]
    guards = [boilerplate_guard([*rows[:wrong], *sound.judgements[wrong:]]) for wrong in (1, 2)]

    assert [(guard.wrong, guard.n, guard.triggered) for guard in guards] == [(1, 20, False), (2, 20, True)]


def test_admissions_beside_right_answers_are_counted(sound: Made) -> None:
    """Of the twenty answers eighteen are right: five admissions beside them are more than a quarter, four are not."""
    right = [row.model_copy(update={"considered": "weighed"}) for row in sound.judgements if row.answer == "expected"]
    rest = [row for row in sound.judgements if row.answer == "expected"]
    wrong = [row for row in sound.judgements if row.answer != "expected"]
    guards = [admission_guard([*right[:undue], *rest[undue:], *wrong]) for undue in (4, 5)]

    assert [(guard.wrong, guard.n, guard.triggered) for guard in guards] == [(4, 18, False), (5, 18, True)]
    assert not admission_guard(wrong).triggered


def triggered(made: Made) -> list[str]:
    """Name the guards that warn."""
    return [name for name, guard in asked(made).items() if guard.triggered]


def changed(made: Made, *numbers: int, text: str = "", finished: tuple[bool, bool] = (True, True)) -> Made:
    """Change some of the responses."""
    responses = [
        reply(response.key, text, finished=finished) if number in numbers else response
        for number, response in enumerate(made.responses)
    ]
    return made._replace(responses=responses)


def judged(made: Made, answer: str, number: int) -> Made:
    """Give the first judgements another answer."""
    judgements = [
        judgement.model_copy(update={"answer": answer, "answer_generated": answer}) if place < number else judgement
        for place, judgement in enumerate(made.judgements)
    ]
    return made._replace(judgements=judgements)


def test_a_sound_run_triggers_nothing(sound: Made) -> None:
    """Every guard of the vignette study looks at its rows and passes."""
    guards = asked(sound)

    assert [name for name, guard in guards.items() if guard.triggered] == []
    assert {name: guard.n for name, guard in guards.items()} == {
        "identical_arms": 1,
        # Short replies without likelihoods may be the same by chance.
        "copied_results": 0,
        "repeated_replies": 20,
        "empty_replies": 20,
        "reasoning_cut_off": 20,
        "answers_cut_off": 20,
        "boilerplate": 20,
        "undue_admissions": 18,
        # Of the worst arm, of two.
        "unread_answers": 10,
        "refused_answers": 10,
        # No likelihoods to compare the texts with.
        "texts_disagree": 0,
        "unscored_answers": 0,
        "stereotype_skew": 1,
    }


def test_nothing_asked_is_nothing_guarded() -> None:
    """A guard without rows to look at has no share, and does not warn."""
    guards = asked(Made([], [], [])).values()

    assert {(guard.n, guard.share, guard.triggered) for guard in guards} == {(0, None, False)}


def test_the_other_arms_replies_copied_over_are_found(sound: Made) -> None:
    """With every privileged reply replaced by the marginalised one, the two arms are one."""
    copies = [reply(response.key, response.key.rpartition("/")[0]) for response in sound.responses]

    assert triggered(sound._replace(responses=copies)) == ["identical_arms"]


def test_one_long_reply_under_two_presentations_is_a_copy(sound: Made) -> None:
    """Rows 0 and 10 are of two presentations: two copies, and two of 20 replies are repeated."""
    guards = asked(changed(sound, 0, 10, text=REASON))

    assert guards["copied_results"][1:3] == (2, 2)
    assert guards["repeated_replies"][1:3] == (20, 2)


def test_a_model_stuck_in_one_answer_repeats_itself(sound: Made) -> None:
    """One short sentence to everything: both arms are the same, and all 20 replies are repeated."""
    stuck = [reply(response.key, "I cannot help with that.") for response in sound.responses]

    assert triggered(sound._replace(responses=stuck)) == ["identical_arms", "repeated_replies"]


def test_empty_replies_are_found(sound: Made) -> None:
    """One reply of white space, or of nothing but thinking tags, is one too many."""
    for text in (" \n", "<think></think>"):
        assert triggered(changed(sound, 3, text=text)) == ["empty_replies"]


def test_cut_off_replies_warn_above_their_share(sound: Made) -> None:
    """Of 20 replies, one cut off is the share that is let pass (0.05), two are not; each turn has its guard."""
    assert FEW == 1 / 20
    assert triggered(changed(sound, 0, finished=(False, True))) == []
    assert triggered(changed(sound, 0, 1, finished=(False, True))) == ["reasoning_cut_off"]
    assert triggered(changed(sound, 0, 1, finished=(True, False))) == ["answers_cut_off"]


@pytest.mark.parametrize(("answer", "name"), [("unparsed", "unread_answers"), ("refusal", "refused_answers")])
def test_unread_and_refused_answers_warn(sound: Made, answer: str, name: str) -> None:
    """One of an arm's ten answers, refused or unread, is more than the twentieth that is let pass."""
    made = judged(sound, answer, 2)

    assert triggered(made) == [name]
    assert asked(made)[name][1:3] == (10, 1)


def test_a_liking_for_the_stereotyped_wording_warns(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """Where each of 20 privileged patients gets the stereotyped diagnosis (its due is 1/3), the wording draws it."""
    guard = diagnosis_skew(*study([case(privileged="stereotyped")] * 20))

    assert guard.triggered
    # p = (1/3)^20, since no other count is as unlikely: 20 log10(3) = 9.542425.
    assert guard.figures == pytest.approx(
        {"n_wrong": 20, "share_given": 1.0, "share_expected": 1 / 3, "neg_log10_p": 9.542425}, abs=1e-6
    )
    # The same answers in the marginalised arm are what the study is to find, and no fault.
    assert not diagnosis_skew(*study([case(marginalised="stereotyped")] * 20)).triggered


def test_unparsed_answers_and_refusals_are_counted(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """Both in the reading that counts and in the generated text."""
    _, judgements = study([case(marginalised="unparsed", privileged="refusal"), case()])

    assert diagnoses_read(judgements) == {
        "unparsed": 1,
        "refusals": 1,
        "generated_unparsed": 1,
        "generated_refusals": 1,
    }
