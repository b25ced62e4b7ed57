"""The report of an evidence pack in words: verdicts, figures, plan, settings, machine and files, as Markdown.

It repeats all that the pack declares, so that `equipoise verify` finds a declaration that was changed in one place.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from equipoise.compare.leaderboard import flattened
from equipoise.core import jsonl
from equipoise.core.manifest import Manifest
from equipoise.core.params import Params
from equipoise.core.visible import table_row
from equipoise.figures.effects import Effect
from equipoise.figures.figure import Figure, endpoint_kind, headline_effects, shown
from equipoise.figures.look import look, margins
from equipoise.figures.options import Decision, Measure
from equipoise.figures.plain import plain
from equipoise.figures.result import StudyResult
from equipoise.figures.study import Study
from equipoise.models import registry
from equipoise.models.environment import FILE as ENVIRONMENT
from equipoise.models.environment import Environment
from equipoise.pipeline.frozen import level_of, read_plan
from equipoise.pipeline.run import MANIFEST
from equipoise.report.evidence import Pack
from equipoise.report.inputs import every_input

HEADING = ": evidence"
"""The end of a report's first line, after the model's title."""
FIELDS = ("estimate", "ci_low", "ci_high", "neg_log10_p", "neg_log10_p_holm")
"""The columns of a table of figures after the title, the kind and the number of items."""


def in_words(pack: Pack, root: Path, settings: Params, results: Mapping[Study, StudyResult]) -> str:
    """Write the report of the pack whose files are at `root`; `results` are the studies' results with verdicts."""
    manifest = jsonl.read_one(root / "data" / MANIFEST, Manifest)
    entry = registry.load_entry(settings.model, root)
    environment = jsonl.read_one(root / "data" / ENVIRONMENT, Environment)
    inputs = [
        (row.path, row.title, row.licence, row.source, row.sha256) for row in every_input(manifest, settings, root)
    ]
    lines = [
        f"# {entry.title}{HEADING}",
        *(line for study, result in results.items() for line in _study(study, result, settings)),
        *_plan(root / "data", settings),
        *_facts("Code and dates", pack.model_dump(mode="json", exclude={"files", "form"})),
        *_facts("Settings", settings.model_dump(mode="json")),
        *_facts("Model", {"entry": entry.model_dump(mode="json"), "manifest": manifest.written()}),
        *_facts("Environment", environment.model_dump(mode="json")),
        *_table("Inputs", ("file", "title", "licence", "source", "sha256"), inputs),
        *_table("Files", ("file", "sha256"), sorted(pack.files.items())),
    ]
    return "\n".join(lines) + "\n"


def _study(study: Study, result: StudyResult, settings: Params) -> Iterator[str]:
    """Say what a study found and its verdict, with every headline figure."""
    options, decision = settings.section("measure", Measure), settings.section("decision", Decision)
    told = look(study, result, decision.applied(options))
    yield from ("", f"## {study.title}", "", study.question, "", plain(study, result, told))
    if result.verdict is not None:
        yield from ("", f"**{result.verdict.sentence}**", "", f"Margins: {margins(result.verdict)}.")
    rows = [_figure(figure, row) for figure, row in headline_effects(result.effects, study.figures)]
    yield from _rows(("figure", "endpoint", "n", *FIELDS), rows)


def _figure(figure: Figure, row: Effect) -> tuple[str, ...]:
    values = ((name, getattr(row, name)) for name in FIELDS)
    numbers = ("" if value is None else str(shown(figure, name, value)) for name, value in values)
    return (figure.title, endpoint_kind(row), str(row.n), *numbers)


def _plan(data: Path, settings: Params) -> Iterator[str]:
    """Repeat the frozen plan with its digest, and what the settings declare."""
    declared = settings.section("decision", Decision).endpoints
    plan = read_plan(data)
    frozen = {"frozen": None} if plan is None else {"digest": plan.digest, **plan.model_dump(mode="json")}
    endpoints = {
        name: endpoint.model_dump(mode="json") for name, endpoint in declared.items() if name in settings.studies
    }
    yield from _facts("Plan", {**frozen, "level": level_of(settings), "endpoints": endpoints})


def _facts(title: str, values: Mapping[str, object]) -> Iterator[str]:
    return _table(title, ("name", "value"), [(name, jsonl.dumps(value)) for name, value in flattened(values).items()])


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Iterator[str]:
    yield from ("", f"## {title}")
    yield from _rows(columns, rows)


def _rows(columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Iterator[str]:
    yield from ("", _row(columns), _row("---" for _ in columns))
    yield from map(_row, rows)


def _row(cells: Iterable[str | None]) -> str:
    return table_row(" ".join((cell or "").split()) for cell in cells)
