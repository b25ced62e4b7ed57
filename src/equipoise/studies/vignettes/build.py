"""Build the vignettes, their other case versions and the prompts."""

from rich.console import Console

from equipoise.core import jsonl, stage
from equipoise.core.errors import EquipoiseError
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.facts import facts
from equipoise.studies.vignettes.panel import load_panel, panel_rows
from equipoise.studies.vignettes.profiles import (
    Build,
    build_pairs,
    build_treated,
    build_versions,
    counts,
    counts_table,
    vignette_prompts,
)


def build(run: Run) -> None:
    """Compose the pairs or the panel of the chosen profile, their other case versions, and the prompts about all."""
    settings, library = run.settings.section("build", Build), load_library(run.data / "raw")
    versions: tuple[Vignette, ...] = ()
    if settings.design == "panel":
        rows = panel_rows(library, settings, load_panel(run.data / "raw"))
    else:
        rows = build_pairs(library, settings.profile, settings.level, settings.cue, settings.stories)
        versions = (*build_versions(library, settings), *build_treated(library, settings))
    if settings.treatments and not run.entry.likelihoods:
        message = f"model {run.settings.model!r} gives no likelihoods, by which answers under treatments are read"
        raise EquipoiseError(f"{message}: set build.treatments to []")
    if not run.entry.likelihoods:
        versions = tuple(row for row in versions if not row.is_unreasoned)
    jsonl.write(run.built("vignettes"), rows)
    jsonl.write(run.built("tellings"), versions)
    n = run.entry.generation.samples
    prompts = (prompt for row in (*rows, *versions) for prompt in vignette_prompts(row, settings, n))
    jsonl.write(run.built("prompts"), prompts)
    tell(run, facts)
    stories = len({row.pair for row in rows})
    panel = f"{stories} stories x {len(rows) // stories} versions = {len(rows)} cases"
    with stage.aside():
        Console().print(counts_table(counts(rows)) if settings.design == "pair" else panel)
