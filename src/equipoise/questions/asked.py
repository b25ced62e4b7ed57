"""Multiple-choice questions put to a model, and the letter read from what it answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Prompt, Response, Study
from equipoise.questions.rows import Choice, Item, Neutralised, Variant
from equipoise.questions.variants.agents import Evaluate
from equipoise.questions.variants.templates import EvaluationPrompt
from equipoise.text.letters import read_letter
from equipoise.text.sentences import final_question

Answering = Literal["likelihood", "generate"]
PREFIX = "Answer:"
"""How the reply begins where the letter is read from likelihoods."""
EXAM = "/exam"
"""Ending of the key of a question that is asked unchanged."""


def question_prompt(variant: Variant, item: Neutralised, template: EvaluationPrompt, answering: Answering) -> Prompt:
    """Ask one variant's question.

    The neutral vignette up to its final question is the stem that the item's variants share.
    """
    stem = item.neutral[: final_question(item.neutral).start].rstrip()
    prompt = _prompt(variant.key, variant.study, variant.text, variant.options, template, answering)
    return prompt.model_copy(update={"stem": stem}) if variant.text.startswith(stem) else prompt


def exam_prompt(item: Item, template: EvaluationPrompt, answering: Answering) -> Prompt:
    """Ask an item's question unchanged, demographics included."""
    return _prompt(f"{item.key}{EXAM}", "exam", item.question, item.options, template, answering)


def _prompt(
    key: str, study: Study, text: str, options: Mapping[str, str], template: EvaluationPrompt, answering: Answering
) -> Prompt:
    """By likelihood, each letter is a candidate after `Answer:` and nothing is generated; else the model replies."""
    system, user = template.ask(text, options)
    by_likelihood = answering == "likelihood"
    return Prompt(
        key=key,
        study=study,
        system=system,
        prefix=PREFIX if by_likelihood else "",
        turns=(user,),
        candidates=tuple(options) if by_likelihood else (),
        reply=not by_likelihood,
    )


def letter_of(response: Response, options: Mapping[str, str]) -> str | None:
    """Read the letter of a response: parsed from its reply if there is one, else the likeliest (ties: the first)."""
    if response.replies:
        return read_letter(response.replies[-1], options).letter
    if not response.log_likelihood:
        raise EquipoiseError(f"response {response.key!r} has neither a reply nor likelihoods: ask the model again")
    return min(response.log_likelihood, key=lambda letter: (-response.log_likelihood[letter], letter))


def letters(responses: Iterable[Response], options: Mapping[str, Mapping[str, str]]) -> Iterator[Choice]:
    """Read the letter of every response as it comes; `options` are those of its question, by key."""
    for row in responses:
        yield Choice(key=row.key, study=row.study, letter=letter_of(row, options.get(row.key, {})))


def question_prompts(
    variants: Sequence[Variant], items: Sequence[Neutralised], template: EvaluationPrompt, answering: Answering
) -> list[Prompt]:
    """Give the prompt of each variant."""
    by_key = {item.key: item for item in items}
    return [question_prompt(variant, by_key[variant.item], template, answering) for variant in variants]


def evaluator(
    items: Sequence[Neutralised],
    template: EvaluationPrompt,
    answering: Answering,
    ask: Callable[[Sequence[Prompt]], Iterable[Response]],
) -> Evaluate:
    """Make the Evaluation agent of a model: `ask` answers prompts, and the agent gives the letters it chose."""

    def letters(variants: Sequence[Variant]) -> list[str | None]:
        responses = ask(question_prompts(variants, items, template, answering))
        return [letter_of(response, variant.options) for response, variant in zip(responses, variants, strict=True)]

    return letters
