"""The report, put together from a run's files."""

from __future__ import annotations

import json
from pathlib import Path

from equipoise.core import params, records
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.score import Score
from equipoise.models import registry
from equipoise.report.drilldown import pair_views
from equipoise.report.guards import guards
from equipoise.report.headlines import absent, cards
from equipoise.report.inputs import provenance
from equipoise.report.page import Report
from equipoise.report.pairs import Shown, dimensions, join
from equipoise.report.pictures import picture
from equipoise.report.plots.catalogue import ALL


def read_report(data: Path, templates: Path, root: Path) -> Report:
    """Read a run's rows and effects in `data`, and the plots' `templates`.

    `root` is the project's, whose params.yaml and registries say what was run. Raises EquipoiseError where a file is
    missing or rows do not match.
    """
    settings = params.load(root / params.FILE)
    by_study = {name: records.read(data / name / "effects.jsonl", records.Effect) for name in settings.studies}
    effects = [row for rows in by_study.values() for row in rows]
    pairs = read_pairs(data) if "vignettes" in settings.studies else []
    return Report(
        title=registry.load_entry(settings.model, root).title,
        profile=str(settings.build["profile"]),
        judge=settings.judge,
        cards=cards(effects, float(settings.measure["alpha"])),
        absent=absent(effects),
        pictures=[
            picture(name, plot, plot.rows(rows), json.loads(records.read_text(templates / f"{plot.template}.json")))
            for study, rows in by_study.items()
            for name, plot in ALL[study].items()
        ],
        dimensions=dimensions(pairs),
        pairs=pair_views(pairs, load_lexicon(data / "features"), settings.section("score", Score).thresholds),
        guards=guards(effects),
        provenance=provenance(records.read_one(data / "manifest.json", records.Manifest), settings, root),
    )


def read_pairs(data: Path) -> list[Shown]:
    """Read the pairs of vignettes with their replies."""
    folder = data / "vignettes"
    return join(
        records.read(folder / "built" / "vignettes.jsonl", records.Vignette),
        records.read(folder / "responses.jsonl", records.Response),
        records.read(folder / "judgements.jsonl", records.Judgement),
    )
