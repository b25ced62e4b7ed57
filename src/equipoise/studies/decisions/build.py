"""Build the cases that decisions are about, the decisions and the first prompts."""

from equipoise.core import jsonl
from equipoise.materials.stories.endpoints import LEVEL
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.facts import facts
from equipoise.studies.decisions.rows import CaseDecision, imported_decisions, pair_decisions, panel_decisions
from equipoise.studies.vignettes.panel import (
    Story,
    StoryVersion,
    cases_file,
    load_panel,
    panel_rows,
    story_versions,
    version_prompts,
)
from equipoise.studies.vignettes.profiles import Build, build_pairs, build_versions, profile_pairs, vignette_prompts


def build(run: Run) -> None:
    """Compose the pairs whose story asks for decisions, at the level for which the decisions are defined.

    A panel instead has a version of every story, authored or imported, for each group. The first prompts about authored
    stories are identical to those of the vignettes, so that cached responses are used.
    """
    settings, library = run.settings.section("build", Build), load_library(run.data / "raw")
    settings = settings.model_copy(update={"level": LEVEL, "stubs": False, "mirrors": False})
    arms: tuple[Vignette, ...] = ()
    others: tuple[Vignette, ...] = ()
    imported: list[StoryVersion] = []
    decisions: list[CaseDecision] = []
    endpoints, wanted = library.endpoints, library.decisions.values()
    if settings.imported:
        stories = jsonl.read(cases_file(run.data, settings), Story)
        imported = list(story_versions(stories, load_panel(run.data / "raw"), run.study))
        decisions = [row for story in stories for row in imported_decisions(story.key, settings.endpoints, endpoints)]
    elif settings.design == "panel":
        arms = panel_rows(library, settings, load_panel(run.data / "raw"))
        settings_of = {row.pair: row.setting for row in arms}
        decisions = [
            row for story, place in settings_of.items() for row in panel_decisions(story, place, wanted, endpoints)
        ]
    else:
        arms = build_pairs(library, settings.profile, settings.level, settings.cue, settings.stories)
        others = build_versions(library, settings)
        decisions = [
            row
            for pair, _, parts in profile_pairs(
                library, settings.profile, settings.level, settings.cue, settings.stories
            )
            if parts.level == settings.level
            for row in pair_decisions(pair, parts, wanted, endpoints)
            if row.grade != "C" or settings.extrapolated
        ]
    chosen = {row.pair for row in decisions}
    arms, others = (
        tuple(row.model_copy(update={"study": run.study}) for row in rows if row.pair in chosen)
        for rows in (arms, others)
    )
    jsonl.write(run.built("vignettes"), arms)
    jsonl.write(run.built("tellings"), others)
    jsonl.write(run.built("imported"), imported)
    jsonl.write(run.built("decisions"), decisions)
    how = run.entry.generation
    prompts = [prompt for row in (*arms, *others) for prompt in vignette_prompts(row, settings, how.samples)]
    for version in imported:
        prompts += version_prompts(version, settings, tokens=how.reasoning_tokens, samples=how.samples)
    jsonl.write(run.built("prompts"), prompts)
    tell(run, facts)
