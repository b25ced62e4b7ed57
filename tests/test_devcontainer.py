"""The devcontainer is one in which the README's two commands work: its Python, its tools and what it runs exist."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SIZE = re.compile(r"(\d+)gb")


@pytest.fixture(scope="module")
def container() -> dict[str, Any]:
    """Read the file, which is JSON without comments."""
    configuration: dict[str, Any] = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    return configuration


def test_it_has_only_properties_of_the_specification(container: dict[str, Any]) -> None:
    """Every property is one that containers.dev names, and an image is given as a repository with a tag."""
    known = {"name", "image", "hostRequirements", "containerEnv", "postCreateCommand", "customizations"}

    assert container.keys() == known
    assert re.fullmatch(r"mcr\.microsoft\.com/devcontainers/python:3\.\d+-bookworm", container["image"])
    assert container["customizations"].keys() == {"vscode"}


def test_its_python_is_one_that_is_tested(container: dict[str, Any]) -> None:
    """The image's Python is in the workflow's matrix, and not older than the project requires."""
    python = re.search(r":(3\.\d+)", container["image"])[1]  # type: ignore[index]  # held above
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    matrix = re.search(r"python: (\[.*\])", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))

    assert python in json.loads(matrix[1])  # type: ignore[index]  # the workflow has one
    assert float(python[2:]) >= float(re.fullmatch(r">=3\.(\d+)", project["requires-python"])[1])  # type: ignore[index]


def test_it_installs_by_a_target_of_the_makefile(container: dict[str, Any]) -> None:
    """What it runs once made is a target of make that installs everything, as both commands of the README do."""
    program, target = container["postCreateCommand"].split()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert program == "make"
    assert re.search(rf"^{target}: \.venv/installed$", makefile, re.MULTILINE)
    assert re.search(r"^repro: \.venv/installed$", makefile, re.MULTILINE)


def test_it_asks_for_a_machine_that_holds_the_run(container: dict[str, Any]) -> None:
    """Export and judge take less than 4 GB of memory, what is installed with its caches less than 16 GB of disk."""
    asked = container["hostRequirements"]
    memory, storage = (int(SIZE.fullmatch(asked[name])[1]) for name in ("memory", "storage"))  # type: ignore[index]

    assert asked["cpus"] >= 2
    assert (memory >= 4, storage >= 16) == (True, True)
