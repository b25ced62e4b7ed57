"""`equipoise models`: the models of the registry, what each needs here, and the commit of its weights."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Table

from equipoise.backends.base import Infer
from equipoise.cli import completing
from equipoise.core import cache, params, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, write_text
from equipoise.core.keys import grouped
from equipoise.core.printing import AsJson, written
from equipoise.core.progress import progress
from equipoise.models import hub, registry
from equipoise.models.readiness import (
    Machine,
    estimate,
    export_gb,
    fetch_gb,
    find_lacks,
    find_misfits,
    run_gb,
    token_seconds,
)
from equipoise.models.registry import AnyEntry, ModelHubSource, OnnxEntry, WeightsEntry

UNPINNED = re.compile(r"^(?P<before>[^#\n]*\brevision:[ \t]*)(?:null|~)(?=[ \t]*(?:[,}#]|$))", re.MULTILINE)
"""The one line of an entry that pinning changes."""
SIZES, IN_GB = ("size", "fetch", "memory"), "fetch and memory in GB"


def models(
    context: typer.Context,
    *,
    fits: Annotated[
        bool,
        typer.Option(
            "--fits", help="List the models whose weights fit this machine, fastest first, and why others don't."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per model.")] = False,
) -> None:
    """List models: first those that can run here, then the others with what each is missing."""
    if context.invoked_subcommand:
        return
    rows = fitting(Path(), Machine()) if fits else rows_of(Path(), Machine())
    if as_json:
        for row in rows:
            printing.print_json(row)
        return
    if fits:
        _show_fitting(rows)
    else:
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
            lacks = find_lacks(name, entry, root=cache.root(), store=store, rows=batch_size, machine=machine)
            kinds = list(dict.fromkeys(lack.kind for lack in lacks))
            state = {"ready": not lacks, "lacks": kinds, "missing": [lack.fix for lack in lacks]}
            rows.append(_row(name, entry, batch_size) | state)
            move(len(rows), len(known))
    return rows


def fitting(root: Path, machine: Machine) -> list[dict[str, Any]]:
    """Describe the models with weights: those that fit this machine's memory, disk and GPUs first, fastest first."""
    batch_size = params.load(root / params.FILE).section("infer", Infer).batch_size
    store = cache.folder() / "models"
    rows = []
    for name in registry.names(root / registry.FOLDER):
        entry = registry.load_entry(name, root)
        if isinstance(entry, WeightsEntry):
            lacks = find_misfits(name, entry, store=store, rows=batch_size, machine=machine)
            state = {"fits": not lacks, "token_seconds": token_seconds(entry, machine), "why": lacks and lacks[0].fix}
            rows.append(_row(name, entry, batch_size) | state)
    return sorted(rows, key=lambda row: (not row["fits"], row["token_seconds"]))


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
    """Print the models that run here, phantoms last, then the others with what each lacks and how to get it."""
    ready = sorted((row for row in rows if row["ready"]), key=lambda row: row["backend"] == "phantom")
    others = [row for row in rows if not row["ready"]]
    shown: list[Table | str] = []
    for title, part, last in (("Ready here", ready, "licence"), ("Not ready here", others, "lacks")):
        columns = ("model", "backend", last, *SIZES)
        table = printing.plain_table(f"{title} ({len(part)}), {IN_GB}", columns, left=3, gap=2)
        for row in part:
            fetch, memory = _needed(row)
            state = ", ".join(row["lacks"]) or row["licence"]
            table.add_row(row["name"], row["backend"], state, row.get("parameters", ""), fetch, memory)
        shown += [table, ""] if part else []
    faults = grouped((fault, row["name"]) for row in others for fault in row["missing"])
    lines = [f"{', '.join(names)}: {fault}" for fault, names in faults.items()]
    printing.show(*shown, *(lines or ["Run one: dvc exp run -S model=NAME"]))


def _show_fitting(rows: list[dict[str, Any]]) -> None:
    """Print the models that fit, then the others by why they do not."""
    here = [row for row in rows if row["fits"]]
    columns = ("model", "backend", *SIZES, "ms/token (est.)")
    table = printing.plain_table(f"Fit here, fastest first ({len(here)}), {IN_GB}", columns, left=2, gap=2)
    for row in here:
        fetch, memory = _needed(row)
        table.add_row(
            row["name"], row["backend"], row["parameters"], fetch, memory, f"{1000 * row['token_seconds']:.0f}"
        )
    others = [row for row in rows if not row["fits"]]
    faults = grouped((row["why"], row["name"]) for row in others)
    lines = [f"{', '.join(names)}: {fault}" for fault, names in faults.items()]
    printing.show(table, *(["", f"Do not fit here ({len(others)})"] if others else []), *lines)


def _needed(row: dict[str, Any]) -> tuple[str, str]:
    """Write what a model needs on disk and in memory; empty without weights."""
    sizes = row.get("gigabytes")
    return (f"{sizes['fetch']:.1f}", f"{max(sizes['run'], sizes.get('export', 0.0)):.1f}") if sizes else ("", "")


class Pinned(NamedTuple):
    """A model's registry entry with the commit of its weights; `new` says that this was written just now."""

    path: Path
    repo: str
    revision: str
    new: bool


def pin(
    name: Annotated[
        str,
        typer.Argument(
            help="A model: the name of a file in models/ without its extension.", autocompletion=completing.models
        ),
    ],
    *,
    newest: Annotated[
        bool, typer.Option("--newest", help="Pin the hub's current commit instead of the one used here.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Pin a model's weights in its registry entry: to the commit used here, or else to the hub's current one."""
    with progress("pin"):
        path, repo, revision, new = pin_entry(name, Path(), hub.commit if newest else partial(_used, name))
    note = "" if new else " already; set revision to null to pin it again"
    made = written({path: 1} if new else {}, model=name, repo=repo, revision=revision)
    printing.report(made, f"{path}: {repo} is pinned to {revision}{note}", as_json=as_json)


def pin_entry(name: str, root: Path, commit: Callable[[str], str]) -> Pinned:
    """Pin an entry without a commit to the one that `commit` finds for its repository; comments stay."""
    path = registry.entry_path(name, root / registry.FOLDER)
    entry = registry.load_entry(name, root)
    source = getattr(entry, "source", None)
    if not isinstance(source, ModelHubSource):
        raise EquipoiseError(f"{path}: the weights do not come from the Hugging Face Hub: nothing to pin")
    if source.revision:
        return Pinned(path, source.repo, source.revision, new=False)
    text = read_text(path)
    if len(UNPINNED.findall(text)) != 1:
        raise EquipoiseError(f"{path}: needs exactly one line `revision: null` to replace: correct the file")
    revision = commit(source.repo)
    write_text(path, UNPINNED.sub(rf"\g<before>{revision}", text))
    return Pinned(path, source.repo, revision, new=True)


def _used(name: str, repo: str) -> str:
    """Give the commit that runs of a model used on this machine, or else the current one of its repository."""
    return hub.last_commit(name, repo, cache.folder() / "models") or hub.commit(repo)
