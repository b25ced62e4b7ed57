"""When, where and from which commit a run was made: what differs between equal runs, and so is in no output of DVC.

The stage `report` writes it to `report/run.js`, beside the page, which DVC does not know and Git ignores. The file
names the page that it belongs to, so that one left by an earlier run is not taken for that of this run.
"""

import json
import platform
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Frozen, Text
from equipoise.core.system import cores, versions

FILE = "run.js"
BEFORE, AFTER = "window.equipoiseRun = ", ";\n"
"""The statement around the record, by which a page on disk can load it."""
PACKAGES = (
    *("equipoise", "numpy", "scipy", "onnxruntime", "onnxruntime-gpu", "tokenizers", "torch", "transformers", "vllm"),
    *("bitsandbytes", "openai", "ray", "vl-convert-python", "dvc"),
)
"""Packages that compute, fetch or draw something of a run."""
WRITTEN = ("dvc.lock", "metrics", "plots", "archive", "results")
"""What a run and its recording write themselves: a change of these files does not make a commit another one."""
SHOWN = 20
"""The most files that are named as edited."""
PATIENCE = 60
"""Seconds that Git, or the driver of the GPUs, may take."""
CPUS = Path("/proc/cpuinfo")


def _dated(text: str) -> str:
    datetime.fromisoformat(text)
    return text


class Made(Frozen):
    """How a page was made.

    `page` is the page's id, `date` the time in UTC at which it was written. `commit` is None where Git does not know.
    `edited` names the files that differ from the commit, new ones included, those that Git ignores and `WRITTEN`
    excepted: at most `SHOWN` of the `n_edited`. `processor` and `gpus` are those of the machine that wrote the page.
    """

    page: Text
    date: Annotated[Text, AfterValidator(_dated)]
    commit: str | None
    n_edited: int
    edited: tuple[str, ...]
    python: Text
    packages: dict[str, str]
    system: Text
    processor: str
    gpus: tuple[str, ...]


def made(page: str, root: Path) -> Made:
    """Say how the page with an id is made here and now; `root` is the project's."""
    commit, edited = _output(("git", "rev-parse", "HEAD"), root), changed(root)
    if commit is None or edited is None:
        commit, edited = None, []
    return Made(
        page=page,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=commit and commit.strip(),
        n_edited=len(edited),
        edited=tuple(edited[:SHOWN]),
        python=platform.python_version(),
        packages=versions(PACKAGES),
        system=platform.platform(),
        processor=processor(),
        gpus=tuple((_output(("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"), root) or "").splitlines()),
    )


def changed(root: Path) -> list[str] | None:
    """List the files that differ from the last commit, sorted, but for those that a run writes; None without Git."""
    excluded = [f":(exclude){name}" for name in WRITTEN]
    command = ("git", "--no-optional-locks", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
    listed = _output((*command, "--", ".", *excluded), root)
    return None if listed is None else sorted(line[3:] for line in listed.split("\0") if line)


def processor() -> str:
    """Name this machine's processor, with the number of cores that the process may use."""
    text = CPUS.read_text(encoding="utf-8") if CPUS.is_file() else ""
    name = next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), "")
    return f"{name or platform.processor() or platform.machine()}, {cores()} cores"


def write(path: Path, record: Made) -> None:
    """Write the record as a script that a page can load from disk."""
    jsonl.write_text(path, f"{BEFORE}{json.dumps(record.model_dump(mode='json'), sort_keys=True, indent=1)}{AFTER}")


def read(path: Path, page: str) -> Made | None:
    """Read the record of the page with an id; None if there is no file, or it belongs to another page.

    Raises EquipoiseError for a malformed file.
    """
    if not path.is_file():
        return None
    text = jsonl.read_text(path)
    if not (text.startswith(BEFORE) and text.endswith(AFTER)):
        raise EquipoiseError(f"{path}: not written by the stage report: run `dvc repro --force --single-item report`")
    record = jsonl.parse(str(path), text[len(BEFORE) : -len(AFTER)], Made)
    return record if record.page == page else None


def _output(command: Sequence[str], root: Path) -> str | None:
    """Run a program and give what it prints; None where it is absent or fails."""
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603  (of constants)
            (program, *command[1:]), cwd=root, capture_output=True, text=True, timeout=PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout
