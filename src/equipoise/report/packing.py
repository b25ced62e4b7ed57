"""The making of an evidence pack from the last run of a checkout."""

from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from equipoise.core import jsonl, params
from equipoise.core import provenance as made
from equipoise.core.code import read_files
from equipoise.core.errors import EquipoiseError
from equipoise.core.params import Params
from equipoise.figures.layout import read_result
from equipoise.figures.options import Decision
from equipoise.figures.study import Study
from equipoise.judge.readers import open_reader
from equipoise.models import registry
from equipoise.models.environment import FILE as ENVIRONMENT
from equipoise.pipeline import frozen, steps
from equipoise.pipeline.depends import all_read
from equipoise.pipeline.run import MANIFEST, Run
from equipoise.report import evidence
from equipoise.report.inputs import ALWAYS, inputs
from equipoise.report.page import identity
from equipoise.report.verify import DATA, Readings, files_of
from equipoise.report.words import in_words
from equipoise.studies.registry import chosen

WEIGHTS = {".bin", ".gguf", ".onnx", ".pt", ".safetensors"}
"""Suffixes of weights, which a pack names by their sha256 alone."""
PAGE = Path("report/index.html")


def pack() -> bytes:
    """Pack the last run of the checkout in the working folder.

    The judge is asked for its readings of the run's responses, which its cache has, or computes again.

    Raises EquipoiseError for a run that is not complete, or whose judgements are not those of its judge.
    """
    settings = params.load()
    files = {name: Path(name).read_bytes() for name in _names(settings)}
    files |= {
        files_of(study.name)["readings"]: _readings(study, settings) for study in chosen(settings) if study.judged
    }
    head = _head(evidence.sha256s(files))
    decision = settings.section("decision", Decision)
    results = {study: read_result(DATA, study, decision) for study in chosen(settings)}
    files[evidence.REPORT] = in_words(head, Path(), settings, results).encode()
    return evidence.write(head.model_copy(update={"files": evidence.sha256s(files)}), files)


def _names(settings: Params) -> list[str]:
    """Name the files of the run, in order; one that is missing is an EquipoiseError."""
    # The report describes the judge of the settings, whether a study asks it or not.
    read_by = all_read(chosen(settings), settings, Path()) | {*registry.files_named(settings, Path(), fields={"judge"})}
    read = [path for name in read_by for path in read_files(name, Path())]
    if outside := [path for path in read if path.is_absolute() or ".." in path.parts]:
        raise EquipoiseError(f"{outside[0]}: outside of the project: move it there, since a pack has no other files")
    named = {Path(name) for name in (*ALWAYS, f"data/{MANIFEST}", f"data/{ENVIRONMENT}")}
    named |= {Path(file.path) for file in inputs(settings, Path())}
    if (plan := DATA / frozen.FILE).is_file():
        named.add(plan)
    for study in settings.studies:
        named |= {Path(name) for what, name in files_of(study).items() if what != "readings"}
        named |= set((DATA / study / "built").glob("*.jsonl"))
    names = sorted(path.as_posix() for path in named.union(read) if path.suffix not in WEIGHTS)
    if missing := [name for name in names if not Path(name).is_file()]:
        raise EquipoiseError(f"{missing[0]}: no such file: run `dvc repro`, or `make pull`, then pack")
    return names


def _readings(study: Study, settings: Params) -> bytes:
    """Ask the judge for its readings of a study's responses, and compare the judgements with those of the run."""
    names = files_of(study.name)
    with TemporaryDirectory() as folder, open_reader(settings.judge, Path()) as judge:
        run = Run(study.name, Path(folder), settings)
        for path in _linked(study):
            (Path(folder) / path.relative_to(DATA)).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path.relative_to(DATA)).write_bytes(path.read_bytes())
        readings = Readings(study.name, (), judge)
        steps.step(study.name, "score")(run, reader=readings.reader)
        if run.judgements.read_bytes() != Path(names["judgements"]).read_bytes():
            message = f"{names['judgements']}: not what the judge {settings.judge} reads in the responses here"
            raise EquipoiseError(f"{message}: run `dvc repro --force score@{study.name}`, then pack")
        kept = Path(folder) / "readings.jsonl"
        jsonl.write(kept, readings.known.values())
        return kept.read_bytes()


def _linked(study: Study) -> Iterable[Path]:
    """List what `score` of a study reads below `data`."""
    read = [path for name in study.reads["score"] for path in read_files(name, Path())]
    rows = (Path(files_of(study.name)[name]) for name in ("asked", "responses"))
    manifest = DATA / MANIFEST
    return [*read, *rows, manifest, *(DATA / study.name / "built").glob("*.jsonl")]


def _head(files: dict[str, str]) -> evidence.Pack:
    """Say what the pack is: its code, its dates, and the sha256 of its files."""
    text = jsonl.read_text(PAGE) if PAGE.is_file() else ""
    here = made.made(identity(text) or "none", Path())
    return evidence.Pack(
        schema=evidence.FORMAT,
        equipoise=metadata.version("equipoise"),
        code=evidence.code(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=here.commit,
        edited=here.n_edited,
        run=made.read(PAGE.with_name(made.FILE), identity(text)) if text else None,
        files=files,
    )
