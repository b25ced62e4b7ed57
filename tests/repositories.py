"""Git repositories of tests, and commands in them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PRIVATE = ("DVC_NO", "DVC_ROOT", "GIT_", "PYTHON")
"""Variables of this process that a user does not have."""


def run(folder: Path, *command: str) -> str:
    """Run a command in a folder, as in an activated environment; another exit code than 0 fails the test."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DVC_NO", "DVC_ROOT", "PYTHON", "GIT_"))
    }
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def commit(folder: Path, tag: str) -> None:
    """Commit everything and tag it."""
    author = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    run(folder, "git", "add", "--all")
    run(folder, "git", *author, "commit", "--quiet", "--message", tag)
    run(folder, "git", "tag", tag)
