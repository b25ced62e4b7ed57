"""What the processes of a test session share: a folder, in which the first that needs something makes it for all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

FOLDERS: list[Path] = []
"""The session's folder alone, once `conftest` knows it."""


def once(name: str, make: Callable[[Path], None]) -> Path:
    """Give the session's folder of a name, which `make` fills where no process has; nobody changes it later."""
    (session,) = FOLDERS
    folder, made = session / name, session / f"{name}.made"
    with FileLock(session / f"{name}.lock"):
        if not made.is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
