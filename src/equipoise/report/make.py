"""The report, put together from a run's files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from equipoise.core import params, records
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.score import Score
from equipoise.models import registry
from equipoise.report.drilldown import pair_views
from equipoise.report.guards import guards
from equipoise.report.headlines import absent, cards
from equipoise.report.page import Report
from equipoise.report.pairs import dimensions, join
from equipoise.report.pictures import picture
from equipoise.report.plots.catalogue import ALL
from equipoise.report.provenance import provenance

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.report.pairs import Shown


def read_report(data: Path, templates: Path, root: Path) -> Report:
    """Read a run's rows and effects in `data`, and the plots' `templates`.

    `root` is the project's, whose params.yaml and registries say what was run. Raises EquipoiseError where a file is
    missing or rows do not match.
    """
    settings = params.load(root / params.FILE)
    effects = records.read(data / "effects.jsonl", records.Effect)
    pairs = read_pairs(data)
    return Report(
        title=registry.load_entry(settings.model, root).title,
        profile=str(settings.build["profile"]),
        judge=settings.judge,
        cards=cards(effects, float(settings.measure["alpha"])),
        absent=absent(effects),
        pictures=[
            picture(name, plot.layout(effects), json.loads(records.read_text(templates / f"{plot.template}.json")))
            for name, plot in ALL.items()
        ],
        dimensions=dimensions(pairs),
        pairs=pair_views(pairs, load_lexicon(data / "features"), settings.section("score", Score).thresholds),
        guards=guards(effects),
        provenance=provenance(records.read_one(data / "manifest.json", records.Manifest), settings, root),
    )


def read_pairs(data: Path) -> list[Shown]:
    """Read the pairs of vignettes with their replies; a model that answered no vignette has none."""
    responses = [one for one in records.each(data / "responses.jsonl", records.Response) if one.study == "vignettes"]
    if not responses:
        return []
    return join(
        records.read(data / "vignettes.jsonl", records.Vignette),
        responses,
        records.read(data / "judgements.jsonl", records.Judgement),
    )
