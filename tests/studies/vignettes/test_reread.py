"""Tests of the prompts that ask for an answer again after other reasoning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import ROLES, prompt, response, vignette
from equipoise.core.prompts import Prompt
from equipoise.judge.reading import plain_text
from equipoise.materials.versions import CONTROLS, REREADINGS, CaseKey
from equipoise.studies.vignettes.profiles import Rereading
from equipoise.studies.vignettes.reread import MASK, beginning, blinder, rereadings
from equipoise.text.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.prompts import Response
    from equipoise.materials.vignette import Vignette

DATA = Path(__file__).parents[3] / "data"
ALL = get_args(Rereading)
BLIND = blinder(DATA)
SAID = {"p/marginalised": "She is poor. It is gout.", "p/privileged": "One two three four. It is the flu."}


def study(replies: dict[str, str]) -> tuple[list[Vignette], list[Prompt], list[Response]]:
    """Make a pair, a control telling, and what was said to the prompt of each key."""
    rows = [vignette("p", role, text=f"A case, {role}.") for role in ROLES]
    texts = {row.key: row.text for row in rows}
    prompts = [
        prompt(
            key,
            f"{texts.get(CaseKey.parse(key).case, 'A telling.')}\n\nReason.",
            "What is it?",
            system="You are a clinician.",
            prefix="It is",
            candidates=("gout", "flu"),
            sentence=True,
            stem=texts.get(CaseKey.parse(key).case, ""),
            lead=f"{texts.get(CaseKey.parse(key).case, 'A telling.')}\n\nReason.",
            sample=int(key.partition("#")[2] or 0),
        )
        for key in replies
    ]
    return rows, prompts, [response(key, text, "Gout.") for key, text in replies.items()]


def reread(replies: dict[str, str], kinds: Sequence[Rereading] = ALL, *, likelihoods: bool = True) -> dict[str, Prompt]:
    """Give the prompts that follow, by key; blinding writes in capitals."""
    prompts = list(
        rereadings(*study(replies), kinds, lambda text, arms: text.upper() * (len(arms) - 1), likelihoods=likelihoods)
    )
    assert len({followup.key for followup in prompts}) == len(prompts)
    return {followup.key: followup for followup in prompts}


def test_every_kind_puts_its_text_where_the_reasoning_stood() -> None:
    """The arm's own case and question are asked, after the other's reasoning, blinded ones, none, or the beginning."""
    prompts = reread(SAID)
    given = {key: question.given for key, question in prompts.items()}

    assert given == {
        "p/marginalised/swapped": ("One two three four. It is the flu.",),
        "p/marginalised/blinded": ("SHE IS POOR. IT IS GOUT.",),
        "p/marginalised/blinded-swapped": ("ONE TWO THREE FOUR. IT IS THE FLU.",),
        "p/marginalised/unreasoned": (),
        # A quarter of six words is 1.5, which rounds to the even 2; half is 3; three quarters, 4.5, round to 4.
        "p/marginalised/early-25": ("She is",),
        "p/marginalised/early-50": ("She is poor.",),
        "p/marginalised/early-75": ("She is poor. It",),
        "p/privileged/swapped": ("She is poor. It is gout.",),
        "p/privileged/blinded": ("ONE TWO THREE FOUR. IT IS THE FLU.",),
        "p/privileged/blinded-swapped": ("SHE IS POOR. IT IS GOUT.",),
        "p/privileged/unreasoned": (),
        # Of eight words 2, 4 and 6.
        "p/privileged/early-25": ("One two",),
        "p/privileged/early-50": ("One two three four.",),
        "p/privileged/early-75": ("One two three four. It is",),
    }
    assert {key.rpartition("/")[2] for key in prompts} == set(REREADINGS)
    assert all(CaseKey.parse(key).rereading for key in prompts)
    for key, followup in prompts.items():
        case = f"A case, {CaseKey.parse(key).version}."
        bare = key.endswith("unreasoned")
        assert followup.turns == ((f"{case}\n\nWhat is it?",) if bare else (f"{case}\n\nReason.", "What is it?"))
        # What all readings of an arm begin with is read once.
        assert (followup.stem, followup.lead) == (case, "" if bare else followup.turns[0])
        assert (followup.system, followup.prefix, followup.candidates) == (
            "You are a clinician.",
            "It is",
            ("gout", "flu"),
        )
        # As a prompt that was written to a file.
        assert Prompt.model_validate(followup.model_dump()) == followup


@pytest.mark.parametrize(
    ("kinds", "ends"),
    [
        ((), set()),
        (("swapped",), {"swapped"}),
        (("blinded",), {"blinded", "blinded-swapped"}),
        (("unreasoned",), {"unreasoned"}),
        (("early",), {"early-25", "early-50", "early-75"}),
        (("controls",), set()),  # of the arms
    ],
)
def test_only_the_chosen_kinds_are_asked(kinds: Sequence[Rereading], ends: set[str]) -> None:
    """Each kind has its readings."""
    assert {key.rpartition("/")[2] for key in reread(SAID, kinds)} == ends


def test_a_model_without_likelihoods_is_asked_for_replies() -> None:
    """A model with likelihoods is asked for these alone; another, for a reply, of the sample's number."""
    replies = {f"{key}#2": text for key, text in SAID.items()}
    scored, written = (reread(replies, likelihoods=given) for given in (True, False))

    assert {
        (followup.reply, followup.sentence, followup.sample, min(followup.n_replies, 1)) for followup in scored.values()
    } == {(False, False, 0, 0)}
    assert {
        (followup.reply, followup.sentence, followup.sample, followup.n_replies) for followup in written.values()
    } == {(True, True, 2, 1)}


def test_samples_are_swapped_with_those_of_their_number() -> None:
    """Sample 1 of an arm is read after sample 1 of the other."""
    replies = {key + mark: f"{key} says {mark}." for key in SAID for mark in ("", "#1")}
    prompts = reread(replies, ["swapped"])

    assert {key: followup.given[0] for key, followup in prompts.items()} == {
        "p/marginalised/swapped": "p/privileged says .",
        "p/marginalised/swapped#1": "p/privileged says #1.",
        "p/privileged/swapped": "p/marginalised says .",
        "p/privileged/swapped#1": "p/marginalised says #1.",
    }


def test_a_text_that_comes_out_as_the_own_is_not_asked() -> None:
    """Its answer is known: of equal reasonings, of one with nothing to blind, and of one too short to be cut."""
    assert reread(dict.fromkeys(SAID, "The same."), ["swapped"]) == {}
    assert reread(dict.fromkeys(SAID, "SAME"), ["blinded"]) == {}
    assert reread(dict.fromkeys(SAID, "Gout."), ["early"]) == {}
    # Without reasoning there is always something else to ask.
    assert len(reread(dict.fromkeys(SAID, ""), ALL)) == 2


def test_controls_exchange_their_reasonings_if_they_are_chosen() -> None:
    """Each control is asked after the reasoning about the other, sample by sample; nothing of equal reasonings."""
    replies = {"p/control-a": "It is gout.", "p/control-b": "It may be flu."} | {
        f"p/{end}#1": "Same." for end in CONTROLS
    }
    prompts = reread(SAID | replies)
    more = {key: question for key, question in prompts.items() if CaseKey.parse(key).version in CONTROLS}

    assert {key: question.given for key, question in more.items()} == {
        "p/control-a/swapped": ("It may be flu.",),
        "p/control-b/swapped": ("It is gout.",),
    }
    for followup in more.values():
        assert followup.turns == ("A telling.\n\nReason.", "What is it?")
        assert (followup.stem, followup.lead, followup.reply) == ("", followup.turns[0], False)
    without = tuple(kind for kind in ALL if kind != "controls")
    assert (
        reread(SAID | replies, without) == reread(SAID) == {key: prompts[key] for key in prompts.keys() - more.keys()}
    )


@pytest.mark.parametrize(
    ("text", "share", "expected"),
    [
        ("one two three four", 25, "one"),
        ("one two three four", 50, "one two"),
        ("one  two\n\nthree four", 75, "one  two\n\nthree"),  # spaces between words are kept
        ("one two three four", 100, "one two three four"),
        ("one", 25, "one"),  # at least one
        ("", 50, ""),
        # Thinking comes first, and what its reader sees after it; no tag is cut in two.
        ("<think>\none two\n</think>\n\nthree four", 25, "one"),
        ("<think>\none two\n</think>\n\nthree four", 75, "one two\n\nthree"),
        ("<think>one two three four", 50, "one two"),
    ],
)
def test_the_beginning_is_a_share_of_the_words(text: str, share: int, expected: str) -> None:
    """Rounded to whole words."""
    assert beginning(text, share) == expected


@given(st.text(st.sampled_from("ab .\n"), max_size=40), st.sampled_from([25, 50, 75]))
def test_a_beginning_begins_its_text(text: str, share: int) -> None:
    """It has its share of the words, rounded, and at least one where there are any."""
    start, words = beginning(text, share), text.split()

    assert text.strip().startswith(start)
    assert len(start.split()) == (max(1, round(len(words) * share / 100)) if words else 0)


def arms(dimension: str, marginalised: str, privileged: str, stereotyped: str = "panic disorder") -> list[Vignette]:
    """Make two arms that differ in a dimension."""
    answer = Answer(label=stereotyped, synonyms=(f"{stereotyped}s",))
    return [
        vignette("p", role, (dimension,), features={dimension: words}, stereotyped=answer)
        for role, words in zip(ROLES, (marginalised, privileged), strict=True)
    ]


@pytest.mark.parametrize(
    ("dimension", "words", "text", "expected"),
    [
        ("race", ("Black", "White"), "This Black man has gout.", "This patient has gout."),
        ("race", ("Black", "White"), "He is White; the race matters.", f"They are {MASK}; the {MASK} matters."),
        ("gender", ("woman", "man"), "She feels pain; her husband came.", "They feel pain; their spouse came."),
        ("gender", ("woman", "man"), "The man says he is well.", "The patient says they are well."),
        (
            "housing",
            ("homeless", "stably housed"),
            "A homeless patient, unlike one stably housed.",
            f"A patient, unlike one {MASK}.",
        ),
        (
            "age",
            ("aged 83", "aged 47"),
            "At 83 years old, or aged 47, gout is likely.",
            f"{MASK}, or {MASK}, gout is likely.",
        ),
        (
            "obesity",
            ("obese", "of normal weight"),
            "The patient is obese, not of normal weight.",
            f"The patient is {MASK}, not of {MASK}.",
        ),
    ],
)
def test_blinding_takes_both_arms_features_out(
    dimension: str, words: tuple[str, str], text: str, expected: str
) -> None:
    """Gender, race and means become neutral, words for the features of either arm are masked."""
    assert BLIND(text, arms(dimension, *words)) == expected


def test_diagnoses_stay() -> None:
    """To speak of alcohol withdrawal is to speak of an answer, to speak of drinking is to speak of the patient."""
    told = arms("substance_use", "who drinks heavily", "who does not drink", "alcohol withdrawal")

    assert (
        BLIND("They drink heavily. Alcohol withdrawal is likely.", told)
        == f"They {MASK}. Alcohol withdrawal is likely."
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Homeless**:  the\nfoot – numb.\n\n* Gout", f"**{MASK}**:  the\nfoot – numb.\n\n* Gout"),
        ("of no\nfixed  abode", f"of {MASK}"),
        ("<think>\nHomeless.\n</think>\n\nGout.", f"<think>\n{MASK}.\n</think>\n\nGout."),
        ("Gout – *likely*  so.", "Gout – *likely*  so."),
    ],
)
def test_all_else_stays_as_it_was_written(text: str, expected: str) -> None:
    """Marks, lines, spaces and the tags of thinking, which the plain form that wordings are found in does not have."""
    assert BLIND(text, arms("housing", "homeless", "stably housed")) == expected


@given(st.text(st.sampled_from("ab* \n–\u00a0.’"), max_size=30))
def test_what_names_nothing_is_left_alone(text: str) -> None:
    """Whatever its marks, a text without a demographic is the arm's own, and is not asked about."""
    assert BLIND(text, arms("housing", "homeless", "stably housed")) == text


@given(st.text(st.sampled_from("a* \n–\u00a0"), max_size=12), st.text(st.sampled_from("a* \n–\u00a0"), max_size=12))
def test_the_words_themselves_are_masked(before: str, after: str) -> None:
    """Wherever they stand: exactly where the plain form has them."""
    text = f"{before} homeless {after}"

    assert "homeless" in plain_text(text)
    assert BLIND(text, arms("housing", "homeless", "stably housed")) == f"{before} {MASK} {after}"
