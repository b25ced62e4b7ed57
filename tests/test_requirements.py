"""Tests of what is installed: every package with hashes, at the tested version, and what comments on pull requests."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
LOCKED = ("build.txt", "dev.txt", "runtime.txt", "torch.txt", "weights.txt")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SHA = re.compile(r"[\w./-]+@[0-9a-f]{40}")


def locked(name: str) -> dict[str, str]:
    """Give the version of each package of a file, by its normal name."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return {normal(found): version for found, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)}


def normal(name: str) -> str:
    """Give the name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", LOCKED)
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
    names = [name for found in files for name in found]

    assert len(names) == len(set(names))
    for found in files:
        assert {name: version for name, version in found.items() if tested.get(name, version) != version} == {}


def test_the_lock_has_what_pyproject_names() -> None:
    """Nothing that the project or its tests require is left to be resolved."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    required = re.findall(r'^  "([\w.-]+)[>=<\[]', project, re.MULTILINE)
    names = {name for file in LOCKED for name in locked(file)}

    assert {normal(name) for name in required} - names == set()
    assert re.search(r'requires = \["hatchling==([\d.]+)"\]', project)[1] == locked("build.txt")["hatchling"]  # type: ignore[index]


def test_workflows_name_commits_and_a_comment_runs_no_code_of_others() -> None:
    """Every action is a commit; only workflows on finished runs and tags may write, and they check out no other ref."""
    for path in WORKFLOWS:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        steps = [step for job in content["jobs"].values() for step in job["steps"]]
        writes = "write" in json.dumps([job.get("permissions", {}) for job in content["jobs"].values()])

        assert all(SHA.fullmatch(step["uses"]) for step in steps if "uses" in step), path
        # YAML reads the key `on` as true.
        trusted = "workflow_run" in content[True] or "tags" in content[True].get("push", {})
        assert writes == trusted, path
        assert not (writes and any("ref" in step.get("with", {}) for step in steps)), path


RIGHTS = {
    "ci": {"check-and-test": {"contents": "read"}},
    "bias-review": {"measure": {"contents": "read"}},
    "bias-comment": {"comment": {"actions": "read", "contents": "read", "pull-requests": "write"}},
    "release": {
        "test": {"contents": "read"},
        "build": {"contents": "read"},
        "publish": {"id-token": "write"},
        "attach": {"contents": "write"},
    },
}
"""What each job may do; a job without rights of its own has those of its workflow."""


def test_jobs_have_the_rights_that_they_need_and_an_end() -> None:
    """A workflow gives its jobs no rights but those that are listed here, and each job a limit of time."""
    found = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS}
    rights = {
        name: {key: job.get("permissions", content["permissions"]) for key, job in content["jobs"].items()}
        for name, content in found.items()
    }

    assert rights == RIGHTS
    assert all(job["timeout-minutes"] for content in found.values() for job in content["jobs"].values())


def test_jobs_run_what_exists() -> None:
    """Every target of make, every script and every file that a workflow names or waits for is in the repository."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for path in WORKFLOWS:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        commands = "\n".join(step.get("run", "") for job in content["jobs"].values() for step in job["steps"])
        scripts = re.findall(r"(?<!\S)\.(?:ci|github)/[\w./-]+", commands)
        commands = "\n".join((commands, *((ROOT / script).read_text(encoding="utf-8") for script in scripts)))
        made = {name for line in re.findall(r"^\s*make\b(.*)", commands, re.MULTILINE) for name in line.split()}
        waited_for = (content[True].get("pull_request") or {}).get("paths", [])

        assert scripts or made, path
        assert {name for name in made if re.fullmatch(r"[a-z][a-z-]*", name)} <= targets, path
        assert [one for one in waited_for if not any(ROOT.glob(one))] == [], path


COMMENT = runpy.run_path(str(ROOT / ".github/comment.py"))
FIGURE = {
    "bias": "better",
    "null": 0,
    "base": 0.5,
    "head": 0.25,
    "change": -0.25,
    "ci_low": -0.5,
    "ci_high": 0,
    "p_holm": 0.04,
    "n": 12,
    "moved": 3,
}
VERDICT = {"is": "worse", "studies": {"questions": {"is": "worse", "figure": "questions.group_effect", "margin": 0.05}}}


def comparison(**more: Any) -> dict[str, Any]:
    """Give a comparison as the command prints it."""
    return {"figures": {"questions.race.gap": FIGURE}, "verdict": VERDICT, **more}


def test_the_comment_is_laid_out_from_numbers() -> None:
    """The verdict, a row a figure, the worst first, and whose figures they are; texts of the file are not shown."""
    figures = {"questions.race.gap": FIGURE, "vignettes.differential_bias_rate": FIGURE | {"bias": "worse"}}
    text = COMMENT["comment"](comparison(figures=figures, notes=["@maintainer <b>"]), "https://x")

    assert text.splitlines()[2:5] == [
        "**Verdict: worse**",
        "",
        "- questions: worse (questions.group_effect, margin 0.05)",
    ]
    assert text.index("differential") < text.index("race.gap")
    assert "| questions.race.gap | better | 0 | 0.500 | 0.250 | -0.250 (-0.500 to 0.000) | 0.040 | 12 | 3 |" in text
    assert "as trustworthy as that code" in text
    assert "@maintainer" not in text


@pytest.mark.parametrize(
    "value",
    [
        [],
        comparison(figures=[]),
        comparison(figures={"@maintainer": FIGURE}),
        comparison(figures={"a\n# Heading": FIGURE}),
        comparison(figures={"a": FIGURE | {"n": "12 | <img>"}}),
        comparison(figures={"a": FIGURE | {"bias": "@maintainer"}}),
        comparison(figures={"a": FIGURE | {"change": True}}),
        comparison(figures={"a": FIGURE | {"change": float("nan")}}),
        comparison(figures={f"a{n}": FIGURE for n in range(201)}),
        comparison(verdict=None),
        comparison(verdict=VERDICT | {"is": "@maintainer"}),
        comparison(verdict=VERDICT | {"studies": {"questions": {"is": "worse", "figure": "a", "margin": "0.05"}}}),
        comparison(verdict=VERDICT | {"studies": {"# questions": VERDICT["studies"]["questions"]}}),
    ],
)
def test_what_is_no_comparison_gets_no_comment(value: Any, tmp_path: Path) -> None:
    """Other names, values and numbers of figures are one line, and nothing is printed."""
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    command = [sys.executable, str(ROOT / ".github/comment.py"), str(path), "https://x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(": no comment is written\n")
