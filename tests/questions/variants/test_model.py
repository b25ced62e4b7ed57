"""Agents with a model behind them: what the model is told, and what is made of its replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from equipoise.questions.rows import Attempt, Neutralised
from equipoise.questions.variants.agents import Arm, Request
from equipoise.questions.variants.models import ModelFuser, ModelGenerator
from equipoise.questions.variants.templates import Templates

Make = Callable[..., Neutralised]
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
    """The model is told question, options, the right one, group and aim, and no feedback at first."""
    model = Model(" One.\nTwo. Three. \n")
    item = make()

    actual = ModelGenerator(model, templates.generation).generate(item, *ARM, [])

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


def test_feedback_is_told(make: Make, failed: Failed, templates: Templates) -> None:
    """Each earlier attempt is told with its text, the evaluator's answer and the rules it broke."""
    model = Model("x")
    feedback = [
        failed(1, background="Uno.", answer="C"),
        failed(2, background="Due.", answer=None, violations=("numerals",)),
    ]

    ModelGenerator(model, templates.generation).generate(make(), *ARM, feedback)

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
    requests = [Request(make(key=key), ARM, ()) for key in "abc"]

    ModelGenerator(model, templates.generation).generate_all(requests)
    ModelFuser(model, templates.fusion).fuse_all([(request.item, "b") for request in requests])

    assert [len(call) for call in model.calls] == [3, 3]


def test_fusion_prompt(make: Make, templates: Templates) -> None:
    """The model is given vignette and background, and the sentence with which the text must end."""
    model = Model(" Text. ")

    actual = ModelFuser(model, templates.fusion).fuse(make("A patient limps. What is best?"), "B{question}.")

    assert actual == "Text."
    user = model.calls[0][0][1]
    assert "A patient limps. What is best?" in user
    # braces in what is filled in are left alone
    assert "B{question}." in user
    assert "word for word: What is best?" in user


def test_evaluation_prompt(templates: Templates) -> None:
    """The evaluator sees the question and its lettered options."""
    system, user = templates.evaluation.ask("Which?", {"A": "one", "B": "two"})

    assert system == templates.evaluation.system
    assert user.startswith("Which?\n\nA. one\nB. two\n\n")
