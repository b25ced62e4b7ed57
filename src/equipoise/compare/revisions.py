"""Revisions as DVC records them: rows, figures, and the parameters, inputs and code they were computed from.

A revision is any Git revision, the name of a DVC experiment, or `workspace`. Rows are read from DVC's cache, else from
a team's default remote, else the cache is filled from the revision's archive; nothing is checked out.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from equipoise.compare.archive import unpack
from equipoise.core import units
from equipoise.core.display import first_of
from equipoise.core.dvc_lock import HASH
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import fault
from equipoise.core.row import Row
from equipoise.core.shipped import PIPELINE
from equipoise.core.units import Unit, of_asked
from equipoise.figures.comparison import RunRows
from equipoise.figures.effects import Effect
from equipoise.figures.options import Decision, Measure
from equipoise.models.registry import FOLDER
from equipoise.studies.registry import STUDIES

WORKSPACE = "workspace"
CODE = "data/code/"
"""Where `check` lists the code of each other stage, with checksums."""
NOTHING = hashlib.md5(b"", usedforsecurity=False).hexdigest()
"""DVC's hash of a file without rows."""
SOURCES = ("src", "stages")
"""The folders of code; any other file that no stage writes is an input."""

R = TypeVar("R", bound=Row)
T = TypeVar("T")
S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Revision:
    """The outputs of one run, and what it depended on.

    `commit` is empty for the workspace. `rows` are by study. `effects` are the recorded figures, `options` the settings
    for estimating a change, `decision` the declared endpoints; `settings` is all of params.yaml, `entry` that of the
    model in the registry, `weights` the hash of its manifest, each as written. `answers` has, by study, the hash of the
    responses, or of the readings where `score` asks the model (a masked one). `measured` is the revision with its
    original rows, where some were replaced because only their last digits differ (`compare.items`). `inputs` and
    `code` map files that no stage writes to their hashes when the stages ran; `edited` names files and parameters
    changed since.
    """

    name: str
    commit: str = ""
    rows: Mapping[str, RunRows[Any]] = field(default_factory=dict)
    effects: Sequence[Effect] = ()
    options: Measure = field(default_factory=Measure)
    decision: Decision = field(default_factory=Decision)
    settings: Mapping[str, Any] = field(default_factory=dict)
    entry: Mapping[str, Any] = field(default_factory=dict)
    weights: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)
    edited: tuple[str, ...] = ()
    measured: "Revision | None" = None


class Sources(NamedTuple):
    """What differs: parameters with old and new value; inputs and code by path, each added, removed or changed.

    `edited` names, by revision, files and parameters changed after the figures were computed.
    """

    parameters: Mapping[str, tuple[Any, Any]]
    inputs: Mapping[str, str]
    code: Mapping[str, str]
    edited: Mapping[str, tuple[str, ...]]


def read_revision(name: str, repository: str | None = None) -> Revision:
    """Read a revision of the DVC repository at `repository`, by default the one around the working folder.

    Raises EquipoiseError where the revision is unknown, rows are not in the cache, or a row lacks fields that this code
    reads.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(repository) as repo, nullcontext() if name == WORKSPACE else repo.switch(name):
            return _read(name, _Files(name, repo))
    except DvcException as error:
        raise EquipoiseError(
            f"{name}: cannot be read ({' '.join(str(error).split())}): give a Git revision, the name of an experiment "
            f"(`dvc exp show`) or `{WORKSPACE}`, in a clone with Git and DVC"
        ) from error


def changed_parameters(base: str, head: str, repository: str | None = None) -> dict[str, tuple[Any, Any]]:
    """Compare parameters like `dvc params diff`: old and new value by `file:name`, without the file for params.yaml.

    The files of two models are compared field by field, as `model:name`.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(repository) as repo:
            differing = repo.params.diff(base, head).get("diff", {})
    except DvcException as error:
        raise EquipoiseError(
            f"parameters of {base} and {head} cannot be compared ({error}): run `dvc params diff {base} {head}`"
        ) from error
    entries = [file for file in differing if file.startswith("models/")]
    prefixes = {file: f"{file}:" for file in differing} | {"params.yaml": ""}
    if len(entries) > 1:
        prefixes |= dict.fromkeys(entries, "model:")
    merged: dict[str, dict[str, Any]] = {}
    for file, changed in sorted(differing.items()):
        for name, values in sorted(changed.items()):
            given = {side: value for side, value in values.items() if value is not None}
            merged[prefixes[file] + name] = merged.get(prefixes[file] + name, {}) | given
    pairs = {name: (values.get("old"), values.get("new")) for name, values in merged.items()}
    return {name: (old, new) for name, (old, new) in pairs.items() if old != new}


def sources(base: Revision, head: Revision, parameters: Mapping[str, tuple[Any, Any]]) -> Sources:
    """Compare what two revisions depended on; `parameters` are those of `changed_parameters`."""
    return Sources(
        parameters=dict(sorted(parameters.items())),
        inputs=_differences(base.inputs, head.inputs),
        code=_differences(base.code, head.code),
        edited={revision.name: revision.edited for revision in (base, head) if revision.edited},
    )


class _Files:
    """The files of one revision, and which of them the cache lacks."""

    def __init__(self, revision: str, repo: Any) -> None:  # noqa: ANN401  (DVC has no types)
        self.revision, self.repo = revision, repo
        # Files tracked by DVC and by Git, in the revision that the repository is switched to.
        self.files = repo.dvcfs
        self.missing: list[str] = []
        self.unpacked = False

    def text(self, path: str) -> str:
        """Read a file; empty where neither the revision, the cache nor its archive has it."""
        try:
            if self.files.exists(f"/{path}"):
                return str(self.files.read_text(f"/{path}", encoding="utf-8"))
            known = False
        except OSError:
            known = True
        # DVC does not know the files of a folder until it has the folder's list.
        if not self.unpacked:
            self.unpacked = True
            if unpack(self.repo):
                return self.text(path)
        if known:
            self.missing.append(path)
        return ""

    def rows(self, path: str, kind: type[R]) -> list[R]:
        """Read rows; ignore fields that this version does not have."""
        rows = []
        for number, line in enumerate(self.text(path).split("\n"), start=1):
            if line.strip():
                try:
                    values = json.loads(line)
                    rows.append(
                        kind.model_validate({name: values[name] for name in kind.model_fields if name in values})
                    )
                except (ValueError, TypeError) as error:
                    wrong = fault(error) if isinstance(error, ValidationError) else str(error)
                    raise EquipoiseError(
                        f"{self.revision}: {path}, row {number}: {wrong}: the rows are of another version of "
                        "Equipoise; run `dvc repro` at that revision"
                    ) from error
        return rows

    def values(self, path: str) -> Any:  # noqa: ANN401  (any YAML value)
        """Read a YAML or JSON file; None for a missing one."""
        try:
            return yaml.safe_load(self.text(path))
        except yaml.YAMLError as error:
            raise EquipoiseError(
                f"{self.revision}: {path}: malformed ({' '.join(str(error).split())}): fix the file"
            ) from error

    def refuse_missing(self) -> None:
        """Raise EquipoiseError if the cache lacked a file of the revision."""
        if self.missing:
            # A run at that revision on another processor may write other bytes: its own lock has to be committed.
            name = self.revision
            fix = (
                f"else run `git switch --detach {name}`, `dvc repro` and `git commit --all --message here`, and "
                f"compare with that commit; `dvc metrics diff {name}` compares recorded figures without the rows"
            )
            raise EquipoiseError(
                f"{name}: {first_of(self.missing)}: not in DVC's cache: run `dvc fetch "
                f"--all-commits` where a remote has them, {'else `dvc repro`' if name == WORKSPACE else fix}"
            )


class _StudyFiles(NamedTuple):
    """The files of one study in a revision."""

    files: _Files
    study: str

    def rows(self, name: str, kind: type[R]) -> list[R]:
        """Read the rows of one of the study's files."""
        return self.files.rows(f"data/{self.study}/{name}.jsonl", kind)

    def built(self, name: str, kind: type[R]) -> list[R]:
        """Read rows that `build` wrote about the units asked."""
        return list(of_asked(self.rows(f"built/{name}", kind), self.rows(Path(units.FILE).stem, Unit)))

    def shared(self, name: str, kind: type[S]) -> S | None:
        """Read a YAML file that studies share; None where the revision has none."""
        values = self.files.values(f"data/{name}")
        return _checked(f"{self.files.revision}: data/{name}", kind, values) if values else None


def _read(name: str, files: _Files) -> Revision:
    _require_whole(name, files.repo)
    rows = {
        study.name: study.comparison.read(_StudyFiles(files, study.name))
        for study in STUDIES.values()
        if study.comparison is not None
    }
    effects = [row for study in STUDIES for row in files.rows(f"data/{study}/effects.jsonl", Effect)]
    files.refuse_missing()
    hashes, edited = _sources(files.repo)
    params = files.values("params.yaml") or {}
    outputs = {relative(files.repo, out): str(out.hash_info.value) for out in files.repo.index.outs if out.hash_info}
    answers = {study: answered(study, outputs) for study in STUDIES}
    return Revision(
        name=name,
        commit="" if name == WORKSPACE else str(files.repo.get_rev()),
        rows=rows,
        effects=effects,
        options=_settings(name, "measure", Measure, params),
        decision=_settings(name, "decision", Decision, params),
        settings=params,
        entry=files.values(f"{FOLDER}/{params.get('model')}.yaml") or {},
        weights=outputs.get("data/manifest.json", ""),
        answers={study: digest for study, digest in answers.items() if digest},
        inputs={path: digest for path, digest in hashes.items() if path.split("/")[0] not in SOURCES},
        code=_code(files),
        edited=edited,
    )


def _require_whole(name: str, repo: Any) -> None:  # noqa: ANN401  (DVC has no types)
    """Refuse a lock that lacks a stage of dvc.yaml, or an output of one: it is cut off, or the run is not finished."""
    lost = [
        stage.name
        for stage in repo.index.stages
        if stage.path_in_repo == PIPELINE
        and not all(out.hash_info and HASH.fullmatch(str(out.hash_info.value)) for out in stage.outs)
    ]
    if lost:
        fix = "run `dvc repro`" if name == WORKSPACE else "run `dvc repro` at that revision and commit dvc.lock"
        raise EquipoiseError(
            f"{name}: dvc.lock lacks {len(lost)} of the stages in {PIPELINE} ({first_of(lost)}): {fix}, or remove "
            "from `studies` in params.yaml those that were not run"
        )


def _sources(repo: Any) -> tuple[dict[str, str], tuple[str, ...]]:  # noqa: ANN401  (DVC has no types)
    """List the files that no stage writes with their hashes when the stages ran, and name what has changed since."""
    from dvc.dependency import ParamsDependency

    made = {relative(repo, out) for out in repo.index.outs}
    hashes: dict[str, str] = {}
    edited: set[str] = set()
    for stage in repo.index.stages:
        for dependency in stage.deps:
            if isinstance(dependency, ParamsDependency):
                for file, names in dependency.workspace_status().items():
                    edited |= {f"{file}:{name}" for name in names} if isinstance(names, dict) else {str(file)}
                continue
            path = relative(repo, dependency)
            # A folder that stages write into is not an input: its files in Git are not what the stages read.
            if path in hashes or any(_overlap(path, out) for out in made):
                continue
            hashes[path] = str(dependency.hash_info.value)
            if dependency.workspace_status():
                edited.add(path)
    return dict(sorted(hashes.items())), tuple(sorted(edited))


def _overlap(path: str, other: str) -> bool:
    """Whether two paths are equal, or one contains the other."""
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


def _code(files: _Files) -> dict[str, str]:
    """Read the checksums of the code that the stages ran, by file; empty for a revision without listings."""
    paths = {relative(files.repo, file) for stage in files.repo.index.stages for file in stage.deps}
    listings = (files.text(path) for path in sorted(paths) if path.startswith(CODE))
    lines = (line.partition("  ") for listing in listings for line in listing.splitlines())
    # What else a stage reads is compared as the deps of `check`.
    return dict(sorted((path, checksum) for checksum, _, path in lines if path.startswith(("src/", "stages/"))))


def answered(study: str, outputs: Mapping[str, str]) -> str:
    """Find the hash of the model's answers, which does not depend on the judge."""
    responses = outputs.get(f"data/{study}/responses.jsonl", NOTHING)
    return outputs.get(f"data/{study}/judgements.jsonl", "") if responses == NOTHING else responses


def relative(repo: Any, out: Any) -> str:  # noqa: ANN401  (DVC has no types)
    """Give the path of a dependency or output from the root of its repository."""
    return "/".join(repo.fs.relparts(out.fs_path, repo.root_dir))


def _settings(name: str, section: str, kind: type[S], params: Mapping[str, Any]) -> S:
    """Read a section of a revision's settings; ignore those that this version no longer has."""
    known = {key: value for key, value in params.get(section, {}).items() if key in kind.model_fields}
    return _checked(f"{name}: params.yaml, section {section}", kind, known)


def _checked(place: str, kind: type[T], values: object) -> T:
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise EquipoiseError(f"{place}: {fault(error)}") from error


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    return {
        path: "added" if path not in before else "removed" if path not in after else "changed"
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    }
