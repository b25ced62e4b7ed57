"""Make a checkout ready for DVC, which cannot see these things before it runs a stage.

    python -m equipoise.pipeline.ready

puts a torn dvc.lock together again, removes links to files that are gone, and lets `check` record an environment that
has changed; it prints a line for each. `make repro` does so first, and `equipoise doctor` too.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from equipoise.core import dvc_lock, jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.models.environment import FILE, Environment

FOLLOWED = Path("data/followed")
"""The links to files that settings name (`equipoise.pipeline.depends.link_followed`)."""


def refresh(root: Path = Path()) -> Iterator[str]:
    """Do all three; yield a line for each fault. Raises EquipoiseError if dvc.lock is torn and has no whole copy."""
    if line := dvc_lock.heal(root):
        yield line
    yield from remove_dangling(root)
    if (file := root / "data" / FILE).is_file():
        recorded, current = jsonl.read_one(file, Environment), Environment.of_project(root)
        if changed := recorded.differences(current):
            # Its stage then runs, though nothing that DVC sees has changed.
            file.unlink()
            yield f"{file}: what computes has changed ({', '.join(changed)}): all stages that compute run again"


def remove_dangling(root: Path = Path()) -> Iterator[str]:
    """Remove links to files that are gone, at which DVC stops; yield a line for each."""
    for link in sorted((root / FOLLOWED).rglob("*")):
        if link.is_symlink() and not link.exists():
            yield f"{link}: removed, since {link.readlink()} is gone"
            link.unlink()


if __name__ == "__main__":
    try:
        for line in refresh():
            sys.stderr.write(f"{line}\n")
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
