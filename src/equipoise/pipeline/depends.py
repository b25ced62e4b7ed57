"""What each stage of a study depends on, listed by `check` in `data/code/STAGE/STUDY.txt`: code, files and settings.

`equipoise.core.code` cannot see modules that are loaded by name in a stage's script; `modules` lists them all.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from equipoise.core import cache, code, jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.params import ITEMS, Params
from equipoise.core.shipped import PIPELINE
from equipoise.core.yamlfile import load_yaml
from equipoise.figures.options import Decision
from equipoise.figures.study import Study
from equipoise.models import registry
from equipoise.models.registry import PhantomEntry
from equipoise.pipeline import frozen
from equipoise.pipeline.steps import ASKING, SEQUENTIAL, STAGES, STOPPING, name_of

SETTINGS = ("build", "score")
"""The stages that read a study's own sections of params.yaml."""
BUILT = ("", ITEMS, registry.FOLDER)
"""What `build` reads of what these sections name; `score` asks their judges and masked models."""
HELD_AGAINST: Mapping[str, tuple[str, ...]] = {"measure": (f"data/{frozen.FOLDER}",)}
"""The folder of the frozen plan, which every run is held against."""
DECIDING = ("decision", "measure", "score")
"""The sections of params.yaml that decide where a study stops."""
PROBES = "data/raw/probes.yaml"
REPORTED = (".dvc/plots", "data/inputs.yaml", "docs/metrics", "docs/verdicts.md", "params.yaml", PROBES)
"""What the report of every run reads; the pages are those that cards link to."""
PLANTED: Mapping[str, tuple[str, ...]] = {"build": ("data/phantoms", "data/raw"), "infer": ("data/phantoms",)}
"""What each stage reads of a phantom besides its entry."""


class _Stage(BaseModel):
    """A stage of dvc.yaml: what it depends on."""

    deps: tuple[str, ...] = ()


class Pipeline(BaseModel):
    """dvc.yaml, as far as it is read here."""

    stages: dict[str, _Stage]


def stops_early(stage: str, settings: Params) -> bool:
    """Whether a stage asks in batches, and so scores and measures while it asks."""
    return stage == "infer" and settings.section("decision", Decision).sequential


def modules(stage: str, study: str, settings: Params, root: Path) -> Iterator[str]:
    """Name every module that a stage loads by name for a study, given the project's root."""
    own = name_of(study, stage)
    yield own if stage != "infer" or code.module_file(own, root) else ASKING
    if stage in {"infer", "measure"} and code.module_file(name_of(study, STOPPING), root):
        yield name_of(study, STOPPING)
    if stage == "measure":
        yield name_of(study, "study")
    if stops_early(stage, settings):
        yield SEQUENTIAL
        yield from (name_of(study, module) for module in ("score", "measure", "study"))


def files_read(stage: str, study: Study, settings: Params, root: Path) -> Iterator[str]:
    """Name the files and folders that a stage reads for a study: its own, and those that settings name.

    Paths are from the project's `root`, but for files of the user's own elsewhere. Raises EquipoiseError for an
    unknown or malformed entry of the registry.
    """
    entry = registry.load_entry(settings.model, root)
    yield from registry.files_named(settings, root, fields={"model"})
    for name in (stage, "score", "measure") if stops_early(stage, settings) else (stage,):
        yield from study.reads[name]
        if isinstance(entry, PhantomEntry):
            yield from PLANTED.get(name, ())
        if name == "build":
            for section, kind in study.sections.items():
                yield from registry.files_named(settings.section(section, kind), root, to=BUILT)
            if (items := study.items(settings)) is not None:
                yield f"{ITEMS}/{items}.jsonl"
        if name == "score":
            for judge in study.judges(settings):
                yield from registry.entry_files(judge, registry.JUDGES, root)
            if (masked := study.masked(settings)) is not None:
                yield from registry.entry_files(masked, registry.MASKED, root)
        yield from (folder for folder in HELD_AGAINST.get(name, ()) if (root / folder).is_dir())
        if study.judged and name in {"score", "measure"}:
            yield from registry.files_named(settings, root, fields={"judge"})


def all_read(studies: Iterable[Study], settings: Params, root: Path) -> set[str]:
    """Name the files and folders that all stages read for some studies (`files_read`)."""
    return {name for study in studies for stage in STAGES for name in files_read(stage, study, settings, root)}


def own_settings(stage: str, study: Study, settings: Params) -> dict[str, Any]:
    """Give the settings that `build` or `score` of a study reads, apart from those that dvc.yaml names."""
    items = study.items(settings)
    own = ({} if items is None else {"items": items}) | {name: settings.values(name) for name in study.sections}
    judged = {"judge": settings.judge, "score": settings.score} if stage == "score" and study.judged else {}
    return own | judged


def listing(stage: str, study: Study, settings: Params, stages: Path) -> str:
    """List what a stage depends on for a study: code from its script in `stages`, and what it reads, with digests.

    Then come the models that are agents or judges, as they were exported, and the settings that decide where a study
    stops early.
    """
    root = Path()
    loaded = list(modules(stage, study.name, settings, root))
    files = [path for name in loaded if (path := code.module_file(name, root)) is not None]
    reads = list(files_read(stage, study, settings, root))
    text = code.listing([stages / f"{stage}.py", *files], reads, root)
    for name in exported(reads, settings.model):
        text += f"{jsonl.read_one(exports() / f'{name}.json', Manifest).identity}  {name}, exported\n"
    if stops_early(stage, settings):
        text += jsonl.dumps({name: settings.values(name) for name in DECIDING}) + "\n"
    return text


def of_run(settings: Params, chosen: Iterable[Study], stages: Path) -> dict[str, str]:
    """List what the stages without a study depend on, `export` and `report`, by stage."""
    root = Path()
    shown = {*REPORTED, *registry.files_named(settings, root, fields={"judge"})}
    shown |= all_read(chosen, settings, root)
    return {
        "export": code.listing(
            [stages / "export.py"], [PROBES, *registry.files_named(settings, root, fields={"model"})], root
        ),
        "report": code.listing([stages / "report.py"], shown, root, titles=True),
    }


def exports() -> Path:
    """Find the folder of exported models and their manifests."""
    return cache.folder() / "models"


def exported(reads: Iterable[str], model: str) -> list[str]:
    """Name the models among the files that are read, other than the one under test, that were exported."""
    entries = {path.stem for path in map(Path, reads) if path.parent.as_posix() == registry.FOLDER}
    return sorted(name for name in entries - {model} if (exports() / f"{name}.json").is_file())


def link_followed(settings: Params, chosen: Iterable[Study], folder: Path) -> None:
    """Link the files that settings name outside what `check` depends on into a folder that it depends on.

    DVC reads dvc.yaml, which cannot name a path that a setting or a registry entry has; through the links it sees that
    such a file has changed. Links that are not needed any more are removed.

    Raises:
        EquipoiseError: The folder cannot be written.
    """
    root = Path()
    covered = {Path(dep) for dep in load_yaml(root / PIPELINE, Pipeline).stages["check"].deps}
    reads = all_read(chosen, settings, root)
    files = {path for name in reads for path in code.read_files(name, root)}
    files |= {exports() / f"{name}.json" for name in exported(reads, settings.model)}
    links = {_inside(path): path.absolute() for path in files if covered.isdisjoint((path, *path.parents))}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for link in [path for path in folder.rglob("*") if path.is_symlink()]:
            if links.get(link.relative_to(folder)) != link.readlink():
                link.unlink()
        for name, path in links.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(path)
    except OSError as error:
        raise EquipoiseError(f"{folder}: cannot be written ({error.strerror}): correct its permissions") from error


def _inside(path: Path) -> Path:
    """Give the place of a link below its folder: the path itself, where it is of the project."""
    parts = ("up" if part == ".." else part for part in path.parts if part != path.anchor)
    return Path(*parts)
