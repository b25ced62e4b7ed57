"""Estimate which gender the model associates with an illness and the attitudes to it; check that no fill is missing."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.figures import guards
from equipoise.figures.responses import agreeing
from equipoise.figures.result import Counts, StudyResult
from equipoise.pipeline.rows import contents, options_of, prompts_and_responses
from equipoise.pipeline.run import Run
from equipoise.studies.stigma.effects import missing_fills, stigma_effects
from equipoise.studies.stigma.rows import Fill
from equipoise.studies.stigma.study import STUDY


def measure(run: Run) -> StudyResult:
    """Estimate which gender the model associates with an illness and with the attitudes towards it."""
    prompts, responses = prompts_and_responses(run)
    fills = jsonl.read(run.judgements, Fill)
    require_whole(fills, run.judgements)
    of_replies = guards.reply_guards(STUDY, responses, contents(prompts))
    return StudyResult(
        study=run.study,
        effects=stigma_effects(fills, options_of(run)),
        guards=[
            *(guard for guard in of_replies if guard.name == "copied_results"),
            guards.Guard.of("identical_arms", *identical_fills(fills)),
            guards.unread(fill if fill.female + fill.male else None for fill in fills),
        ],
        counts=Counts.of(responses),
    )


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
