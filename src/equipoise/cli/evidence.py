"""`equipoise verify`, and the evidence of `equipoise pack`: a run in one file that a stranger can check."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from equipoise.core import params, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, sha256, write_bytes
from equipoise.core.overwriting import Force, is_same, require_own
from equipoise.core.progress import progress
from equipoise.report import evidence
from equipoise.report.verify import Difference, differences, environment_notes, unrepeated
from equipoise.report.words import HEADING


def pack_evidence(path: Path, *, force: bool, as_json: bool) -> None:
    """Pack the last run as evidence, and verify the pack before a file of that name is replaced."""
    from equipoise.report.packing import pack

    require_own(path, _is_pack, force=force)
    with progress("pack"), TemporaryDirectory() as folder:
        content = pack()
        trial = Path(folder) / "run.zip"
        write_bytes(trial, content)
        difference = next(differences(evidence.read(trial)), None)
    if difference is not None:
        raise EquipoiseError(f"{difference}: other code or settings made this run: run `dvc repro`, then pack it again")
    write_bytes(path, content)
    size = path.stat().st_size
    digest = sha256(path)
    told = f"{path}: {size / 1e6:.2f} MB: verified; publish or sign its sha256, {digest}"
    printing.report({"written": {path.as_posix(): size}, "sha256": digest}, told, as_json=as_json)


def verify(
    pack: Annotated[Path, typer.Argument(help="The file that `equipoise pack --evidence` wrote.", metavar="PACK")],
    *,
    report: Annotated[
        Path | None, typer.Option(help="Write the report of a verified pack to this Markdown file.", metavar="FILE")
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: what was found.")] = False,
) -> None:
    """Compute every figure of a pack again from its rows, and name the first that differs.

    Neither the model, a network nor DVC is needed. Exits with 1 where something differs, or the pack is damaged.
    """
    if report is not None:
        if is_same(report, pack):
            raise EquipoiseError(f"{report}: is the pack itself, and would be overwritten: name another with --report")
        require_own(report, _is_report, force=force)
    began = time.monotonic()
    with progress("verify"):
        contents = evidence.read(pack)
        difference = next(differences(contents), None)
    seconds = round(time.monotonic() - began, 1)
    notes = _notes(contents, difference)
    value = {"verified": difference is None, "sha256": sha256(pack), "seconds": seconds, "notes": notes}
    if difference is not None:
        printing.report(value | {"differs": difference._asdict()}, f"differs: {difference}", *notes, as_json=as_json)
        raise typer.Exit(1)
    if report is not None:
        write_bytes(report, contents.files[evidence.REPORT])
    told = f"{pack}: every figure agrees with its rows ({seconds} s), sha256 {value['sha256']}"
    printing.report(value, told, *notes, as_json=as_json)


def _is_pack(path: Path) -> bool:
    """Whether a file is a whole pack; any other is an EquipoiseError."""
    return bool(evidence.read(path).files)


def _is_report(path: Path) -> bool:
    """Whether a file begins as the report of a pack does."""
    return read_text(path).partition("\n")[0].endswith(HEADING)


def _notes(contents: evidence.Contents, difference: Difference | None) -> list[str]:
    """Say what was not repeated, and what may explain a difference."""
    name = params.FILE.as_posix()
    given = unrepeated(_settings(contents)) if name in contents.files else {}
    notes = [f"taken from the pack, not recomputed: {what}: {why}" for what, why in given.items()]
    notes += [
        f"not proven by the pack: its dates ({contents.pack.date}), its commit, and that a model gave the replies"
    ]
    if contents.pack.code != evidence.code():
        notes.append(f"made by other code: equipoise {contents.pack.equipoise}, commit {contents.pack.commit}")
    if difference is not None and (changed := environment_notes(contents)):
        notes.append(f"made in another environment: {', '.join(changed)}")
    return notes


def _settings(contents: evidence.Contents) -> params.Params:
    with TemporaryDirectory() as folder:
        evidence.place(Path(folder), contents.files, [params.FILE.as_posix()])
        return params.load(Path(folder) / params.FILE)
