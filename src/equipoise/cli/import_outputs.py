"""`equipoise import outputs`: a model's saved outputs as a model of the registry, replayed."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml

from equipoise.cases.outputs import read_outputs, require_cases, saved
from equipoise.cases.rows import read_cases
from equipoise.cli.printing import AsJson, print_json, written
from equipoise.core import records
from equipoise.core.errors import EquipoiseError
from equipoise.core.yamlfile import read_yaml
from equipoise.models import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAME = re.compile(r"[a-z0-9_]+")
CASES, REPLAYS = Path("data/cases"), Path("data/replays")
HEAD = "# Saved outputs to cases of others, as `equipoise import outputs` wrote them: no weights, no prompts of ours.\n"


def import_outputs(
    file: Annotated[
        Path, typer.Argument(help="Saved outputs of one model, JSONL.", metavar="OUTPUTS", show_default=False)
    ],
    *,
    name: Annotated[str, typer.Option(help="The model's name in the registry, for -S model=NAME.")],
    cases: Annotated[Path, typer.Option(help="The cases asked: JSON as published, or imported JSONL.")],
    title: Annotated[
        str | None, typer.Option(help="What the model is called.", show_default="the outputs' own")
    ] = None,
    licence: Annotated[str, typer.Option(help="The terms of the outputs.")] = "not stated",
    as_json: AsJson = False,
) -> None:
    """Import saved outputs as a model, so that `dvc exp run -S model=NAME` measures it without its weights."""
    entry = Path(registry.FOLDER) / f"{name}.yaml"
    answers, asked = REPLAYS / f"{name}.jsonl", CASES / f"{name}.jsonl"
    _require_free(name, entry, answers)
    rows = read_cases(cases)
    outputs = read_outputs(file)
    require_cases(str(file), outputs, {row.key: row for row in rows})
    twice = [key for key, times in Counter(output.id for output in outputs).items() if times > 1]
    if twice:
        message = f"{file}: id {twice[0]!r} stands in several modes: give a file, and a name, for each mode"
        raise EquipoiseError(message)
    called = title or next((output.model for output in outputs if output.model), name)
    with _whole_or_not_at_all((asked, answers, entry)):
        records.write(asked, rows)
        records.write(answers, [saved(output) for output in outputs])
        described = {
            "title": f"{called}, saved outputs",
            "licence": licence,
            "backend": "replay",
            "file": answers.as_posix(),
            "sha256": records.sha256(answers),
            "answers": ["cases"],
            "cases": {"file": asked.as_posix(), "sha256": records.sha256(asked)},
        }
        records.write_text(entry, HEAD + yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=120))
        registry.load_entry(name, Path())
    given = sum(output.ok for output in outputs)
    if as_json:
        print_json(written({entry: 1, answers: len(outputs), asked: len(rows)}, model=name, given=given))
        return
    typer.echo(f"{entry}: {given} outputs to {len(rows)} cases, in {answers} and {asked}")
    typer.echo(f"measure them with: dvc exp run -S model={name}")


def _require_free(name: str, entry: Path, answers: Path) -> None:
    """Refuse a name that no setting can hold, and one that another model has."""
    if not NAME.fullmatch(name):
        message = f"--name {name!r}: use small letters, digits and _, as in replay_piaget8b"
        raise EquipoiseError(message)
    if not entry.exists():
        return
    value = read_yaml(entry)
    if not isinstance(value, dict) or (value.get("backend"), value.get("file")) != ("replay", answers.as_posix()):
        message = f"{entry}: stands for another model: choose another --name, or delete that file"
        raise EquipoiseError(message)


@contextmanager
def _whole_or_not_at_all(paths: Sequence[Path]) -> Iterator[None]:
    """Put files back as they were, or away, where not all of them could be written."""
    before = {path: path.read_bytes() if path.is_file() else None for path in paths}
    try:
        yield
    except BaseException:
        for path, content in before.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)
        raise
