"""`equipoise models`: the models of the registry, what each needs here, and the commit of its weights."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from equipoise.backends.base import Infer
from equipoise.cli import completing, printing
from equipoise.cli.printing import AsJson, written
from equipoise.core import cache, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.core.records import read_text, write_text
from equipoise.models import hub, registry
from equipoise.models.readiness import Machine, estimate, export_gb, fetch_gb, missing, run_gb
from equipoise.models.registry import AnyEntry, ModelHubSource, OnnxEntry, WeightsEntry

UNPINNED = re.compile(r"^(?P<before>[^#\n]*\brevision:[ \t]*)(?:null|~)(?=[ \t]*(?:[,}#]|$))", re.MULTILINE)
"""The one line of an entry that pinning changes."""


def models(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a model.")] = False,
) -> None:
    """List the models of the registry: what is ready on this machine, and what is missing."""
    if context.invoked_subcommand:
        return
    rows = rows_of(Path(), Machine())
    if as_json:
        for row in rows:
            printing.print_json(row)
        return
    _show(rows)


def rows_of(root: Path, machine: Machine) -> list[dict[str, Any]]:
    """Describe every model of a project's registry, ready or not."""
    batch_size = params.load(root / params.FILE).section("infer", Infer).batch_size
    store = cache.folder() / "models"
    rows = []
    known = registry.names(root / registry.FOLDER)
    with progress("models") as move:
        for name in known:
            entry = registry.load_entry(name, root)
            faults = missing(name, entry, root=cache.root(), store=store, rows=batch_size, machine=machine)
            rows.append(_row(name, entry, batch_size) | {"ready": not faults, "missing": faults})
            move(len(rows), len(known))
    return rows


def _row(name: str, entry: AnyEntry, batch_size: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "title": entry.title,
        "backend": entry.backend,
        "licence": entry.licence,
        "likelihoods": entry.likelihoods,
        "needs": estimate(entry, batch_size),
    }
    if isinstance(entry, WeightsEntry):
        source = entry.source
        gigabytes = {"fetch": fetch_gb(entry), "run": run_gb(entry, batch_size)}
        gigabytes |= {"export": export_gb(entry)} if isinstance(entry, OnnxEntry) else {}
        row |= {
            "parameters": entry.parameters,
            "context": entry.context,
            "gated": isinstance(source, ModelHubSource) and source.gated,
            "source": source.model_dump(mode="json", exclude={"gated"}),
            "gigabytes": {what: round(size, 1) for what, size in gigabytes.items()},
        }
    return row


def _show(rows: list[dict[str, Any]]) -> None:
    """Print one line for each model, and below the table what each lacks."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("model", no_wrap=True)
    table.add_column("size", justify="right")
    table.add_column("backend")
    for column in ("fetch, GB", "memory, GB"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("ready")
    table.add_column("licence")
    for row in rows:
        sizes = row.get("gigabytes", {})
        memory = max(sizes.get("run", 0.0), sizes.get("export", 0.0))
        figures = (f"{sizes['fetch']:.1f}", f"{memory:.1f}") if sizes else ("", "")
        cells = (row["name"], row.get("parameters", ""), row["backend"], *figures)
        table.add_row(*cells, "yes" if row["ready"] else "no", row["licence"])
    printing.show(table, *(f"{row['name']}: {fault}" for row in rows for fault in row["missing"]))


class Pinned(NamedTuple):
    """A model's registry entry with the commit of its weights; `new` says that this was written just now."""

    path: Path
    repo: str
    revision: str
    new: bool


def pin(
    name: Annotated[
        str, typer.Argument(help="The model: the stem of a file in models/.", autocompletion=completing.models)
    ],
    *,
    newest: Annotated[
        bool, typer.Option("--newest", help="Pin the hub's current commit, not the one used here.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the commit that runs here used, or else the one that the hub has now, into a model's registry entry."""
    with progress("pin"):
        path, repo, revision, new = pin_entry(name, Path(), hub.commit if newest else partial(_used, name))
    note = "" if new else " already; set revision to null to pin it again"
    made = written({path: 1} if new else {}, model=name, repo=repo, revision=revision)
    printing.report(made, f"{path}: {repo} is pinned to {revision}{note}", as_json=as_json)


def pin_entry(name: str, root: Path, commit: Callable[[str], str]) -> Pinned:
    """Pin a model of a project's registry to the commit that `commit` finds for its repository.

    The file keeps its comments: one value is changed. A pinned model stays as it is.
    """
    path = registry.entry_path(name, root / registry.FOLDER)
    entry = registry.load_entry(name, root)
    source = getattr(entry, "source", None)
    if not isinstance(source, ModelHubSource):
        raise EquipoiseError(f"{path}: the entry names no weights of the hub: nothing to pin")
    if source.revision:
        return Pinned(path, source.repo, source.revision, new=False)
    text = read_text(path)
    if len(UNPINNED.findall(text)) != 1:
        raise EquipoiseError(f"{path}: no single line `revision: null` to change: write one")
    revision = commit(source.repo)
    write_text(path, UNPINNED.sub(rf"\g<before>{revision}", text))
    return Pinned(path, source.repo, revision, new=True)


def _used(name: str, repo: str) -> str:
    """Give the commit that runs of a model used on this machine, or else the current one of its repository."""
    return hub.used(name, repo, cache.folder() / "models") or hub.commit(repo)
