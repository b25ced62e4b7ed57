"""Saved outputs as a model of the registry: the files that the commands of `equipoise import` write for them."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.overwriting import require_own, rows_of_kind
from equipoise.core.printing import report, written
from equipoise.core.prompts import Response
from equipoise.core.yamlfile import read_yaml
from equipoise.materials.vignette import ROLES
from equipoise.models import registry
from equipoise.studies.cases.rows import Case, Output, arms_of, saved_response

NAME = re.compile(r"[a-z0-9_]+")
CASES, REPLAYS = Path("data/cases"), Path("data/replays")
HEAD = "# Saved outputs to cases of others, as `equipoise import` wrote them: no weights, no prompts of ours.\n"


class Replay(NamedTuple):
    """The files of one model's saved outputs: its entry in the registry, the outputs and the cases."""

    name: str
    entry: Path
    answers: Path
    cases: Path


def replay_files(name: str, *, force: bool) -> Replay:
    """Name the files of a model; a bad name, or an existing file of another origin, is an EquipoiseError."""
    if not NAME.fullmatch(name):
        raise EquipoiseError(f"--name {name!r}: use lower-case letters, digits and underscores, as in replay_piaget8b")
    entry = Path(registry.FOLDER) / f"{name}.yaml"
    answers, cases = REPLAYS / f"{name}.jsonl", CASES / f"{name}.jsonl"
    for path, own in (
        (entry, lambda path: _replays(path, answers)),
        (answers, rows_of_kind(Response)),
        (cases, rows_of_kind(Case)),
    ):
        require_own(path, own, force=force, instead="choose another --name")
    return Replay(name, entry, answers, cases)


def write_replay(files: Replay, cases: Sequence[Case], outputs: Sequence[Output], *, title: str, licence: str) -> None:
    """Write the cases, the outputs and the entry that names both: all of them or none."""
    with _all_or_none((files.cases, files.answers, files.entry)):
        jsonl.write(files.cases, cases)
        jsonl.write(files.answers, [saved_response(output) for output in outputs])
        described = {
            "title": f"{title}, saved outputs",
            "licence": licence,
            "backend": "replay",
            "file": files.answers.as_posix(),
            "sha256": jsonl.sha256(files.answers),
            "answers": ["cases"],
            "cases": {"file": files.cases.as_posix(), "sha256": jsonl.sha256(files.cases)},
        }
        text = yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=120)
        jsonl.write_text(files.entry, HEAD + text)
        registry.load_entry(files.name, Path())


def report_replay(
    files: Replay, cases: Sequence[Case], outputs: Sequence[Output], *remarks: str, as_json: bool
) -> None:
    """Print what was written, how many pairs have both arms, and how to measure them."""
    given = sum(output.ok for output in outputs)
    arms = arms_of(files.cases.as_posix(), cases)
    pairs = sum(len(roles) == len(ROLES) for roles in arms.values())
    single = f"; {len(arms) - pairs} pairs lack an arm and count as single cases" if pairs < len(arms) else ""
    report(
        written(
            {files.entry: 1, files.answers: len(outputs), files.cases: len(cases)},
            model=files.name,
            given=given,
            pairs=pairs,
        ),
        f"{files.entry}: {given} outputs to {len(cases)} cases, in {files.answers} and {files.cases}",
        f"{pairs} pairs{single}" if arms else "",
        *remarks,
        f"measure them with: dvc exp run -S model={files.name} -S 'studies=[cases]'",
        as_json=as_json,
    )


def _replays(entry: Path, answers: Path) -> bool:
    """Whether an entry of the registry names saved outputs in `answers`."""
    value = read_yaml(entry)
    return isinstance(value, dict) and (value.get("backend"), value.get("file")) == ("replay", answers.as_posix())


@contextmanager
def _all_or_none(paths: Sequence[Path]) -> Iterator[None]:
    """Restore or remove the files if not all of them could be written."""
    places = [Path(os.path.realpath(path)) for path in paths]
    kept: dict[Path, Path] = {}
    with ExitStack() as copies:
        for path in filter(Path.is_file, places):
            kept[path] = path.with_name(f".{path.name}.before")
            copies.callback(kept[path].unlink, missing_ok=True)
            jsonl.write_bytes(kept[path], path.read_bytes())
        try:
            yield
        except BaseException:
            for path in places:
                # A copy is renamed, which needs no room on the disk.
                kept[path].replace(path) if path in kept else path.unlink(missing_ok=True)
            raise
