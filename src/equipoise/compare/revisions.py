"""A revision as DVC has it: the rows that its figures were made from, the figures, and what it was made from itself.

A revision is any Git revision, the name of a DVC experiment, or `workspace`. Rows are read from DVC's cache, or from
the default remote where one is set; nothing is checked out.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Judgement, Response, Row, Vignette, fault
from equipoise.metrics.silent import SilentBiasOptions
from equipoise.questions.cities import City
from equipoise.questions.rows import Variant
from equipoise.stigma.rows import Fill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WORKSPACE = "workspace"
CITIES = "data/cities.yaml"
CODE = (".py",)
"""Endings of files that are code; every other file that no stage makes is an input."""
SHOWN = 3
"""How many files a line names before it only counts them."""

R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What one run made, and what it was made from.

    `commit` is empty for the workspace. `metrics` is what each metrics file holds, by its stem; `options` the settings
    of `measure` that a change is estimated with. `inputs` and `code` map files that no stage makes to the hashes that
    they had when the stages ran, by dvc.lock; `edited` names files and parameters that have changed since then, so that
    the rows are not theirs.
    """

    name: str
    commit: str = ""
    vignettes: Sequence[Vignette] = ()
    judgements: Sequence[Judgement] = ()
    variants: Sequence[Variant] = ()
    responses: Sequence[Response] = ()
    fills: Sequence[Fill] = ()
    cities: Mapping[str, City] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    options: SilentBiasOptions = field(default_factory=SilentBiasOptions)
    inputs: Mapping[str, str] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)
    edited: tuple[str, ...] = ()


def read_revision(name: str, repository: str | None = None) -> Revision:
    """Read a revision of the DVC repository at `repository` (the one around the working folder).

    EquipoiseError, one line, where the revision is unknown, where rows are not at hand, and where a row is of another
    form than this code reads.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(repository) as repo, nullcontext() if name == WORKSPACE else repo.switch(name):
            return _read(name, _Files(name, repo))
    except DvcException as error:
        message = (
            f"{name}: cannot be read ({' '.join(str(error).split())}): give a Git revision, the name of an experiment "
            f"(`dvc exp show`) or `{WORKSPACE}`, in a clone with Git and DVC"
        )
        raise EquipoiseError(message) from error


def changed_parameters(base: str, head: str, repository: str | None = None) -> dict[str, tuple[Any, Any]]:
    """Give what `dvc params diff` does: old and new value by `file:name`, the file left out for params.yaml."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(repository) as repo:
            found = repo.params.diff(base, head).get("diff", {})
    except DvcException as error:
        message = f"parameters of {base} and {head} cannot be compared ({error}): run `dvc params diff {base} {head}`"
        raise EquipoiseError(message) from error
    return {
        name if file == "params.yaml" else f"{file}:{name}": (values.get("old"), values.get("new"))
        for file, changed in sorted(found.items())
        for name, values in sorted(changed.items())
    }


class _Files:
    """The files of one revision, and which of them should be there and are not."""

    def __init__(self, revision: str, repo: Any) -> None:  # noqa: ANN401  (DVC has no types)
        self.revision, self.repo = revision, repo
        # What DVC tracks beside what Git does, in the revision that the repository stands at.
        self.files = repo.dvcfs
        self.missing: list[str] = []

    def text(self, path: str) -> str:
        """Read a file; empty where the revision has none, or where it is not at hand."""
        if not self.files.exists(f"/{path}"):
            return ""
        try:
            return str(self.files.read_text(f"/{path}", encoding="utf-8"))
        except OSError:
            self.missing.append(path)
            return ""

    def rows(self, path: str, kind: type[R]) -> list[R]:
        """Read rows; fields that a later version added or an earlier one dropped are passed over."""
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
                    message = (
                        f"{self.revision}: {path}, row {number}: {wrong}: rows of another version of Equipoise; make "
                        "them anew with `dvc repro`"
                    )
                    raise EquipoiseError(message) from error
        return rows

    def values(self, path: str) -> Any:  # noqa: ANN401  (any YAML value)
        """Read a YAML or JSON file; None where there is none."""
        try:
            return yaml.safe_load(self.text(path))
        except yaml.YAMLError as error:
            message = f"{self.revision}: {path}: malformed ({' '.join(str(error).split())}): mend the file"
            raise EquipoiseError(message) from error

    def refuse_missing(self) -> None:
        """Raise EquipoiseError where a file that the revision has was not at hand."""
        if self.missing:
            more = f" and {len(self.missing) - SHOWN} more" if len(self.missing) > SHOWN else ""
            message = (
                f"{self.revision}: {', '.join(self.missing[:SHOWN])}{more}: not in DVC's cache; run `dvc fetch "
                "--all-commits` where a remote has them, else `dvc repro` at that revision"
            )
            raise EquipoiseError(message)


def _read(name: str, files: _Files) -> Revision:
    metrics = {
        PurePosixPath(path).stem: found
        for path in _metrics(files.repo)
        if isinstance(found := files.values(path), dict)
    }
    rows = {
        "vignettes": files.rows("data/vignettes.jsonl", Vignette),
        "judgements": files.rows("data/judgements.jsonl", Judgement),
        "variants": files.rows("data/variants.jsonl", Variant),
        "responses": files.rows("data/responses.jsonl", Response),
        "fills": files.rows("data/fills.jsonl", Fill),
    }
    files.refuse_missing()
    hashes, edited = _sources(files.repo)
    return Revision(
        name=name,
        commit="" if name == WORKSPACE else str(files.repo.get_rev()),
        **rows,  # type: ignore[arg-type]  # each list is of its own kind
        cities=_cities(name, files.values(CITIES) or {}),
        metrics=metrics,
        options=_options(name, (files.values("params.yaml") or {}).get("measure", {})),
        inputs={path: digest for path, digest in hashes.items() if not path.endswith(CODE)},
        code={path: digest for path, digest in hashes.items() if path.endswith(CODE)},
        edited=edited,
    )


def _metrics(repo: Any) -> Iterator[str]:  # noqa: ANN401  (DVC has no types)
    for out in repo.index.outs:
        if out.metric:
            yield _relative(repo, out)


def _sources(repo: Any) -> tuple[dict[str, str], tuple[str, ...]]:  # noqa: ANN401  (DVC has no types)
    """Give the hashes of what no stage makes, as the stages last saw it, and the names of what has changed since."""
    from dvc.dependency import ParamsDependency

    made = {_relative(repo, out) for out in repo.index.outs}
    hashes: dict[str, str] = {}
    edited: set[str] = set()
    for stage in repo.index.stages:
        for dependency in stage.deps:
            if isinstance(dependency, ParamsDependency):
                for file, names in dependency.workspace_status().items():
                    edited |= {f"{file}:{one}" for one in names} if isinstance(names, dict) else {str(file)}
                continue
            path = _relative(repo, dependency)
            if path in made or path in hashes:
                continue
            hashes[path] = str(dependency.hash_info.value)
            if dependency.workspace_status():
                edited.add(path)
    return dict(sorted(hashes.items())), tuple(sorted(edited))


def _relative(repo: Any, out: Any) -> str:  # noqa: ANN401  (DVC has no types)
    return "/".join(repo.fs.relparts(out.fs_path, repo.root_dir))


def _cities(revision: str, values: object) -> dict[str, City]:
    try:
        return TypeAdapter(dict[str, City]).validate_python(values)
    except ValidationError as error:
        message = f"{revision}: {CITIES}: {fault(error)}"
        raise EquipoiseError(message) from error


def _options(revision: str, section: Mapping[str, Any]) -> SilentBiasOptions:
    known = {name: value for name, value in section.items() if name in SilentBiasOptions.model_fields}
    try:
        return SilentBiasOptions.model_validate(known)
    except ValidationError as error:
        message = f"{revision}: params.yaml, section measure: {fault(error)}"
        raise EquipoiseError(message) from error
