"""dvc.yaml says the truth about what each stage needs and makes."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from equipoise.report.plots.catalogue import ALL

ROOT = Path(__file__).parents[1]
PIPELINE: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
STAGES: dict[str, dict[str, Any]] = PIPELINE["stages"]


def paths(stage: dict[str, Any], *kinds: str) -> set[str]:
    """List the paths that a stage names under some of deps, outs, metrics, plots."""
    return {entry if isinstance(entry, str) else next(iter(entry)) for kind in kinds for entry in stage.get(kind, ())}


def is_type_checking(node: ast.AST) -> bool:
    """Tell whether a node is `if TYPE_CHECKING:`, which does not run."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imported(node: ast.AST) -> set[str]:
    """Name every module that code imports when it runs, in functions too; `from a import b` gives a and a.b."""
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            names |= {alias.name for alias in child.names}
        elif isinstance(child, ast.ImportFrom) and child.module:
            names |= {child.module, *(f"{child.module}.{alias.name}" for alias in child.names)}
        names |= imported(child)
    return names


def module_file(name: str) -> str | None:
    """Find the file of one of our modules; None for a name that is no module of ours."""
    home = {"equipoise": "src", "workshop": "judge"}.get(name.split(".", maxsplit=1)[0])
    if home is None:
        return None
    base = ROOT / home / name.replace(".", "/")
    found = (path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file())
    return next((path.relative_to(ROOT).as_posix() for path in found), None)


def closure(script: str) -> set[str]:
    """List the files of ours that a script can import, packages' `__init__` included."""
    found: set[str] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for name in imported(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            parts = name.split(".")
            parents = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
            waiting += [file for parent in parents if (file := module_file(parent))]
    return found


@pytest.mark.parametrize("name", STAGES)
def test_deps_hold_the_import_closure(name: str) -> None:
    """A stage depends on exactly the code that it can import: DVC does not see imports."""
    code = {path for path in paths(STAGES[name], "deps") if path.endswith(".py")}

    assert code == closure(f"stages/{name}.py")


@pytest.mark.parametrize("name", STAGES)
def test_every_path_of_a_command_is_a_dep_or_an_out(name: str) -> None:
    """The command line is the edge list: each path on it is a dep, an out, or a folder of some."""
    declared = paths(STAGES[name], "deps", "outs", "metrics", "plots")
    words = shlex.split(STAGES[name]["cmd"].replace("${python}", ""))

    for word in words:
        assert any(path == word or path.startswith(f"{word}/") for path in declared), word


@pytest.mark.parametrize("name", STAGES)
def test_deps_and_outs_are_files(name: str) -> None:
    """A dep that is a folder holds YAML alone, never caches, and no out has the model's name in its path."""
    for path in paths(STAGES[name], "deps"):
        files = (ROOT / path).rglob("*.*") if (ROOT / path).is_dir() else ()
        assert all(file.suffix == ".yaml" for file in files), path
    for path in paths(STAGES[name], "outs", "metrics", "plots"):
        assert "${" not in path


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_is_described_and_its_words_agree(name: str) -> None:
    """A stage has a description and a script of its name, and reads no other stage's section of params.yaml."""
    sections = {entry.split(".")[0] for entry in STAGES[name].get("params", ()) if isinstance(entry, str)}

    assert STAGES[name]["desc"].endswith(".")
    assert (ROOT / "stages" / f"{name}.py").is_file()
    assert sections <= {name, "model", "judge", "items"}


def test_only_metrics_and_plots_are_kept_in_git() -> None:
    """Every other out is in DVC's cache, where `dvc checkout` finds it."""
    for stage in STAGES.values():
        for entry in stage.get("outs", ()):
            path, options = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))
            assert options.get("cache", True) is not path.startswith(("metrics/", "plots/")), path


def test_plots_are_those_that_the_library_draws() -> None:
    """dvc.yaml describes each picture as the library does."""
    described = {name: plot for entry in PIPELINE["plots"] for name, plot in entry.items()}

    assert described == {name: plot.described(f"plots/{name}.json") for name, plot in ALL.items()}


def test_stages_are_thin() -> None:
    """A stage script reads, calls the library and writes, in fewer than 40 lines."""
    for script in (ROOT / "stages").glob("*.py"):
        assert len(script.read_text(encoding="utf-8").splitlines()) < 40, script
