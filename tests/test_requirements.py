"""Tests of what is installed: every package with hashes, at the tested version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKED = ("build.txt", "dev.txt", "runtime.txt", "torch.txt", "weights.txt")


def locked(name: str) -> dict[str, str]:
    """Give the version of each package of a file, by its normal name."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return {normal(package): version for package, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)}


def normal(name: str) -> str:
    """Give the name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", [*LOCKED, "optimum.txt"])
def test_every_package_has_hashes(name: str) -> None:
    """Each requirement is one version of one package, and is followed by a sha256."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    assert lines
    for line in lines:
        assert re.match(r"[\w.-]+==[^\s;]+( ; [^\\]+?)?\s+--hash=sha256:[0-9a-f]{64}", line), line[:80]


def test_locked_versions_are_the_tested_ones() -> None:
    """A package that was tested has that version in the lock; each is in one file."""
    tested = locked("constraints.txt")
    files = [locked(name) for name in LOCKED]
    names = [name for lock in files for name in lock]

    assert len(names) == len(set(names))
    for versions in files:
        assert {name: version for name, version in versions.items() if tested.get(name, version) != version} == {}


def test_optimum_has_a_package_of_its_own_only_where_it_must() -> None:
    """What a run has in the version that optimum requires is not locked for it again."""
    run = locked("runtime.txt") | locked("torch.txt")

    assert {name for name, version in locked("optimum.txt").items() if run.get(name) == version} == set()


def test_the_lock_has_what_pyproject_names() -> None:
    """Nothing that the project or its tests require is left to be resolved."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    required = re.findall(r'^  "([\w.-]+)[>=<\[]', project, re.MULTILINE)
    names = {name for file in LOCKED for name in locked(file)}

    assert {normal(name) for name in required} - names == set()
    assert re.search(r'requires = \["hatchling==([\d.]+)"\]', project)[1] == locked("build.txt")["hatchling"]  # type: ignore[index]
