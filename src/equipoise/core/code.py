"""Which files a stage imports and reads, so that it reruns when one of them has changed, and only then.

Imports are found in the text of the code: a module that is imported by a name that is computed is not seen.
`equipoise.pipeline.depends.modules` lists those that stages load. No stage uses what `equipoise` and `equipoise.cli`
load on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from equipoise.core import content
from equipoise.core.errors import EquipoiseError

README = "README.md"
"""What a folder's files are about, which no stage reads."""
MODELS = "models"
"""The folder of the registry, whose entries have titles."""
HOMES = {"equipoise": Path("src")}
"""Our packages, each with the folder that it is in."""


def closure(script: Path, root: Path, homes: Mapping[str, Path] = HOMES) -> list[Path]:
    """List the files of ours that a script can import, from `root`, in order.

    Imports within functions count, those for types alone (`if TYPE_CHECKING:`) do not; packages' `__init__` and the
    files beside it that hold no code (a page's template) belong to every module of the package. The exception is
    `equipoise/__init__.py`, which loads public functions by name on first use: no module of ours uses one of them.
    """
    files: set[Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path in files:
            continue
        files.add(path)
        if path.name == "__init__.py":
            beside = [sibling for sibling in (root / path).parent.iterdir() if sibling.is_file()]
            files |= {sibling.relative_to(root) for sibling in beside if sibling.suffix not in {".py", ".pyc"}}
        named = {parent for name in content.imported(root / path) for parent in _with_parents(name)}
        waiting += [file for name in named if (file := module_file(name, root, homes))]
    return sorted(files)


def listing(entries: Iterable[Path], reads: Iterable[str], root: Path, *, titles: bool = False) -> str:
    """List the files that a stage depends on, a line each: a digest of what the file says, and its path.

    `entries` are its script and the modules that it loads by name, with all that these import; `reads` are the files
    and folders that it reads besides settings and the outs of others. All are relative to `root`, but a file of the
    user's own may lie elsewhere. The titles of models and judges count with `titles` alone.

    Raises:
        EquipoiseError: a file or folder that is read is not there, or is malformed YAML.
    """
    files = {path for entry in entries for path in closure(entry, root)}
    for name in reads:
        files |= read_files(name, root)
    lines = []
    for path in sorted(files):
        without = "title" if path.parts[0] == MODELS and not titles else ""
        lines.append(f"{content.digest(root / path, without=without)}  {path.as_posix()}\n")
    return "".join(lines)


def read_files(name: str, root: Path) -> set[Path]:
    """List the files of a file or folder that a stage reads, from `root`, but no README.

    Raises:
        EquipoiseError: it is not there.
    """
    if not (root / name).exists():
        fix = f"correct the setting that names it, or restore it (`git checkout -- {name}`)"
        raise EquipoiseError(f"{name}: a stage reads it, and there is no such file: {fix}")
    paths = [path for path in (root / name, *(root / name).rglob("*")) if path.is_file() and path.name != README]
    return {path.relative_to(root) if path.is_relative_to(root) else path for path in paths}


def module_file(name: str, root: Path, homes: Mapping[str, Path] = HOMES) -> Path | None:
    """Find the file of one of our modules, from `root`; None for a name that is not a module of ours."""
    home = homes.get(name.split(".", maxsplit=1)[0])
    return None if home is None else _module_file(name, root, home)


@cache
def _module_file(name: str, root: Path, home: Path) -> Path | None:
    base = home / name.replace(".", "/")
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if (root / path).is_file()), None)


def _with_parents(name: str) -> list[str]:
    """Give a module's name after those of its packages, which are imported with it."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
