"""Checks of the fills: missing sentences, and fills that agree."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.figures.responses import agreeing
from equipoise.studies.stigma.effects import missing_fills
from equipoise.studies.stigma.rows import Fill


def require_whole(fills: Sequence[Fill], file: Path) -> None:
    """Refuse fills that lack a sentence; EquipoiseError names the `file` and the first missing sentence."""
    if missing := missing_fills(fills):
        message = (
            f"{file}: {len(missing)} of {len(missing) + len(fills)} sentences are missing, first {missing[0]!r}: run "
            "`dvc repro score@stigma`"
        )
        raise EquipoiseError(message)


def identical_fills(fills: Sequence[Fill]) -> tuple[int, int]:
    """Count the pairs of conditions, and of templates of a question; then those whose probabilities all agree.

    Sentences without a word of either gender are left out.
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
