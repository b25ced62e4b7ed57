"""Tests of what documents the Python interface: the page, the docstrings and the notebook run as they are written."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.api import changes, examples
from equipoise.core.code import closure, module_file
from equipoise.figures import frame
from equipoise.pipeline.steps import STAGES, name_of
from equipoise.studies.cases import api as cases
from equipoise.studies.cases import pairs
from equipoise.studies.questions import api as questions
from equipoise.studies.registry import STUDIES

ROOT = Path(__file__).parents[2]
FUNCTIONS = [name for name in eq.__all__ if inspect.isfunction(getattr(eq, name))]


def test_the_page_runs() -> None:
    """Every example of docs/api.md gives what the page shows."""
    failed, tried = doctest.testfile(str(ROOT / "docs/api.md"), module_relative=False)

    assert (failed, tried >= 8) == (0, True)


@pytest.mark.parametrize(
    "module", [changes, examples, frame, cases, pairs, questions], ids=lambda module: module.__name__
)
def test_docstrings_run(module: object) -> None:
    """Every example of a docstring gives what it shows."""
    names = {name: getattr(eq, name) for name in FUNCTIONS}
    failed, tried = doctest.testmod(module, extraglobs=names)  # type: ignore[arg-type]

    assert (failed, tried > 0) == (0, True)


def test_the_notebook_shows_what_it_gives() -> None:
    """The outputs in docs/api.ipynb are those of its cells, run in order."""
    written = json.loads((ROOT / "docs/api.ipynb").read_text(encoding="utf-8"))

    assert runpy.run_path(str(ROOT / "docs/notebook.py"))["ran"](written) == written


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_takes_gives_and_refuses(name: str) -> None:
    """A docstring has arguments, returns and errors, names every parameter, and the page names the function."""
    function = getattr(eq, name)
    text = inspect.getdoc(function) or ""

    assert [part for part in ("Args:", "Returns:", "Raises:") if part not in text] == []
    assert [parameter for parameter in inspect.signature(function).parameters if f"{parameter}:" not in text] == []
    assert f"{name}(" in (ROOT / "docs/api.md").read_text(encoding="utf-8")


def test_pages_that_docstrings_name_exist() -> None:
    """What `help` names below docs/ is there, in any module of the package."""
    named = {
        (path.name, page)
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for page in re.findall(r"\bdocs/[\w/.-]*\w", ast.get_docstring(node) or "")
    }

    assert named
    assert [reference for reference in sorted(named) if not (ROOT / reference[1]).exists()] == []


def test_no_module_of_ours_uses_the_public_names() -> None:
    """They are loaded by name, which the listing of a stage's code does not see (`equipoise.core.code.closure`)."""
    for path in (file for folder in ("src", "stages", "judge") for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "equipoise":
                assert not {alias.name for alias in node.names} & {*eq.__all__}, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "equipoise":
                assert node.attr not in eq.__all__, path


def test_no_stage_runs_what_people_call() -> None:
    """A change of a command, or of a function of `import equipoise`, reruns no stage of the pipeline."""
    steps = (name_of(study, module) for study in STUDIES for module in (*STAGES, "study", "stopping"))
    entries = [path.relative_to(ROOT) for path in (ROOT / "stages").glob("*.py")]
    entries += [file for name in steps if (file := module_file(name, ROOT))]
    code = {path for entry in entries for path in closure(entry, ROOT)}

    assert code
    assert not [path for path in code if {"api", "cli"} & {*path.parts, path.stem} or path.stem == "commands"]


def test_importing_equipoise_imports_nothing_else() -> None:
    """The functions are imported when one is used, and stay functions beside the packages of the same names."""
    code = (
        "import sys; before = {*sys.modules}; import equipoise\n"
        "assert not {'numpy', 'pandas', 'pydantic', 'typer'} & ({*sys.modules} - before)\n"
        "assert 'judge' in dir(equipoise) and 'equipoise.api.judged' not in sys.modules\n"
        "import equipoise.judge.reading, equipoise.compare.items, equipoise.studies.stigma.rows\n"
        "assert callable(equipoise.judge) and callable(equipoise.compare) and callable(equipoise.stigma)\n"
        "assert not {'torch', 'dvc', 'transformers', 'onnxruntime'} & {*sys.modules}\n"
        "try: equipoise.nothing\n"
        "except AttributeError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "module 'equipoise' has no attribute 'nothing'\n"
