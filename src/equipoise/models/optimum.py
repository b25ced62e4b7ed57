"""Export encoders to ONNX with optimum, which runs in a process of its own, with packages of its own.

optimum requires an older transformers than the one that runs models. Its packages (requirements/optimum.txt) are
installed once, with their hashes, into a folder of the cache, and lie before those of this environment in that process
alone; torch, onnx and NumPy are this environment's. The process imports no code of this project. It reads a model that
the current transformers has loaded and written: a configuration, and weights as safetensors.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest, read_text
from equipoise.core.shipped import shipped
from equipoise.models.export import make_store, new_folder, versions

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OPSET = 18
"""The version of ONNX's operators, which is optimum's default for encoders."""
LOCK = Path("requirements/optimum.txt")
EXPORT = """
import sys, warnings
warnings.simplefilter("ignore")
from optimum.exporters.onnx import main_export
checkpoint, folder, task, opset = sys.argv[1:]
main_export(checkpoint, folder, task, int(opset), library_name="transformers", do_validation=False)
"""
"""What the process runs. optimum's own comparison with torch is left out: the caller's is stricter."""
INSTALL = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-compile", "--quiet")
UNREACHED = "connect to a package index, or set PIP_NO_INDEX=1 and PIP_FIND_LINKS to a folder with the files it names"


def export_encoder(model: PreTrainedModel, folder: Path, task: str, fix: str) -> None:
    """Export a model in float32: `folder` gets model.onnx and config.json.

    Args:
        model: an encoder with the head of its task, on the CPU.
        folder: an empty folder.
        task: optimum's name of the task, such as fill-mask.
        fix: what helps if this model cannot be exported.

    Raises:
        EquipoiseError: optimum cannot be installed, or cannot export this model.
        OSError: the disk is full.
    """
    folder = folder.resolve()
    # Its configuration has another form since transformers 5; the older one would suppose values of its own.
    reason = "optimum does not read its rotary positions" if getattr(model.config, "rope_parameters", None) else ""
    if not reason:
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            model.save_pretrained(place)
            command = ("-c", EXPORT, place, str(folder), task, str(OPSET))
            reason = _failure(command, place, PYTHONPATH=str(packages()), HF_HUB_OFFLINE="1")
    if os.strerror(errno.ENOSPC) in reason:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if reason:
        raise EquipoiseError(f"a {model.config.model_type} model cannot be exported to ONNX ({reason}): {fix}")


def exporters() -> dict[str, str]:
    """Return the versions of what writes a graph; a name with `optimum/` is a package of optimum's process alone."""
    locked = re.findall(r"^([\w.-]+)==([^\s;]+)", read_text(shipped(LOCK)), re.MULTILINE)
    return versions(("onnx", "torch", "transformers")) | {f"optimum/{name}": version for name, version in locked}


def store() -> Path:
    """Return the folder that holds optimum's packages, a folder for each lock, Python and platform."""
    return cache.folder() / "optimum"


def packages() -> Path:
    """Return the folder with optimum's packages; the first call installs them.

    Other processes wait meanwhile. A folder that exists is complete, since it got its name afterwards.

    Raises:
        EquipoiseError: they cannot be installed; nothing is left behind.
    """
    lock = shipped(LOCK).resolve()
    name = digest([read_text(lock), sys.implementation.cache_tag, sysconfig.get_platform()])[:16]
    folder = (store() / name).resolve()
    if folder.is_dir():
        return folder
    make_store(folder.parent)
    with FileLock(folder.parent / "lock"):
        if not folder.is_dir():
            with new_folder(folder.parent, name) as made:
                command = ("-m", "pip", "install", *INSTALL, "--requirement", str(lock), "--target", str(made))
                if reason := _failure(command, str(made)):
                    raise EquipoiseError(f"{lock}: optimum cannot be installed ({reason}): {UNREACHED}")
    return folder


def _failure(arguments: Sequence[str], folder: str, **variables: str) -> str:
    """Run this Python in a folder, without adding it to the path; return why it failed, in one line, or nothing."""
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(  # noqa: S603  (of constants and of paths that the caller made)
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"the process was stopped by signal {-done.returncode}; 9 is usually a lack of memory"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
    return " ".join(lines[-1].split())[:300] if lines else f"exit code {done.returncode}"
