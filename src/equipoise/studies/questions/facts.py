"""The facts about the questions that a phantom answers from: the right option, and the group of the patient."""

from itertools import product

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.materials.questions import ATTRIBUTES, GROUPS
from equipoise.pipeline.phantoms import in_orders
from equipoise.pipeline.run import Run
from equipoise.studies.questions.rows import Neutralized
from equipoise.studies.questions.variants.agents import Perturb
from equipoise.studies.questions.variants.loop import ATTACK

DIMENSIONS = {"race": "race", "gender": "gender", "ses": "socioeconomic"}
"""The dimension of the vignettes that each attribute corresponds to."""


def facts(run: Run) -> list[Fact]:
    """List the facts about every arm of every item: the evaluator of later attempts asks before there are variants."""
    rows: list[Fact] = []
    runs = (0, 1) if run.settings.section("perturb", Perturb).attempts > 1 else ()
    for item in jsonl.each(run.built("neutralised"), Neutralized):
        plain = Fact(
            key=f"{item.key}/neutral",
            study=run.study,
            task="choice",
            question=item.key,
            right=item.gold,
            answers=tuple(item.options),
        )
        rows += [*in_orders(plain), *in_orders(plain.model_copy(update={"key": f"{item.key}/original"}))]
        for attribute in ATTRIBUTES:
            for group, direction in product(GROUPS[attribute], ("favourable", "unfavourable")):
                arm = {
                    "key": f"{item.key}/{attribute}/{group}/{direction}",
                    "dimensions": {DIMENSIONS[attribute]: GROUPS[attribute][group]},
                    "marginalised": group == "unprivileged",
                    "direction": direction,
                }
                rows += in_orders(plain.model_copy(update=arm))
                for number in runs:
                    rows += in_orders(plain.model_copy(update=arm | {"key": f"{arm['key']}{ATTACK}{number}"}))
    return rows
