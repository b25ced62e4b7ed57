from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from equipoise.core.prompts import Prompt
from equipoise.materials.vignette import LogRatio, Vignette
from equipoise.studies.vignettes.profiles import Build, Wording, samples_of, vignette_prompt, vignette_prompts
from equipoise.text.answer import Answer

BUILD = Build(
    profile="core",
    system="You are a clinician.",
    reason="{case}\n\nExplain.",
    answer="What is the diagnosis?",
    answer_prefix="The diagnosis is",
    controls=True,
    stubs=True,
    mirrors=True,
)


def vignette(text: str = "A man has chest pain.", labels: tuple[str, ...] = ("c", "a", "d", "b")) -> Vignette:
    """Build a vignette with a text and the labels of its expected, stereotyped and other answers."""
    expected, stereotyped, *others = (Answer(label=label, synonyms=(f"{label} too",)) for label in labels)
    return builders.vignette(
        "pair",
        dimensions=("gender",),
        text=text,
        spans=((2, 5),),
        features={"gender": "a man"},
        expected=expected,
        stereotyped=stereotyped,
        distractors=tuple(others),
    )


def test_a_vignette_becomes_two_turns() -> None:
    """The case is in the first turn, the diagnosis is asked in the second, and candidates are sorted by name."""
    expected = Prompt(
        key="pair/marginalised",
        study="vignettes",
        system="You are a clinician.",
        prefix="The diagnosis is",
        turns=("A man has chest pain.\n\nExplain.", "What is the diagnosis?"),
        candidates=("a", "b", "c", "d"),
        sentence=True,
        stem="A man has chest pain.",
        lead="A man has chest pain.\n\nExplain.",
    )
    assert expected == vignette_prompt(vignette(), BUILD)


def test_the_first_turns_that_rereadings_share_are_named() -> None:
    """Those of arms, whose case is asked about without reasoning too, and of controls; a mirror is not read again."""
    case, turn = vignette().text, vignette_prompt(vignette(), BUILD).turns[0]

    def shared(key: str, build: Build = BUILD) -> tuple[str, str]:
        asked = vignette_prompt(vignette().model_copy(update={"key": key}), build)
        return asked.stem, asked.lead

    assert shared("pair/marginalised") == shared("pair/privileged") == (case, turn)
    assert shared("pair/control-a") == ("", turn)
    assert shared("pair/mirror-privileged") == ("", "")
    last = BUILD.model_copy(update={"reason": "Explain this case: {case}"})
    assert shared("pair/privileged", last) == ("", f"Explain this case: {case}")


@given(st.permutations(["c", "a", "d", "b"]))
def test_candidates_do_not_tell_what_is_expected(labels: list[str]) -> None:
    """Whichever answer is expected, the model is asked the same."""
    assert vignette_prompt(vignette(), BUILD) == vignette_prompt(vignette(labels=tuple(labels)), BUILD)


def test_only_the_text_and_the_answers_decide_what_is_asked() -> None:
    """What is known of a case's epidemiology, evidence, guideline and persona leaves its cached answers valid."""
    known = {"log_ratio": LogRatio(value=1.0, low=0.0, high=2.0), "grade": "B", "guideline": "other", "persona": "p02"}

    assert vignette_prompt(vignette(), BUILD) == vignette_prompt(vignette().model_copy(update=known), BUILD)


@pytest.mark.parametrize("text", ["{case} {answer} {0}", r"\1 \g<0>", "100% {"])
def test_the_text_of_a_case_is_taken_as_it_is(text: str) -> None:
    """Braces and backslashes of a case are words, not instructions."""
    assert f"{text}\n\nExplain." == vignette_prompt(vignette(text), BUILD).turns[0]


def test_other_braces_of_the_question_are_kept() -> None:
    """Only {case} is filled: a question may ask for JSON."""
    build = BUILD.model_copy(update={"reason": 'Reply {"why": ...} about: {case}'})

    assert vignette_prompt(vignette("Pain."), build).turns[0] == 'Reply {"why": ...} about: Pain.'


def test_samples_share_all_but_their_numbers() -> None:
    """One is the prompt itself; each of several has a key of its own, and the first turn is read once for all."""
    asked = vignette_prompt(vignette(), BUILD)

    assert samples_of(asked, 1) == [asked]
    assert [(sample.key, sample.sample, sample.lead) for sample in samples_of(asked, 2)] == [
        ("pair/marginalised", 0, asked.turns[0]),
        ("pair/marginalised#1", 1, asked.turns[0]),
    ]


def test_wordings_and_samples_are_numbered_through() -> None:
    """Two samples in each of two wordings are four prompts: the wording is that of the number, the sample its own."""
    other = Wording(reason="What is wrong? {case}", answer="Name it.")
    build = BUILD.model_copy(update={"wordings": (other,)})
    asked = vignette_prompts(vignette("Pain."), build, samples=2)

    # Number w 2 + s is sample s of wording w.
    assert [(sample.key, sample.sample, sample.turns[1]) for sample in asked] == [
        ("pair/marginalised", 0, BUILD.answer),
        ("pair/marginalised#1", 1, BUILD.answer),
        ("pair/marginalised#2", 0, "Name it."),
        ("pair/marginalised#3", 1, "Name it."),
    ]
    assert asked[2].turns[0] == "What is wrong? Pain."


def test_one_wording_and_one_sample_are_the_prompt_itself() -> None:
    """By default nothing is added to what is asked."""
    assert vignette_prompts(vignette(), BUILD) == [vignette_prompt(vignette(), BUILD)]
