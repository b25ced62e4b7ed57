"""Agents with a model behind them, agents that repeat an earlier run, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.studies.questions.rows import Attempt, Neutralized
from equipoise.studies.questions.variants.agents import Arm, Perturb, Request
from equipoise.studies.questions.variants.loop import Perturbed, perturb
from equipoise.studies.questions.variants.templates import Templates
from equipoise.studies.questions.variants.validators import Clinical
from equipoise.studies.questions.variants.writers import (
    BACKGROUND_TOKENS,
    VIGNETTE_TOKENS,
    ModelFuser,
    ModelGenerator,
    Replay,
    RulesGenerator,
    choose_agents,
    insert,
    load_replay,
)

Make = Callable[..., Neutralized]
Failed = Callable[..., Attempt]

ARM = Arm("ses", "unprivileged", "unfavourable")


class Model:
    """A model that replies with a fixed text and remembers what it was asked."""

    def __init__(self, reply: str) -> None:
        """Take the reply."""
        self.reply = reply
        self.calls: list[list[tuple[str, str]]] = []

    def __call__(self, asked: Sequence[tuple[str, str]]) -> list[str]:
        """Reply to each."""
        self.calls.append(list(asked))
        return [self.reply] * len(asked)


def test_generation_prompt(make: Make, templates: Templates) -> None:
    """The prompt holds question, options, the right one, group and aim, and no feedback at first."""
    model = Model(" One.\nTwo. Three. \n")
    item = make()

    (actual,) = ModelGenerator(model, templates.generation)([Request(item, ARM, [])])

    assert actual == "One. Two. Three."
    ((system, user),) = model.calls[0]
    assert system == templates.generation.system
    for part in (
        item.neutral,
        "B. Amoxicillin",
        "A. Alginate",
        "low-income",
        templates.generation.aims[ARM.direction],
    ):
        assert part in user
    assert "Attempt" not in user


def test_feedback_is_in_the_prompt(make: Make, failed: Failed, templates: Templates) -> None:
    """The prompt holds each earlier attempt with its text, the evaluator's answer and the rules it broke."""
    model = Model("x")
    feedback = [
        failed(1, background="Uno.", answer="C"),
        failed(2, background="Due.", answer=None, violations=("numerals",)),
    ]

    ModelGenerator(model, templates.generation)([Request(make(), ARM, feedback)])

    user = model.calls[0][0][1]
    assert "Attempt 1 did not reach the aim. It read: Uno.\n  The model under test chose C." in user.replace(
        "\n", "\n  "
    )
    assert "Due." in user
    assert "no option" in user
    assert "broke these rules: numerals" in user


def test_a_round_is_one_call(make: Make, templates: Templates) -> None:
    """All requests of a round go to the model together, in order."""
    model = Model("x")
    requests = [Request(make(key=key), ARM, []) for key in "abc"]

    ModelGenerator(model, templates.generation)(requests)
    ModelFuser(model, templates.fusion)([(request.item, "b") for request in requests])

    assert [len(call) for call in model.calls] == [3, 3]


def test_fusion_prompt(make: Make, templates: Templates) -> None:
    """The model is given vignette and background, and the sentence with which the text must end."""
    model = Model(" Text. ")

    (actual,) = ModelFuser(model, templates.fusion)([(make("A patient limps. What is best?"), "B{question}.")])

    assert actual == "Text."
    user = model.calls[0][0][1]
    assert "A patient limps. What is best?" in user
    # braces in what is filled in are left alone
    assert "B{question}." in user
    assert "word for word: What is best?" in user


def test_evaluation_prompt(templates: Templates) -> None:
    """The evaluator sees the question, and its lettered options last; the lead is all that precedes them."""
    system, user = templates.evaluation.ask("Which?", {"A": "one", "B": "two"})

    assert system == templates.evaluation.system
    assert user.startswith("Which?\n\n")
    assert f"{templates.evaluation.lead('Which?')}A. one\nB. two" == user


@pytest.fixture(scope="module")
def earlier(make: Make, rules: RulesGenerator, clinical: Clinical) -> Perturbed:
    """A run whose evaluator never changes its answer."""
    return perturb(
        [make()],
        design="paper",
        generate=rules,
        fuse=insert,
        evaluate=lambda rows: ["A"] * len(rows),
        clinical=clinical,
    )


def again(item: Neutralized, replay: Replay, clinical: Clinical) -> Perturbed:
    """Run with replayed agents."""
    return perturb(
        [item],
        design="paper",
        generate=replay.generate,
        fuse=replay.fuse,
        evaluate=lambda rows: ["A"] * len(rows),
        clinical=clinical,
    )


def test_attempts_give_the_same_run(tmp_path: Path, make: Make, clinical: Clinical, earlier: Perturbed) -> None:
    """A run from stored attempts gives the same variants and attempts."""
    path = tmp_path / "attempts.jsonl"
    jsonl.write(path, earlier.attempts)

    assert again(make(), load_replay(path), clinical) == earlier


def test_variants_give_one_attempt_an_arm(tmp_path: Path, make: Make, clinical: Clinical, earlier: Perturbed) -> None:
    """From stored variants there is one attempt at each arm, with the text that was accepted."""
    path = tmp_path / "variants.jsonl"
    jsonl.write(path, earlier.variants)

    replayed = again(make(), load_replay(path), clinical)

    assert [row.text for row in replayed.variants] == [row.text for row in earlier.variants]
    assert {row.number for row in replayed.attempts} == {1}


def test_an_unknown_background(make: Make) -> None:
    """A background that no stored row has cannot be fused."""
    with pytest.raises(EquipoiseError, match=r"^item i1: no stored text has the background 'x'"):
        Replay([]).fuse([(make(), "x")])


def test_rules_are_the_default_and_ask_no_model(templates: Templates) -> None:
    """The default agents are the rules."""

    def ask(name: str, tokens: int) -> None:
        raise AssertionError((name, tokens))

    generator, fuser = choose_agents(Perturb(), templates, ask)  # type: ignore[arg-type, return-value]

    assert isinstance(generator, RulesGenerator)
    assert fuser is insert


def test_a_models_name_makes_it_the_agent(templates: Templates) -> None:
    """Any other name is a model, asked for three sentences as generator and for a whole vignette as fuser."""
    asked: list[tuple[str, int]] = []

    def ask(name: str, tokens: int) -> object:
        asked.append((name, tokens))
        return lambda messages: ["" for _ in messages]

    generator, fuser = choose_agents(Perturb(generator="smollm2", fuser="other"), templates, ask)  # type: ignore[arg-type]

    assert isinstance(generator, ModelGenerator)
    assert isinstance(fuser, ModelFuser)
    assert asked == [("smollm2", BACKGROUND_TOKENS), ("other", VIGNETTE_TOKENS)]
