"""Tests of the house: which room may import which, who may name a study, and what the words about the code refer to."""

from __future__ import annotations

import ast
import re
import runpy
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

import equipoise
import projects
from equipoise.core.content import imports
from equipoise.pipeline.steps import STAGES
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
LIBRARY = SRC / "equipoise"
ROOMS: tuple[str, ...] = runpy.run_path(str(ROOT / "docs/architecture_blocks.py"))["ROOMS"]
"""The rooms of the library from the ground up, as docs/architecture.md has them."""
OUTSIDE = ("stages", "benchmarks", "judge")
"""The folders of code that use the library."""
LINES, MOST_ROOMS, MOST_ARROWS = 39_000, 20, 119
EXAMPLE = ".consent"
"""The study of docs/howto/add-study.md, which is in that page alone."""
REGISTRIES = {"studies/registry.py", "studies/public.py"}
"""The modules that name all studies, and the functions of theirs that `import equipoise` offers."""
WORDS = {
    ("__init__.py", "stigma"): "a function of the package",
    ("__init__.py", "vignettes"): "a function of the package",
    ("cli/texts.py", "letters"): "those of options, as are the next",
    ("figures/reading.py", "letters"): "what reads an answer",
    ("figures/study.py", "letters"): "what reads an answer",
    ("published/catalogue.py", "letters"): "published readings",
    ("studies/exam/study.py", "letters"): "what reads an answer",
    ("studies/questions/amqa.py", "letters/"): "a folder of the published files",
    ("studies/questions/study.py", "letters"): "what reads an answer",
    ("materials/stories/library.py", "decisions"): "the folder of the library with what stories ask for",
    ("materials/interchange.py", "cases"): "the list in a file of the interchange format",
    ("models/export.py", "cases"): "a field of a model's entry, and of the manifest",
    ("pipeline/frozen.py", "cases"): "what departs from a plan, in a verdict",
    ("studies/decisions/bench.py", "cases"): "the list in a file of others",
    ("studies/exam/cli.py", "questions"): "the file of the questions, in what a command prints",
    ("studies/vignettes/cli.py", "decisions"): "the heading of a column",
    ("studies/vignettes/commands.py", "cases"): "the name of a command",
    ("studies/vignettes/profiles.py", "cases"): "the heading of a column",
}
"""Strings that are ordinary words, although a study has that name."""
SIBLINGS = {("decisions", "vignettes"), ("letters", "vignettes"), ("vignettes", "cases")}
"""The studies that may import another, and that other: front ends of the vignettes read replies as the cases do."""
COMPUTED = {"__init__.py", "cli/app.py", "cli/running.py", "pipeline/infer.py", "pipeline/steps.py"}
"""Modules that import by a name that is computed: `equipoise.core.code` says why each may."""
FOREIGN = {"dvc", "eq", "metadata", "scipy", "section", "settings"}
"""First parts of dotted names in docstrings that are not modules of ours: packages, and variables in examples."""
SUFFIXES = {"bib", "csv", "eval", "json", "jsonl", "md", "onnx", "py", "safetensors", "svg"}
SUFFIXES |= {"tex", "toml", "txt", "xml", "yaml"}
"""Last parts of dotted names that are names of files."""


@cache
def modules() -> dict[str, Path]:
    """Find every module of the library by its full name."""
    return {_name_of(path): path for path in sorted(LIBRARY.rglob("*.py"))}


def _name_of(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a file once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path: Path) -> set[str]:
    """Name the modules of the library that a file imports, in functions too."""
    return {name for name in imports(tree_of(path)) if name in modules()}


def room_of(module: str) -> str | None:
    """Name the room that a module is in; the package itself is in none."""
    return module.split(".")[1] if "." in module else None


@cache
def arrows() -> dict[tuple[str, str], list[str]]:
    """Find which room imports which, from the library and the folders outside, with the modules that do."""
    importers: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    sources = [(room, name, path) for name, path in modules().items() if (room := room_of(name))]
    sources += [(f"{top}/", str(path), path) for top in OUTSIDE for path in sorted((ROOT / top).rglob("*.py"))]
    for room, name, path in sources:
        for other in {room_of(module) for module in imports_of(path)} - {room, None}:
            importers[room, str(other)].append(name)
    return dict(importers)


def test_every_package_is_a_room() -> None:
    """The rooms that the page on architecture orders are the packages that there are."""
    assert {path.parent.name for path in LIBRARY.glob("*/__init__.py")} == {*ROOMS}


def test_no_room_imports_a_higher_one() -> None:
    """Imports run downwards, so that there is no circle of rooms either."""
    place = {room: number for number, room in enumerate(ROOMS)}
    upward = {pair: names for pair, names in arrows().items() if pair[0] in place and place[pair[1]] > place[pair[0]]}

    assert upward == {}


def test_no_files_import_each_other() -> None:
    """From no module do imports lead back to itself."""
    edges = {name: imports_of(path) - {name} for name, path in modules().items()}
    while leaves := [name for name, targets in edges.items() if not targets & edges.keys()]:
        for name in leaves:
            del edges[name]

    assert sorted(edges) == []


def test_the_house_stays_small() -> None:
    """Rooms, and arrows between them, the folders outside the library included."""
    assert len(ROOMS) + len(OUTSIDE) <= MOST_ROOMS
    assert len(arrows()) <= MOST_ARROWS


@pytest.mark.xfail(strict=True, reason="the library is still to shrink to this size")
def test_the_library_stays_small() -> None:
    """Lines of the library, comments and docstrings included."""
    assert sum(path.read_text(encoding="utf-8").count("\n") for path in modules().values()) <= LINES


def test_a_study_is_a_folder() -> None:
    """The registry names the folders that there are, and each has its declaration, steps, figures and plots."""
    folders = {path.name for path in (LIBRARY / "studies").iterdir() if (path / "__init__.py").exists()}
    parts = ("study", *(stage for stage in STAGES if stage != "infer"), "figures", "plots")

    assert {*STUDIES} == folders
    assert [f"{study}/{part}" for study in folders for part in parts if not _part(study, part).is_file()] == []


def _part(study: str, part: str) -> Path:
    return LIBRARY / "studies" / study / f"{part}.py"


def test_no_module_outside_a_study_names_it() -> None:
    """Shared code is passed a study, or loops over all."""
    assert {_place(module): names for module in modules() if (names := list(_named_by(module)))} == {}


def test_words_that_are_no_names_are_still_needed() -> None:
    """A string that is excused is there."""
    strings = {(_place(name), text) for name, path in modules().items() for _, text in _strings(tree_of(path))}

    assert sorted(WORDS.keys() - strings) == []


def _place(module: str) -> str:
    return modules()[module].relative_to(LIBRARY).as_posix()


def _named_by(module: str) -> Iterator[str]:
    """Yield each import and each string by which a module names a study that is not its own."""
    place = _place(module)
    if place in REGISTRIES:
        return
    own = place.split("/")[1] if place.startswith("studies/") else ""
    foreign = [name for name in STUDIES if name != own and (own, name) not in SIBLINGS]
    yield from sorted(
        name
        for name in imports_of(modules()[module])
        if name.startswith("equipoise.studies.") and name.split(".")[2] in foreign
    )
    forms = _forms(foreign)
    for line, text in _strings(tree_of(modules()[module])):
        if forms.search(text) and (place, text) not in WORDS:
            yield f"line {line}: {text!r}"


def _forms(studies: Iterable[str]) -> re.Pattern[str]:
    """Match a study's name by itself, and in paths, keys of figures, stages and settings: not in running words."""
    name = f"(?:{'|'.join(studies)})"
    key = rf"(?:^|[\s'\"(=`]){name}[./](?!csv|json|yaml|file\b|sha256\b)[a-z_*]"
    return re.compile(rf"^{name}[./]?$|data/{name}\b|@{name}\b|[\[,]{name}\]|\[{name},|{key}")


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines, docstrings apart."""
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.lineno, node.value


def test_imports_are_plain() -> None:
    """What code imports can be read from it, but for the few modules that say why not."""
    computed = {
        path.relative_to(LIBRARY).as_posix()
        for path in modules().values()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Name | ast.alias)
        and (node.id if isinstance(node, ast.Name) else node.name) in {"import_module", "__import__"}
    }

    assert computed == COMPUTED


def test_docstrings_refer_to_what_there_is() -> None:
    """A dotted name in backticks is a module or an attribute of ours, unless it is a setting or begins as others do."""
    settings = {*yaml.safe_load(projects.committed("params.yaml")), *STUDIES}
    wrong = [
        f"{_place(module)}: {name}"
        for module, path in modules().items()
        for text in _docstrings(tree_of(path))
        for name in re.findall(r"`([a-z_]\w*(?:\.\w+)+)`", text)
        if name.split(".")[0] not in FOREIGN | settings and name.rpartition(".")[2] not in SUFFIXES
        if not _is_there(name)
    ]

    assert wrong == []


def test_pages_and_settings_refer_to_what_there_is() -> None:
    """Full names of modules in the documentation and in files of settings, and paths of code in the documentation."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    files = [*pages, *ROOT.glob("*.yaml"), *(ROOT / "data").rglob("*.yaml")]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in texts.items()
        for name in re.findall(r"\bequipoise(?:\.[A-Za-z_]\w*)+", text)
        if not _is_there(name) and name.rpartition(".")[2] not in SUFFIXES and EXAMPLE not in name
    ]
    wrong += [
        f"{path.relative_to(ROOT)}: {name}"
        for path in pages
        for name in re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)+\.py)`", texts[path])
        if not any((base / name).is_file() for base in (ROOT, LIBRARY))
    ]

    assert wrong == []


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def _is_there(name: str) -> bool:
    """Whether a dotted name is a module or an attribute of one: given in full, or by the last part of the module's."""
    first, _, rest = name.partition(".")
    if first == "equipoise":
        return _resolves(name) or rest in equipoise.__all__
    named = [module for module in modules() if module.endswith(f".{first}")]
    return any(_resolves(f"{module}.{rest}") for module in named)


def _resolves(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module, rest = ".".join(parts[:length]), parts[length:]
        if module in modules():
            return not rest or rest[0] in _attributes(tree_of(modules()[module]).body)
    return False


def _attributes(body: Iterable[ast.stmt]) -> Mapping[str, ast.stmt]:
    """Find what the statements of a module define or import, by name."""
    attributes: dict[str, ast.stmt] = {}
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                attributes[name] = statement
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                attributes |= {alias.asname or alias.name: statement for alias in names}
            case ast.Assign() | ast.AnnAssign():
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                attributes |= {
                    node.id: statement for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
                }
            case _:
                pass
    return attributes
