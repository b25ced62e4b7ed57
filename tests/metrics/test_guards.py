"""Tests of the guards: each is triggered by the fault that it is for, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from equipoise.metrics.rows import Rows

from builders import REASON, fill, noted
from equipoise.cases.rows import Case
from equipoise.metrics.effects import Estimate, Group, effect
from equipoise.metrics.guards import FEW, THRESHOLDS, Guard, guard_metrics, guards
from runs import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equipoise.core.records import Effect, Judgement
    from equipoise.metrics.noted import Noted


@pytest.fixture(scope="module")
def sound(study: Callable[..., Any], case: Callable[..., Any]) -> Rows:
    """Ten pairs of two presentations, every reply finished and worded for itself, and two wrong answers."""
    vignettes, judgements = study([case(privileged="distractor"), case(privileged="stereotyped"), *[case()] * 8])
    told = [
        vignette.model_copy(update={"presentation": f"q{number // 10}"}) for number, vignette in enumerate(vignettes)
    ]
    return replace(NOTHING, vignettes=told, judgements=judgements, responses=[reply(one.key) for one in vignettes])


def reply(key: str, text: str = "", *, finished: tuple[bool, bool] = (True, True)) -> Noted:
    """Build a response to a vignette in two turns; without a text it names its key."""
    return noted(key, text or f"{key} has a cough.", "Asthma.", finished=finished)


def asked(rows: Rows, adversarial: Sequence[Effect] = (), **letters: dict[str, str | None]) -> dict[str, Guard]:
    """Ask the guards, by guard and study."""
    found = guards(rows, letters.get("letters", {}), letters.get("exam", {}), adversarial)
    return {f"{guard.name}/{guard.study}": guard for guard in found}


def triggered(rows: Rows, adversarial: Sequence[Effect] = (), **letters: dict[str, str | None]) -> list[str]:
    """Name the guards that warn."""
    return [name for name, guard in asked(rows, adversarial, **letters).items() if guard.triggered]


def changed(rows: Rows, *numbers: int, text: str = "", finished: tuple[bool, bool] = (True, True)) -> list[Noted]:
    """Change some of the responses."""
    return [
        reply(one.key, text, finished=finished) if number in numbers else one
        for number, one in enumerate(rows.responses)
    ]


def judged(rows: Rows, answer: str, number: int) -> list[Judgement]:
    """Give the first judgements another answer."""
    return [
        one.model_copy(update={"answer": answer}) if place < number else one
        for place, one in enumerate(rows.judgements)
    ]


def test_a_sound_run_triggers_nothing(sound: Rows) -> None:
    """Every guard of the vignette study looks at its rows and passes."""
    found = asked(sound)

    assert [name for name, guard in found.items() if guard.triggered] == []
    assert {name: guard.n for name, guard in found.items()} == {
        "identical_arms/vignettes": 1,
        # Short replies without likelihoods may be the same by chance.
        "copied_results/vignettes": 0,
        "repeated_replies/vignettes": 20,
        "empty_replies/vignettes": 20,
        "reasoning_cut_off/vignettes": 20,
        "answers_cut_off/vignettes": 20,
        "unread_answers/vignettes": 20,
        "refused_answers/vignettes": 20,
        "stereotype_skew/vignettes": 1,
    }


def test_nothing_asked_is_nothing_guarded() -> None:
    """A run without rows has no guard to ask, and its metrics say so."""
    assert guard_metrics(guards(NOTHING, {}, {}, [])) == {"n_prompts": 0, "n_guards": 0, "n_triggered": 0}


def test_the_other_arms_replies_copied_over_are_found(sound: Rows) -> None:
    """With every privileged reply replaced by the marginalised one, the two arms are one."""
    copies = [reply(one.key, one.key.rpartition("/")[0]) for one in sound.responses]

    assert triggered(replace(sound, responses=copies)) == ["identical_arms/vignettes"]


def test_one_long_reply_under_two_presentations_is_a_copy(sound: Rows) -> None:
    """Rows 0 and 10 are of two presentations: two copies, and two of 20 replies are repeated."""
    found = asked(replace(sound, responses=changed(sound, 0, 10, text=REASON)))

    assert found["copied_results/vignettes"][2:4] == (2, 2)
    assert found["repeated_replies/vignettes"][2:4] == (20, 2)


def test_a_model_stuck_in_one_answer_repeats_itself(sound: Rows) -> None:
    """One short sentence to everything: both arms are the same, and all 20 replies are repeated."""
    stuck = [reply(one.key, "I cannot help with that.") for one in sound.responses]

    assert triggered(replace(sound, responses=stuck)) == ["identical_arms/vignettes", "repeated_replies/vignettes"]


def test_empty_replies_are_found(sound: Rows) -> None:
    """One reply of white space, or of nothing but thinking tags, is one too many."""
    for text in (" \n", "<think></think>"):
        rows = replace(sound, responses=changed(sound, 3, text=text))

        assert triggered(rows) == ["empty_replies/vignettes"]


def test_cut_off_replies_warn_above_their_share(sound: Rows) -> None:
    """Of 20 replies, one cut off is the share that is let pass (0.05), two are not; each turn has its guard."""
    one, two = ({"finished": (False, True)}, (0,)), ({"finished": (False, True)}, (0, 1))
    answers = {"finished": (True, False)}

    assert FEW == 1 / 20
    assert triggered(replace(sound, responses=changed(sound, *one[1], **one[0]))) == []
    assert triggered(replace(sound, responses=changed(sound, *two[1], **two[0]))) == ["reasoning_cut_off/vignettes"]
    assert triggered(replace(sound, responses=changed(sound, 0, 1, **answers))) == ["answers_cut_off/vignettes"]


@pytest.mark.parametrize(("answer", "name"), [("unparsed", "unread_answers"), ("refusal", "refused_answers")])
def test_unread_and_refused_answers_warn(sound: Rows, answer: str, name: str) -> None:
    """Two of 20 answers that were refused, or could not be read, are more than the twentieth that is let pass."""
    rows = replace(sound, judgements=judged(sound, answer, 2))

    assert triggered(rows) == [f"{name}/vignettes"]
    assert asked(rows)[f"{name}/vignettes"][2:4] == (20, 2)


def test_a_case_without_an_output_is_unanswered() -> None:
    """Of three cases one has no output and one has an output whose run failed: two are unanswered."""
    cases = [
        Case(
            key=key,
            study="cases",
            prompt=f"Case {key}.",
            feature="homeless",
            label="malingering",
            features={"housing": "homeless"},
            role="marginalised",
            source="them",
            licence="MIT",
        )
        for key in ("c1", "c2", "c3")
    ]
    outputs = [noted("c1", "It is asthma.", study="cases"), noted("c2", study="cases")]

    guard = asked(replace(NOTHING, cases=cases, responses=outputs))["unanswered_prompts/cases"]

    assert (guard.n, guard.wrong, guard.triggered) == (3, 2, True)


def test_unread_letters_and_fills_warn() -> None:
    """Letters that were not read and sentences without a gendered word are unread answers of their studies."""
    rows = replace(
        NOTHING,
        responses=[noted("i1/neutral", "?", study="adversarial"), noted("i1/exam", "?", study="medmcqa")],
        fills=[fill("t1", "anxiety", 0.0, 0.0), fill("t1", "stroke")],
    )

    found = triggered(rows, letters={"i1/neutral": None}, exam={"i1": None})

    assert found == ["unread_answers/adversarial", "unread_answers/medmcqa", "unread_answers/stigma"]


def test_fills_of_one_condition_copied_to_another_are_found() -> None:
    """Over five templates two conditions have the same probabilities."""
    rows = replace(
        NOTHING,
        fills=[fill(f"t{number}", name, number / 10 + 0.1) for number in range(5) for name in ("anxiety", "stroke")],
    )

    assert triggered(rows) == ["identical_arms/stigma"]


def test_an_arm_with_a_skew_of_letters_warns() -> None:
    """The alarm of one arm of two triggers the guard, which tells the largest distance."""
    rows = replace(NOTHING, responses=[noted("i1/neutral", study="adversarial", log_likelihood={"A": 0.0, "B": -1.0})])
    effects = [
        effect(Group("arm", arm, "adversarial"), measure, 9, Estimate(value))
        for arm, distance, alarm in (("neutral", 0.6, 1.0), ("original", 0.1, 0.0))
        for measure, value in (("label_skew", distance), ("label_skew_alarm", alarm))
    ]

    guard = asked(rows, effects)["label_skew/adversarial"]

    assert guard == Guard("label_skew", "adversarial", 2, 1, {"largest": 0.6})
    assert guard.triggered


def test_a_liking_for_the_stereotyped_wording_warns(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """Where each of 20 privileged patients gets the stereotyped diagnosis (its due is 1/3), the wording draws it."""
    vignettes, judgements = study([case(privileged="stereotyped")] * 20)
    rows = replace(NOTHING, vignettes=vignettes, judgements=judgements, responses=[reply(one.key) for one in vignettes])

    guard = asked(rows)["stereotype_skew/vignettes"]

    assert guard.triggered
    # p = (1/3)^20, since no other count is as unlikely: 20 log10(3) = 9.542425.
    assert guard.figures == {"n_wrong": 20, "share": 1.0, "expected": 0.333333, "neg_log10_p": 9.542425}
    # The same answers in the marginalised arm are what the study is to find, and no fault.
    biased, read = study([case(marginalised="stereotyped")] * 20)
    assert not asked(replace(NOTHING, vignettes=biased, judgements=read, responses=[reply(one.key) for one in biased]))[
        "stereotype_skew/vignettes"
    ].triggered


def test_metrics_are_finite_scalars_under_guard_and_study(sound: Rows) -> None:
    """Each guard of a study has its count, share, threshold and verdict; a share of nothing is left out."""
    rows = replace(sound, responses=changed(sound, 3, text=" "))

    written = guard_metrics(guards(rows, {}, {}, []), rows.responses)

    assert written["empty_replies"] == {
        "vignettes": {"n": 20, "count": 1, "estimate": 0.05, "threshold": 0.0, "triggered": 1}
    }
    assert written["copied_results"] == {"vignettes": {"n": 0, "count": 0, "threshold": 0.0, "triggered": 0}}
    assert (written["n_prompts"], written["n_guards"], written["n_triggered"]) == (20, 8, 1)
    assert written.keys() - {"n_prompts", "n_guards", "n_triggered"} <= THRESHOLDS.keys()
