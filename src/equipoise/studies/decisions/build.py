"""Compose the pairs whose story asks for decisions, at the level for which these hold, and what is asked of each."""

from equipoise.core import jsonl
from equipoise.materials.stories.endpoints import LEVEL
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.asked import Asked, asked_of, asked_of_import, asked_of_story
from equipoise.studies.decisions.facts import facts
from equipoise.studies.vignettes.panel import (
    Story,
    Telling,
    cases_file,
    load_panel,
    panel_rows,
    telling_prompts,
    tellings,
)
from equipoise.studies.vignettes.profiles import (
    Build,
    build_pairs,
    build_tellings,
    planned,
    vignette_prompts,
)


def build(run: Run) -> None:
    """Compose the pairs whose story asks for decisions, at the level for which these hold, and what is asked of each.

    Of a panel, our stories or imported ones are told of every group instead. The first prompts about ours are those of
    the vignettes, word for word: what has its response in the cache is not asked again.
    """
    settings, library = run.settings.section("build", Build), load_library(run.data / "raw")
    settings = settings.model_copy(update={"level": LEVEL, "stubs": False, "mirrors": False})
    arms: tuple[Vignette, ...] = ()
    others: tuple[Vignette, ...] = ()
    imported: list[Telling] = []
    asked_for: list[Asked] = []
    endpoints, wanted = library.endpoints, library.decisions.values()
    if settings.imported:
        stories = jsonl.read(cases_file(run.data, settings), Story)
        imported = list(tellings(stories, load_panel(run.data / "raw"), run.study))
        asked_for = [row for story in stories for row in asked_of_import(story.key, settings.endpoints, endpoints)]
    elif settings.design == "panel":
        arms = panel_rows(library, settings, load_panel(run.data / "raw"))
        asked_for = [
            row for story in {one.pair: None for one in arms} for row in asked_of_story(story, wanted, endpoints)
        ]
    else:
        arms = build_pairs(library, settings.profile, settings.level, settings.cue)
        others = build_tellings(library, settings)
        asked_for = [
            row
            for pair, _, parts in planned(library, settings.profile, settings.level, settings.cue)
            if parts.level == settings.level
            for row in asked_of(pair, parts, wanted, endpoints)
            if row.grade != "C" or settings.extrapolated
        ]
    chosen = {row.pair for row in asked_for}
    rows, more = (
        [row.model_copy(update={"study": run.study}) for row in told if row.pair in chosen] for told in (arms, others)
    )
    jsonl.write(run.built("vignettes"), rows)
    jsonl.write(run.built("tellings"), more)
    jsonl.write(run.built("imported"), imported)
    jsonl.write(run.built("decisions"), asked_for)
    how = run.entry.generation
    prompts = [prompt for row in (*rows, *more) for prompt in vignette_prompts(row, settings, how.samples)]
    for telling in imported:
        prompts += telling_prompts(telling, settings, tokens=how.reasoning_tokens, samples=how.samples)
    jsonl.write(run.built("prompts"), prompts)
    tell(run, facts)
