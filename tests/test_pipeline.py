"""dvc.yaml says the truth about what each stage needs and makes, and the packages are in order."""

from __future__ import annotations

import ast
import shlex
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import projects
from equipoise.core import code
from equipoise.pipeline import depends, steps
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "dvc.yaml").read_text(encoding="utf-8")
PIPELINE: dict[str, Any] = yaml.safe_load(TEXT)
STAGES: dict[str, dict[str, Any]] = {name: stage.get("do", stage) for name, stage in PIPELINE["stages"].items()}
SETTINGS = projects.committed_settings()
KEPT_IN_GIT = ("metrics/", "plots/")
LINES = 480


def paths(stage: dict[str, Any], *kinds: str) -> set[str]:
    """List the paths that a stage names under some of deps, outs, metrics, plots."""
    return {entry if isinstance(entry, str) else next(iter(entry)) for kind in kinds for entry in stage.get(kind, ())}


def entries(stage: str) -> Iterator[tuple[list[Path], tuple[str, ...]]]:
    """Give what a stage starts from, and what it reads, for each study; for a stage without studies once."""
    if stage in steps.STAGES:
        for study in STUDIES.values():
            loaded = depends.modules(stage, study.name, SETTINGS, ROOT)
            files = [path for name in loaded if (path := code.module_file(name, ROOT))]
            yield [Path("stages") / f"{stage}.py", *files], study.reads[stage]
    else:
        yield [Path("stages") / f"{stage}.py"], {"export": (depends.PROBES,), "report": depends.REPORTED}.get(stage, ())


def reads(stage: str) -> set[str]:
    """List the files that a stage reads besides settings and what other stages make."""
    named = {name for _, names in entries(stage) for name in names}
    files = {path for name in named for path in (ROOT / name, *(ROOT / name).rglob("*")) if path.is_file()}
    return {path.relative_to(ROOT).as_posix() for path in files}


def closure(script: str) -> set[str]:
    """List the files of ours that a script can import, the judge's workshop included."""
    return {path.as_posix() for path in code.closure(Path(script), ROOT, {**code.HOMES, "workshop": Path("judge")})}


def module_file(name: str) -> str | None:
    """Find the file of one of the library's modules."""
    file = code.module_file(name, ROOT)
    return file.as_posix() if file else None


@cache
def tree(path: str) -> ast.Module:
    """Parse a file of ours."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def needed(path: str) -> Iterator[str]:
    """Give every module of the library that a file names, also for types alone; `from a import b` gives a.b, or a."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if module_file(name) else node.module for name in inner]
        else:
            continue
        yield from (file for name in names if (file := module_file(name)))


def modules() -> list[str]:
    """List the library's files."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src/equipoise").rglob("*.py"))


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Give one circle of a graph, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


@pytest.mark.parametrize("name", STAGES)
def test_code_is_a_dep_by_its_listing(name: str) -> None:
    """`check` depends on all code and lists what each other stage imports; these depend on their list alone.

    The weights of the letters' reader lie in the judge's folder, and are data.
    """
    listed = {path for path in paths(STAGES[name], "deps") if path.startswith(("src", "stages", "judge/", "data/code"))}

    own = f"data/code/{name}/${{item}}.txt" if name in steps.STAGES else f"data/code/{name}.txt"
    assert listed == ({"src", "stages"} if name == "check" else {own})
    # What it reads is in the list too: a change reruns `check`, which depends on it, and then the stage.
    assert name == "check" or reads(name) <= {
        path if dep == path or path.startswith(f"{dep}/") else ""
        for dep in paths(STAGES["check"], "deps")
        for path in reads(name)
    }
    assert ("data/code" in paths(STAGES[name], "outs")) is (name == "check")


def test_compiled_code_does_not_make_a_package_dirty() -> None:
    """The folder of all code is a dep, in which Python keeps compiled code: DVC is to leave it alone."""
    assert {"__pycache__/", "*.pyc"} <= set((ROOT / ".dvcignore").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("name", STAGES)
def test_every_path_of_a_command_is_a_dep_or_an_out(name: str) -> None:
    """The command line is the edge list: each path on it is a dep, an out, or a folder of some."""
    declared = paths(STAGES[name], "deps", "outs", "metrics", "plots")
    declared |= set() if name == "check" else {path for _, named in entries(name) for path in named}
    script, *words = shlex.split(STAGES[name]["cmd"].replace("${python}", ""))

    # The script is in its listing.
    assert script == f"stages/{name}.py"
    for word in words:
        # The name of the study, which the stage is about.
        assert word == "${item}" or any(path == word or path.startswith(f"{word}/") for path in declared), word


@pytest.mark.parametrize("name", STAGES)
def test_a_dep_that_is_a_folder_holds_no_cache_and_no_out(name: str) -> None:
    """No out has the model's name in its path; no dep is a folder of outs but the report's, which reads them all."""
    for path in paths(STAGES[name], "outs", "metrics", "plots"):
        assert "${model}" not in path
    made = {path.replace("${item}", study) for path in outs() for study in SETTINGS.studies}
    for dep in paths(STAGES[name], "deps"):
        assert not Path(dep).is_relative_to(".cache")
        assert name == "report" or not [path for path in made if path.startswith(f"{dep}/")], dep


@pytest.mark.parametrize("name", STAGES)
def test_no_dep_is_a_folder_that_dvc_ignores(name: str) -> None:
    """DVC takes a folder below .dvc for an empty one, so that no change in it reruns a stage; single files it sees."""
    deps = {Path(dep) for dep in paths(STAGES[name], "deps")}
    templates = {
        Path(".dvc/plots") / f"{plot.template}.json" for study in STUDIES.values() for plot in study.plots.values()
    }

    assert {dep for dep in deps if dep.is_relative_to(".dvc")} == (templates if name == "check" else set())


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_is_described_and_has_a_script_of_its_name(name: str) -> None:
    """A stage has a description and a script of its name."""
    assert STAGES[name]["desc"].endswith(".")
    assert (ROOT / "stages" / f"{name}.py").is_file()
    assert {path.stem for path in (ROOT / "stages").glob("*.py")} == STAGES.keys()


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_of_a_study_runs_for_the_studies_of_params(name: str) -> None:
    """Stages with `${item}` run for each of the studies that params.yaml names, and no other stage names one."""
    stage = PIPELINE["stages"][name]

    assert ("do" in stage) == ("${item}" in stage.get("do", stage)["cmd"])
    assert stage.get("foreach", "${studies}") == "${studies}"


def outs() -> Iterator[str]:
    """Give every out."""
    for stage in STAGES.values():
        yield from paths(stage, "outs", "metrics", "plots")


def test_only_metrics_and_plots_are_kept_in_git() -> None:
    """Every other out is in DVC's cache, where `dvc checkout` finds it."""
    for stage in STAGES.values():
        for entry in (out for kind in ("outs", "metrics", "plots") for out in stage.get(kind, ())):
            path, options = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))
            assert options.get("cache", True) is not path.startswith(KEPT_IN_GIT), path


def test_plots_are_those_that_the_library_draws() -> None:
    """dvc.yaml describes each picture of the default studies as the library does."""
    described = {name: plot for entry in PIPELINE["plots"] for name, plot in entry.items()}

    assert described == {
        name: plot.described(f"plots/{study.name}/{name}.json")
        for study in STUDIES.values()
        if study.name in SETTINGS.studies
        for name, plot in study.plots.items()
    }


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_has_a_function_for_each_stage(study: str) -> None:
    """Every study of the registry can be built, asked, scored and measured, and declares what each stage reads."""
    assert all(callable(steps.step(study, stage)) for stage in steps.STAGES)
    assert steps.study_of(study) is STUDIES[study]
    assert STUDIES[study].reads.keys() == set(steps.STAGES)


@pytest.mark.parametrize("study", STUDIES)
def test_build_and_score_depend_on_the_settings_that_they_read(study: str) -> None:
    """A study declares the sections that it reads, but `infer`, which changes no byte, and what all studies share."""
    read: set[str] = set()
    for module in ("build", "facts", "score"):
        if module_file(f"equipoise.studies.{study}.{module}"):
            read |= {*sections(tree(source(f"equipoise.studies.{study}.{module}")))} - {"infer", "score", "judge"}

    declared = STUDIES[study]
    built, scored = (depends.own_settings(name, declared, SETTINGS).keys() for name in ("build", "score"))
    assert read - {"items"} == set(declared.sections)
    assert read <= built
    # The judge of params.yaml, and how it reads, are settings of `score` where it reads the study's reasoning.
    assert scored - built == ({"judge", "score"} if declared.judged else set())


def sections(module: ast.Module) -> Iterator[str]:
    """Name what a module reads of `run.settings`: a typed section, or a value such as `items`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "section":
            yield ast.literal_eval(node.args[0])
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "run.settings":
            # The entry of the model is a dep of its own.
            yield from {node.attr} - {"section", "model"}


def source(name: str) -> str:
    """Give the file of a module that is there."""
    file = module_file(name)
    assert file is not None
    return file


def test_stages_are_thin() -> None:
    """A stage script reads, calls the library and writes, in fewer than 40 lines."""
    for script in (ROOT / "stages").glob("*.py"):
        assert len(script.read_text(encoding="utf-8").splitlines()) < 40, script


def test_the_pipeline_reads_in_one_sitting() -> None:
    """dvc.yaml has at most 480 lines."""
    assert len(TEXT.splitlines()) <= LINES


def test_no_modules_import_each_other_in_a_circle() -> None:
    """The graph of the library's modules has no circle, imports for types alone included."""
    assert circle({path: {*needed(path)} - {path} for path in modules()}) == []


def test_the_report_waits_for_every_study() -> None:
    """Its dependencies name each study's folder, since DVC interpolates no list."""
    assert {f"data/{study}" for study in STUDIES} <= paths(STAGES["report"], "deps")
    assert all((ROOT / "data" / study / ".gitignore").is_file() for study in STUDIES)


def test_stages_that_compute_depend_on_the_environment() -> None:
    """What another version of a library may change is computed anew under it."""
    assert all("data/environment.json" in paths(STAGES[name], "deps") for name in STAGES if name != "check")
