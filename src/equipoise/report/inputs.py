"""The provenance of a report: model, judge, settings, and every input with its title, licence, source and sha256.

The inputs are the files that the stages of the chosen studies read (`equipoise.pipeline.depends.files_read`), those
that settings name among them.
"""

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from equipoise.compare.leaderboard import flattened
from equipoise.core.code import read_files
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import sha256
from equipoise.core.manifest import Manifest
from equipoise.core.params import Params
from equipoise.core.row import Frozen, Text
from equipoise.core.tables import json_rows
from equipoise.core.yamlfile import load_yaml
from equipoise.models import registry
from equipoise.models.registry import (
    AnyEntry,
    AnyJudgeEntry,
    JudgeEntry,
    LlmJudgeEntry,
    MaskedEntry,
    PanelJudgeEntry,
    ReplayEntry,
)
from equipoise.pipeline.depends import PROBES, all_read
from equipoise.studies.registry import chosen

FILE = Path("data/inputs.yaml")
ALWAYS = ("params.yaml", "data/inputs.yaml", PROBES)
"""Inputs of every run."""
SUFFIXES = {".yaml", ".jsonl"}
"""Files of a folder that are inputs; weights are listed with their model."""


class Declared(Frozen):
    """The declaration of an input, or of all inputs in a folder (`path` ends in a slash)."""

    path: Text
    title: Text
    licence: Text
    source: Text


OWN = Declared(
    path="-", title="A user's own file", licence="as the file states", source="named by params.yaml or the registry"
)


class Declarations(Frozen):
    """The file that declares the inputs."""

    inputs: Annotated[tuple[Declared, ...], Field(min_length=1)]


class Input(NamedTuple):
    """One input; without a file (a server, or weights pinned to a commit of the hub), `sha256` is None."""

    path: str
    title: str
    licence: str
    source: str
    sha256: str | None


def inputs(params: Params, root: Path) -> list[Input]:
    """List the project's files that the chosen studies read, sorted by path; missing items are left out.

    Rows of questions state their own licence and source; a file outside the project is named by its whole path. Raises
    EquipoiseError for a file that neither `data/inputs.yaml` declares nor a setting names.
    """
    declared = {row.path: row for row in load_yaml(root / FILE, Declarations).inputs}
    studies = chosen(params)
    read = all_read(studies, params, root)
    # What no study declares is named by a setting.
    for name in sorted(read - {entry for study in studies for reads in study.reads.values() for entry in reads}):
        if _nearest(name, declared) is None:
            place = f"{name}/" if (root / name).is_dir() else name
            declared[place] = OWN.model_copy(update={"path": place})
    paths = {path for name in {*ALWAYS, *read} if (root / name).exists() for path in read_files(name, root)}
    return [_read(root / path, path.as_posix(), declared) for path in sorted(paths) if path.suffix in SUFFIXES]


def judges(params: Params, root: Path) -> list[str]:
    """Name the judges of the run: that of the reasoning, the members of a panel, and those of its studies."""
    judge = registry.load_judge_entry(params.judge, root)
    members = judge.judges if isinstance(judge, PanelJudgeEntry) else ()
    further = [name for study in chosen(params) for name in study.judges(params)]
    return list(dict.fromkeys((params.judge, *members, *further)))


def other_models(params: Params, root: Path) -> list[str]:
    """Name the models of the registry that are asked beside the one under test: those of judges, and of agents."""
    read = map(Path, all_read(chosen(params), params, root))
    entries = {path.stem for path in read if path.parent.as_posix() == registry.FOLDER}
    return sorted(entries - {params.model})


def masked_models(params: Params) -> list[str]:
    """Name the masked models that the studies ask."""
    return list(dict.fromkeys(name for study in chosen(params) if (name := study.masked(params))))


def declaration(path: str, declared: dict[str, Declared]) -> Declared:
    """Find the declaration of a file: its own row, else that of the nearest folder around it."""
    if nearest := _nearest(path, declared):
        return nearest
    raise EquipoiseError(
        f"{path}: its licence is not declared: add a row with its title, licence and source to {FILE.as_posix()}"
    )


def _nearest(path: str, declared: dict[str, Declared]) -> Declared | None:
    folders = (f"{folder}/" for folder in PurePosixPath(path).parents)
    return next((declared[place] for place in (path, *folders) if place in declared), None)


def model_inputs(manifest: Manifest, entry: AnyEntry) -> list[Input]:
    """List the weights of the model under test, as its manifest has them; for saved answers, the files."""
    title = f"Model under test: {entry.title}"
    source = f"{manifest.repo}, {manifest.revision}"
    if isinstance(entry, ReplayEntry):
        saved = [Input(entry.file, f"{title}, saved answers", manifest.licence, "registry entry", entry.sha256)]
        if entry.cases:
            stated = "as each row states"
            saved.append(
                Input(entry.cases.file, f"{title}, cases of saved answers", stated, stated, entry.cases.sha256)
            )
        return saved
    if not manifest.weights:
        return [Input(manifest.revision, title, manifest.licence, manifest.repo, None)]
    adapter = getattr(entry, "adapter", None)
    sources = {adapter.file: "registry entry"} if adapter else {}
    return [
        Input(name, title, manifest.licence, sources.get(name, source), digest)
        for name, digest in sorted(manifest.weights.items())
    ]


def weights_inputs(title: str, entry: JudgeEntry | MaskedEntry) -> list[Input]:
    """List a model's weights, with hashes if they are in the repository, else with the commit of the hub."""
    title, source = f"{title}: {entry.title}", entry.source
    if source.kind == "embedded":
        made = f"trained in this repository: {source.folder}/README.md"
        return [
            Input(f"{source.folder}/{name}", title, entry.licence, made, digest)
            for name, digest in sorted(source.files.items())
        ]
    if source.kind == "hub":
        return [Input(source.repo, title, entry.licence, f"huggingface.co, commit {source.revision}", None)]
    return [Input(source.path, title, entry.licence, "a folder of the machine that ran it", None)]


def _read(path: Path, name: str, declared: dict[str, Declared]) -> Input:
    about = declaration(name, declared)
    licence, source = about.licence, about.source
    if path.suffix == ".jsonl":
        rows = [row for _, row in json_rows(path)]
        licence = _stated(rows, "licence") or licence
        source = _stated(rows, "source") or source
    return Input(name, about.title, licence, source, sha256(path))


def _stated(rows: list[dict[str, object]], field: str) -> str:
    return ", ".join(sorted({str(row[field]) for row in rows if row.get(field)}))


class Provenance(NamedTuple):
    """Everything that a run's figures depend on; each field becomes a table."""

    model: list[tuple[str, str]]
    drawing: list[tuple[str, str]]
    hashes: list[tuple[str, str]]
    judge: list[tuple[str, str]]
    settings: list[tuple[str, str]]
    inputs: list[Input]


def provenance(manifest: Manifest, params: Params, root: Path) -> Provenance:
    """Collect a run's provenance; `root` is the project's."""
    judge = registry.load_judge_entry(params.judge, root)
    settings = flattened(params.model_dump())
    fields = manifest.model_dump(exclude={"weights", "files", "versions", "fidelity", "settings"}, exclude_none=True)
    more = {
        **{f"version of {name}": version for name, version in sorted(manifest.versions.items())},
        **{f"setting {name}": value for name, value in sorted(manifest.settings.items())},
        **{f"fidelity, {name}": value for name, value in (manifest.fidelity or {})},
    }
    return Provenance(
        model=[(name.replace("_", " "), str(value)) for name, value in (fields | more).items()],
        drawing=_drawing(registry.load_entry(params.model, root), settings),
        hashes=sorted((manifest.weights | manifest.files).items()),
        judge=_judge(params.judge, judge),
        settings=[(name, _written(value)) for name, value in sorted(settings.items())],
        inputs=every_input(manifest, params, root),
    )


def _drawing(entry: AnyEntry, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List how tokens are chosen, by the model's entry, and every seed of the settings."""
    sampling = flattened(entry.model_dump(include={"generation", "temperature", "seed"}), "model.")
    seeds = {name: value for name, value in settings.items() if "seed" in name.rpartition(".")[2].split("_")}
    return [(name, _written(value)) for name, value in (sampling | seeds).items()]


def every_input(manifest: Manifest, params: Params, root: Path) -> list[Input]:
    """List the files of the project that the run reads, then the weights of its models and judges."""
    listed = inputs(params, root) + model_inputs(manifest, registry.load_entry(params.model, root))
    for name in judges(params, root):
        judge = registry.load_judge_entry(name, root)
        if isinstance(judge, JudgeEntry):
            listed += weights_inputs("Judge", judge)
    for name in other_models(params, root):
        entry = registry.load_entry(name, root)
        weights = getattr(getattr(entry, "source", None), "sha256", None)
        listed.append(Input(name, f"Judge or agent: {entry.title}", entry.licence, f"models/{name}.yaml", weights))
    for name in masked_models(params):
        listed += weights_inputs("Masked model", registry.load_masked_entry(name, root))
    return listed


def _judge(name: str, entry: AnyJudgeEntry) -> list[tuple[str, str]]:
    rows = [("judge", name), ("title", entry.title), ("licence", entry.licence)]
    match entry:
        case LlmJudgeEntry():
            rows += [("model", entry.model), ("rubric", entry.rubric)]
        case PanelJudgeEntry():
            rows.append(("judges", ", ".join(entry.judges)))
        case JudgeEntry(source=source):
            rows.append(("source", source.kind))
            rows += [(field, str(getattr(source, field))) for field in ("repo", "revision") if hasattr(source, field)]
            rows += [(f"sha256 of {name}", digest) for name, digest in sorted(getattr(source, "files", {}).items())]
    if error := entry.error:
        for label, reading in (("silent", error.silent), ("not silent", error.not_silent)):
            rows.append((f"read as labelled, {label}", f"{reading.right} of {reading.of}"))
        rows.append(("labels", error.labels))
    return rows


def _written(value: Any) -> str:  # noqa: ANN401  (any value of params.yaml)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
