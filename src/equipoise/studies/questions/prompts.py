"""The prompts of the questions, and the evaluator of their variants."""

from collections.abc import Callable, Iterable, Sequence

from equipoise.core.prompts import Prompt, Response
from equipoise.materials.orders import Asking, choices, option_prompts
from equipoise.studies.questions.rows import Neutralized, Variant
from equipoise.studies.questions.variants.agents import Evaluate
from equipoise.text.sentences import final_question


def question_prompts(
    variants: Sequence[Variant], items: Sequence[Neutralized], asking: Asking, half: int | None = None
) -> list[Prompt]:
    """Ask each variant in every order of its options, or in one half of the orders (0 or 1).

    The variants of an item share the neutral vignette up to its final question as their stem.
    """
    by_key = {item.key: item for item in items}
    prompts: list[Prompt] = []
    for variant in variants:
        neutral = by_key[variant.item].neutral
        stem = neutral[: final_question(neutral).start].rstrip()
        in_orders = option_prompts(variant.key, variant.study, variant.text, variant.options, asking)
        if variant.text.startswith(stem):
            in_orders = [prompt.model_copy(update={"stem": stem}) for prompt in in_orders]
        prompts += in_orders if half is None else in_orders[half::2]
    return prompts


def evaluator(
    items: Sequence[Neutralized],
    asking: Asking,
    ask: Callable[[Sequence[Prompt]], Iterable[Response]],
    half: int | None = None,
) -> Evaluate:
    """Make the Evaluation agent of a model: `ask` answers prompts, and the agent returns the options it chose.

    Each variant is asked in every order of its options, or in one half of the orders.
    """

    def letters(variants: Sequence[Variant]) -> list[str | None]:
        responses = ask(question_prompts(variants, items, asking, half))
        read = choices(responses, {variant.key: variant.options for variant in variants})
        return [choice.letter for choice in read]

    return letters
