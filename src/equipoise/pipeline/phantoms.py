"""The facts that a phantom, a model of known bias, needs about the prompts of a study: which answer is which."""

from collections.abc import Callable, Iterable

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.core.keys import numbered
from equipoise.materials.orders import shown
from equipoise.materials.stories.library import load_library
from equipoise.models.registry import PhantomEntry, require_dimensions
from equipoise.pipeline.run import Run


def tell(run: Run, facts: Callable[[Run], Iterable[Fact]]) -> None:
    """Write the facts about a study's prompts for a phantom; no other model needs them."""
    if isinstance(run.entry, PhantomEntry):
        require_dimensions(run.settings.model, run.entry, load_library(run.data / "raw").dimensions)
        jsonl.write(run.built("facts"), facts(run))


def in_orders(fact: Fact) -> list[Fact]:
    """Give the facts about a question in every order of its options."""
    letters = {letter: letter for letter in fact.answers}
    return [
        fact.model_copy(update={"key": numbered(fact.key, shift), "answers": tuple(shown(letters, shift).values())})
        for shift in range(len(letters))
    ]
