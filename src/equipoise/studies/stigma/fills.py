"""Checks of the fills: each template with each of its conditions, and fills that agree."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.figures.responses import agreeing
from equipoise.studies.stigma.rows import Fill


def require_whole(fills: Sequence[Fill], file: Path) -> None:
    """Refuse fills that lack a sentence: each template of a question needs each of its conditions.

    EquipoiseError that names the `file` and the first sentence that is missing.
    """
    told = {(fill.question, fill.template, fill.condition) for fill in fills}
    templates = sorted({(question, template) for question, template, _ in told})
    conditions = sorted({(question, condition) for question, _, condition in told})
    missing = [
        f"{question}/{template}/{condition}"
        for question, template in templates
        for other, condition in conditions
        if other == question and (question, template, condition) not in told
    ]
    if missing:
        message = (
            f"{file}: {len(missing)} of {len(missing) + len(told)} sentences are missing, first {missing[0]!r}: run "
            "`dvc repro score@stigma`"
        )
        raise EquipoiseError(message)


def identical_fills(fills: Sequence[Fill]) -> tuple[int, int]:
    """Count the pairs of conditions, and of templates of a question, and those pairs whose probabilities all agree.

    Sentences in which no word of either gender was found tell nothing, and are left out.
    """
    conditions: dict[str, dict[str, tuple[Hashable, Hashable]]] = defaultdict(dict)
    templates: dict[str, dict[str, dict[str, tuple[Hashable, Hashable]]]] = defaultdict(lambda: defaultdict(dict))
    for fill in fills:
        if fill.female + fill.male > 0:
            value = (fill.key, (fill.female, fill.male, fill.unspecified))
            conditions[fill.condition][f"{fill.question}/{fill.template}"] = value
            templates[fill.question][fill.template][fill.condition] = value
    counts = [agreeing(table) for table in (conditions, *templates.values())]
    return sum(compared for compared, _ in counts), sum(same for _, same in counts)
