"""Compose the pairs of the chosen profile, their other tellings, and the prompts that ask about all; or a panel."""

from rich.console import Console

from equipoise.core import jsonl, stage
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.facts import facts
from equipoise.studies.vignettes.panel import (
    load_panel,
    panel_rows,
)
from equipoise.studies.vignettes.profiles import (
    Build,
    build_pairs,
    build_tellings,
    counts,
    counts_table,
    vignette_prompts,
)


def build(run: Run) -> None:
    """Compose the pairs of the chosen profile, their other tellings, and the prompts that ask about all; or a panel."""
    settings, library = run.settings.section("build", Build), load_library(run.data / "raw")
    tellings: tuple[Vignette, ...] = ()
    if settings.design == "panel":
        rows = panel_rows(library, settings, load_panel(run.data / "raw"))
    else:
        rows = build_pairs(library, settings.profile, settings.level, settings.cue)
        tellings = build_tellings(library, settings)
    if not run.entry.likelihoods:
        tellings = tuple(row for row in tellings if not row.is_stub)
    jsonl.write(run.built("vignettes"), rows)
    jsonl.write(run.built("tellings"), tellings)
    n = run.entry.generation.samples
    asked_of = (vignette_prompts(row, settings, n) for row in (*rows, *tellings))
    jsonl.write(run.built("prompts"), [prompt for prompts in asked_of for prompt in prompts])
    tell(run, facts)
    stories = len({row.pair for row in rows})
    told = f"{stories} stories x {len(rows) // stories} tellings = {len(rows)} cases"
    with stage.aside():
        Console().print(counts_table(counts(rows)) if settings.design == "pair" else told)
