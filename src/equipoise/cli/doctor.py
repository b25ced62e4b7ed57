"""`equipoise doctor`: caches, weights, exports, environment and the state of DVC checked, each fault with its fix."""

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from equipoise.core import cache, jsonl, params, printing
from equipoise.core.display import few, first_of
from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.manifest import Manifest
from equipoise.core.progress import progress
from equipoise.core.system import cores
from equipoise.core.visible import line
from equipoise.models import hub, places, registry
from equipoise.models.readiness import Machine, find_fixes
from equipoise.models.registry import EmbeddedSource, FileSource, JudgeEntry, ModelHubSource, WeightsEntry
from equipoise.models.weights import locate
from equipoise.pipeline.ready import refresh

State = Literal["ok", "note", "wrong"]
CONSTRAINTS = Path("requirements/constraints.txt")
RUN = re.compile(r"""(;| and) extra == ["']run["']""")
"""How the metadata of a package mark what the pipeline needs."""
TESTED = ((3, 11), (3, 13))
"""The oldest and the newest Python that the tests run on."""
ONNX_BUILDS = ("onnxruntime", "onnxruntime-gpu")
LEAST_DISK = 1.0
"""Free disk in GB below which a run may not finish."""
IDLE = 600.0
"""Seconds after which a temporary file without the number of a process belongs to none."""
TEMPORARY = re.compile(r"\.[^/]+\.(?:[0-9a-f]{16}|(?P<process>\d+))|\.export-(?:(?P<exporter>\d+)-)?\w+")
"""Names of what is written before it gets its name: files, caches and exports, the last two by process."""
EXPORT = "dvc repro --force export"
RUNNING = "is running: run `equipoise doctor` again when it has ended"
WRITTEN = ("", "data", "metrics", "models", "plots", "report", ".cache")
"""Folders in which temporary files are left by a kill."""


class Finding(NamedTuple):
    """What one check found: the area, the thing that was checked, and what holds of it, with the fix of a fault."""

    area: str
    state: State
    message: str


class Leftover(NamedTuple):
    """A temporary file or folder; `live` where the process that writes it may still run."""

    path: Path
    live: bool


def doctor(
    *,
    clean: Annotated[bool, typer.Option("--clean", help="Remove what killed runs left behind.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: every finding.")] = False,
) -> None:
    """Check caches, weights, exports, environment and DVC's state, and say how to fix what is wrong.

    The exit code is 1 if something is wrong. Notes are informational, such as a missing optional file or an untested
    version.
    """
    with progress("doctor") as move:
        findings: list[Finding] = []
        for done, check in enumerate(CHECKS):
            move(done, len(CHECKS))
            findings += _guarded(check, clean=clean)
    wrong = sum(finding.state == "wrong" for finding in findings)
    lines = (f"{finding.state:<5}  {finding.area}: {finding.message}" for finding in findings)
    total = f"{len(findings)} findings, {wrong} wrong"
    printing.report(
        {"findings": [finding._asdict() for finding in findings], "wrong": wrong}, *lines, total, as_json=as_json
    )
    if wrong:
        raise typer.Exit(1)


def _guarded(check: Callable[..., Iterator[Finding]], *, clean: bool) -> Iterator[Finding]:
    """Run one check; what keeps it from its end is a finding too, and the other checks go on."""
    area = check.__name__
    try:
        yield from check(Path(), clean=clean)
    except EquipoiseError as error:
        yield Finding(area, "wrong", str(error))
    except OSError as error:
        yield Finding(area, "wrong", f"{one_line(error)}: fix the permissions, then run again")


def environment(root: Path, **_: bool) -> Iterator[Finding]:
    """Check Python, the packages that we name, and the machine."""
    version = sys.version_info[:2]
    python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
    low, high = (".".join(map(str, bound)) for bound in TESTED)
    tested = TESTED[0] <= version <= TESTED[1]
    fix = "" if tested else f": tested only with {low} to {high}: create the environment with one of these"
    yield Finding("environment", "ok" if tested else "note", f"{python}{fix}")
    yield from packages(root / CONSTRAINTS, metadata.requires("equipoise") or [])
    yield from builds([name for name in ONNX_BUILDS if any(metadata.distributions(name=name))])
    machine = Machine()
    memory = machine.memory()
    size = "unknown" if memory is None else f"{memory:.1f} GB"
    yield Finding("environment", "ok", f"{cores()} cores, memory: {size}")
    free = machine.disk(cache.folder())
    short = free < LEAST_DISK
    fix = f": a run needs {LEAST_DISK:g} GB: free space" if short else ""
    yield Finding("environment", "wrong" if short else "ok", f"{free:.1f} GB of disk free{fix}")


def packages(constraints: Path, required: list[str]) -> Iterator[Finding]:
    """Compare the packages that are required with the versions that were tested together."""
    text = jsonl.read_text(constraints) if constraints.is_file() else ""
    pinned = {_normal(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE)}
    others = []
    for requirement in required:
        needed = RUN.sub("", requirement)
        match = re.match(r"[\w.-]+", needed)
        if match is None or "extra ==" in needed:
            continue
        try:
            version = metadata.version(match[0]).partition("+")[0]
        except metadata.PackageNotFoundError:
            # One with a condition may belong to another platform.
            if ";" not in needed:
                fix = f"run `pip install --constraint {CONSTRAINTS} --editable '.[run]'`"
                yield Finding("environment", "wrong", f"the package {match[0]} is not installed: {fix}")
            continue
        expected = pinned.get(_normal(match[0]), version)
        if version != expected:
            others.append(f"{match[0]} {version} (tested: {expected})")
    if not pinned:
        yield Finding("environment", "note", f"{constraints}: no tested versions to compare with")
    elif others:
        message = f"versions differ from those tested: {', '.join(others)}: figures may differ in their last digits"
        yield Finding("environment", "note", message)
    else:
        yield Finding("environment", "ok", "packages as tested")


def builds(installed: Sequence[str]) -> Iterator[Finding]:
    """Refuse two builds of ONNX Runtime at once: the files of one replace those of the other."""
    if len(installed) > 1:
        again = f"pip install --constraint {CONSTRAINTS} --editable '.[run]'"
        fix = f"run `pip uninstall {' '.join(installed)}`, then `{again}`"
        yield Finding("environment", "wrong", f"{' and '.join(installed)} overwrite each other's files: {fix}")


def weights(root: Path, **_: bool) -> Iterator[Finding]:
    """Check the weights of the chosen model, and of every judge that ships, against the registry's sha256."""
    settings = params.load(root / params.FILE)
    entry = registry.load_entry(settings.model, root)
    machine = Machine()
    store = cache.folder() / "models"
    faults = find_fixes(settings.model, entry, root=cache.root(), store=store, rows=1, machine=machine)
    entry = hub.with_last_commit(settings.model, entry, store)
    if isinstance(entry, WeightsEntry) and not faults:
        faults = _faults(entry, root) if _is_here(entry.source, machine) else []
    yield from _judged("weights", f"models/{settings.model}.yaml", faults)
    for name in registry.names(root / registry.JUDGES):
        judge = registry.load_judge_entry(name, root)
        if isinstance(judge, JudgeEntry) and isinstance(judge.source, EmbeddedSource):
            yield from _judged("weights", f"models/judges/{name}.yaml", _faults(judge, root))


def exports(root: Path, **_: bool) -> Iterator[Finding]:
    """Check every exported file against the hashes that were taken when it was exported.

    The model of a run that was pulled was exported on another machine, and its folder is missing here.
    """
    store = cache.folder() / "models"
    folders: dict[Path, tuple[dict[str, str], str]] = {}
    exported = {path: jsonl.read_one(path, Manifest) for path in sorted(store.glob("*.json"))}
    known = {manifest.folder for manifest in exported.values()}
    if (path := root / "data" / "manifest.json").is_file():
        exported[path] = run = jsonl.read_one(path, Manifest)
        if run.folder and run.folder not in known and not (store / run.folder).exists():
            fix = f"to ask new prompts, first run `{EXPORT}`"
            yield Finding("exports", "note", f"{run.model}: not exported here (normal after `make pull`): {fix}")
            del exported[path]
    for manifest in exported.values():
        if manifest.folder:
            folders[store / manifest.folder] = (manifest.files, f"run `{EXPORT}`")
    for path in sorted(cache.folder().glob("*/*/manifest.json")):
        files = jsonl.json_value(str(path), jsonl.read_text(path)).get("files", {})
        folders[path.parent] = (files, f"remove {path.parent}; the next run makes it again")
    for folder, (files, fix) in folders.items():
        faults = [
            f"{folder / name}: {'checksum mismatch' if (folder / name).is_file() else 'missing'}: {fix}"
            for name, expected in files.items()
            if not (folder / name).is_file() or jsonl.sha256(folder / name) != expected
        ]
        yield from _judged("exports", str(folder), faults)


def _is_here(source: object, machine: Machine) -> bool:
    """Whether weights can be verified without fetching them."""
    match source:
        case FileSource():
            return places.is_stored(source)
        case ModelHubSource():
            return machine.has_fetched(source.repo, str(source.revision))
    return True


def caches(_root: Path, **_: bool) -> Iterator[Finding]:
    """Check the digest of every cached value, and the structure of the files."""
    for path in sorted(cache.folder().glob("*.sqlite")):
        checked = cache.check_file(path)
        faults = []
        if checked.fault:
            faults.append(f"{path}: damaged ({checked.fault}): the next run sets it aside, and keeps what is intact")
        if checked.damaged:
            keys = few([line(key[:12]) for key in checked.damaged])
            n = len(checked.damaged)
            faults.append(f"{path}: {n} of {checked.values} values damaged ({keys}): the next run asks them again")
        yield from _judged("caches", f"{path}, {checked.values} values", faults)
    for path in sorted(cache.folder().glob("*.damaged-*")):
        yield Finding("caches", "note", f"{path}: a damaged file that was set aside: remove it when it is not needed")


def leftovers(root: Path, *, clean: bool = False) -> Iterator[Finding]:
    """Find what killed runs left behind; with `clean`, remove it."""
    files = list(temporary(root))
    for path, live in files:
        if not path.exists():
            continue  # it was within a folder that is removed
        if live:
            yield Finding("leftovers", "note", f"{path}: a run may still be writing it")
        elif clean:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            yield Finding("leftovers", "ok", f"{path}: removed")
        else:
            yield Finding("leftovers", "wrong", f"{path}: left by a killed run: run `equipoise doctor --clean`")
    if not files:
        yield Finding("leftovers", "ok", "none")


def temporary(root: Path) -> Iterator[Leftover]:
    """List temporary files and folders, in order."""
    places = [root / name for name in WRITTEN if name != ".cache"] + [cache.folder()]
    seen = {path for place in places for path in (place.rglob(".*") if place != root else place.glob(".*"))}
    for path in sorted(seen):
        if match := TEMPORARY.fullmatch(path.name):
            process = match["process"] or match["exporter"]
            yield Leftover(
                path, cache.is_running(int(process)) if process else time.time() - path.lstat().st_mtime < IDLE
            )


def dvc(root: Path, *, clean: bool = False) -> Iterator[Finding]:
    """Check that the pipeline is read, that its outputs are those that its stages wrote, and that no lock is stale."""
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    if not (root / "dvc.yaml").is_file():
        raise EquipoiseError("no dvc.yaml here: run this in the root of a clone")
    if not (root / ".dvc").is_dir():
        raise EquipoiseError("no folder .dvc here: run `git checkout -- .dvc`, or `dvc init` in a new project")
    lock = root / ".dvc" / "tmp" / "rwlock"
    yield from _locks(lock, clean=clean)
    if running := _holders(lock)[0]:
        yield Finding("dvc", "note", f"{few([*map(line, sorted(running))])}: {RUNNING}")
        return
    for healed in refresh(root):
        yield Finding("dvc", "note", healed)
    try:
        with Repo(str(root)) as repo:
            stages = len(repo.index.stages)
            changed = repo.status()
    except LockError:
        yield Finding("dvc", "note", f"a command of DVC: {RUNNING}")
        return
    except DvcException as error:
        fix = "fix the file, or run `git checkout -- dvc.yaml`"
        raise EquipoiseError(f"the pipeline cannot be read ({' '.join(str(error).split())}): {fix}") from error
    yield from _outdated(changed, stages)


def _outdated(changed: dict[str, Any], stages: int) -> Iterator[Finding]:
    """Tell outputs that another program changed, which are wrong, from stages that are to run again."""
    stale = []
    for stage, changes in changed.items():
        mappings = [change for change in changes if isinstance(change, dict)]
        kinds = {kind for change in mappings for kind in change}
        outs = {path: what for change in mappings for path, what in change.get("changed outs", {}).items()}
        altered = [path for path, what in outs.items() if what == "modified"]
        if altered and kinds == {"changed outs"}:
            for path in altered:
                fix = f"run `dvc checkout --force {path}`, or `dvc repro`"
                yield Finding("dvc", "wrong", f"{path}: changed since the stage {stage} wrote it: {fix}")
        else:
            stale.append(stage)
    yield Finding("dvc", "ok", f"dvc.yaml and dvc.lock can be read: {stages} stages, {stages - len(stale)} up to date")
    if stale:
        yield Finding("dvc", "note", f"not up to date: {first_of(stale)}: run `dvc repro`")


def _locks(path: Path, *, clean: bool) -> Iterator[Finding]:
    """Find locks on outputs whose process is gone; with `clean`, release them, and leave those of others."""
    _, gone, kept = _holders(path)
    if gone and clean:
        jsonl.write_text(path, json.dumps(kept))
        yield Finding("dvc", "ok", f"{path}: released the locks of {few([*map(line, sorted(gone))])}")
    elif gone:
        fix = "run `equipoise doctor --clean`"
        yield Finding("dvc", "wrong", f"{path}: locks of {few([*map(line, sorted(gone))])}, which was killed: {fix}")


def _holders(path: Path) -> tuple[set[str], set[str], dict[str, dict[str, Any]]]:
    """Name the commands that hold locks on outputs and run, then those that are gone; give the locks of the former."""
    holders: dict[bool, set[str]] = {True: set(), False: set()}
    kept: dict[str, dict[str, Any]] = {"read": {}, "write": {}}
    if not path.is_file():
        return set(), set(), kept
    try:
        for kind, places in json.loads(path.read_text(encoding="utf-8")).items():
            for place, info in places.items():
                infos = [info] if isinstance(info, dict) else info
                live = [process for process in infos if cache.is_running(int(process["pid"]))]
                for process in infos:
                    holders[process in live].add(f"{process['cmd']} (process {process['pid']})")
                if live:
                    kept[kind][place] = live[0] if isinstance(info, dict) else live
    except (ValueError, AttributeError, KeyError, TypeError):
        return set(), {"a command that left the file malformed"}, {}
    return holders[True], holders[False], kept


def _judged(area: str, subject: str, faults: list[str]) -> Iterator[Finding]:
    yield from (Finding(area, "wrong", fault) for fault in faults)
    if not faults:
        yield Finding(area, "ok", subject)


def _faults(entry: Any, root: Path) -> list[str]:  # noqa: ANN401  (an entry of any kind that has weights)
    try:
        locate(entry, root)
    except EquipoiseError as error:
        return [str(error)]
    return []


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


CHECKS = (environment, weights, exports, caches, leftovers, dvc)
"""Every check, by its area, in the order in which findings are shown."""
