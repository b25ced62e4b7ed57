"""Tests of `equipoise compare` in a real DVC repository, whose pipeline copies rows and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from equipoise.cli.app import app as whole
from equipoise.cli.compare import compare
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Group, rate
from equipoise.figures.guards import Guard
from equipoise.figures.layout import rows_of
from equipoise.figures.result import StudyResult
from equipoise.materials.orders import choices
from repositories import commit, run
from runs import Case, fill_rows, question_rows, vignette_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typer.testing import Result

    from equipoise.figures.effects import Effect

app = typer.Typer()
app.command()(compare)

FILES = {
    "vignettes": "vignettes/built/vignettes",
    "judgements": "vignettes/judgements",
    "variants": "questions/built/variants",
    "letters": "questions/judgements",
    "fills": "stigma/judgements",
    "effects": "vignettes/effects",
    "figures": "questions/effects",
}
"""Where the rows of a run are, below data/."""
PIPELINE: dict[str, Any] = {
    "stages": {
        "check": {
            "cmd": "mkdir -p data/code && sha256sum stages/measure.py > data/code/measure.txt",
            "deps": ["stages/measure.py"],
            "outs": ["data/code"],
        },
        "measure": {
            "cmd": "python stages/measure.py",
            "params": ["model", "measure", "decision", {"models/${model}.yaml": None}],
            "deps": ["raw", "data/cities.yaml", "stages/measure.py", "data/code/measure.txt"],
            "outs": [f"data/{place}.jsonl" for place in FILES.values()],
        },
        "report": {"cmd": "python -c \"open('report', 'w')\"", "deps": ["data"], "outs": ["report"]},
    }
}
MEASURE = f"""\
import pathlib, shutil, yaml
model = yaml.safe_load(pathlib.Path("params.yaml").read_text())["model"]
for name, place in {FILES}.items():
    pathlib.Path(f"data/{{place}}.jsonl").parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(f"raw/{{model}}/{{name}}.jsonl", f"data/{{place}}.jsonl")
"""
SETTINGS = {
    "model": "a",
    "measure": {"alpha": 0.05, "n_bootstrap": 200},
    # The batch is a setting of an earlier version: revisions that have it are still compared.
    "decision": {"batch": 5, "endpoints": {"questions": {"figure": "race.gap", "margin": 0.05, "why": "made up"}}},
}
CITIES = {
    "london": {
        "title": "London",
        "composition": {
            "race": {"reference": "white", "proportions": {"white": 0.8, "black": 0.2}, "source": "made up"}
        },
    }
}
BLACK = "race/unprivileged/unfavourable"
ROOT = Path(__file__).parents[2]


def commit_run(folder: Path, tag: str) -> None:
    """Run the pipeline, commit everything and tag it."""
    run(folder, "dvc", "repro", "--quiet")
    commit(folder, tag)


def figures(*, warns: bool = False) -> list[Effect]:
    """Make the rows of the questions: those of one guard."""
    return rows_of(StudyResult(study="questions", guards=[Guard.of("label_skew", 12, int(warns))]))


def recorded(differential: Iterable[bool]) -> Effect:
    """Make the effect that a run recorded."""
    return rate(Group("overall", "all", "vignettes"), "differential_bias_rate", differential, 0.05)


def write_model(folder: Path, cases: list[Case], letters: list[dict[str, str]]) -> None:
    """Write what one model was asked and answered, and its differential bias rate."""
    vignettes, judgements, _ = vignette_rows(cases)
    variants, more = question_rows(letters)
    jsonl.write(folder / "vignettes.jsonl", vignettes)
    jsonl.write(folder / "judgements.jsonl", judgements)
    jsonl.write(folder / "variants.jsonl", variants)
    jsonl.write(folder / "letters.jsonl", choices(more, {variant.key: variant.options for variant in variants}))
    jsonl.write(folder / "fills.jsonl", fill_rows({"OCD": 0.2}))
    jsonl.write(folder / "effects.jsonl", [recorded(case.marginalised == "stereotyped" for case in cases)])
    jsonl.write(folder / "figures.jsonl", figures())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the tags `first`, of model a, and `edited`; model b, with planted flips, is an experiment.

    Of 12 pairs and 12 questions b answers 10 otherwise for the marginalised or unprivileged patient, and one neutral
    question wrongly. `edited` is the commit after `first`, with other code and one pair more.
    """
    folder = tmp_path_factory.mktemp("project")
    write_project(folder, SETTINGS)
    flipped = [{BLACK: "B"}] * 10 + [{"neutral": "C"}, {}]
    write_model(folder / "raw/a", [Case()] * 12, [{}] * 12)
    write_model(folder / "raw/b", [Case("stereotyped")] * 10 + [Case()] * 2, flipped)
    commit_run(folder, "first")
    write_model(folder / "raw/a", [Case()] * 13, [{}] * 12)
    jsonl.write_text(folder / "stages/measure.py", f"# Copies.\n{MEASURE}")
    commit_run(folder, "edited")
    run(folder, "dvc", "exp", "run", "--temp", "--name", "flipped", "--set-param", "model=b")
    return folder


def write_project(folder: Path, settings: dict[str, Any]) -> None:
    """Write a repository without rows, with its settings and two models."""
    for name, text in (
        ("dvc.yaml", yaml.safe_dump(PIPELINE)),
        ("params.yaml", yaml.safe_dump(settings)),
        ("stages/measure.py", MEASURE),
        ("data/cities.yaml", yaml.safe_dump(CITIES)),
        ("models/a.yaml", "title: A\nability: 0.5\n"),
        ("models/b.yaml", "title: B\nability: 0.5\nfloor: 0.1\n"),
    ):
        jsonl.write_text(folder / name, text)
    run(folder, "git", "init", "--quiet", "--initial-branch", "main")
    run(folder, "dvc", "init", "--quiet")


@pytest.fixture(autouse=True)
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the project."""
    monkeypatch.chdir(project)


def show(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def value(*arguments: str) -> dict[str, Any]:
    """Run the command for its JSON."""
    comparison: dict[str, Any] = json.loads(show("--json", *arguments).stdout)
    return comparison


def test_identical_revisions_have_no_change() -> None:
    """A commit and the workspace that holds it: no figure moves, nothing flips, and the gate passes."""
    shown = show("edited", "workspace", "--json", "--gate")
    comparison = json.loads(shown.stdout)
    compared = [figure for figure in comparison["figures"].values() if figure["n"]]

    assert shown.exit_code == 0
    # Nine of the vignettes, group effect, accuracy, three of race, a city's ratio by race, one of stigma. Without a
    # biased answer the silent bias rate and that of denials are undefined, not 0.
    assert len(compared) == 16
    assert [figure["change"] for figure in compared] == [0.0] * 6 + [None] * 3 + [0.0] * 7
    assert {figure["moved"] for figure in compared} == {0}
    assert (comparison["flips"], comparison["changed"]["code"], comparison["changed"]["since_measured"]) == ([], {}, {})


def test_planted_flips_are_found() -> None:
    """Every answer that was planted is a flip, and the figures change by what was planted, over the shared items."""
    comparison = value("first", "flipped")
    rate = comparison["figures"]["vignettes.differential_bias_rate"]
    gap = comparison["figures"]["questions.race.gap"]

    # What became biased, and then the question without a group.
    assert [flip["key"] for flip in comparison["flips"]] == [
        *(f"p{number:02d}/marginalised" for number in range(10)),
        *(f"q{number:02d}/{BLACK}" for number in range(10)),
        "q10/neutral",
    ]
    assert comparison["flips"][-1]["bias"] == "other"
    assert comparison["flips"][0] == {
        "study": "vignettes",
        "key": "p00/marginalised",
        "before": "expected",
        "after": "stereotyped, silent",
        "bias": "to biased",
        "tie": False,
    }
    # Ten of twelve, the exact p 2 / 2^10.
    assert (rate["n"], rate["change"], rate["p"]) == (12, 0.833333, 0.001953)
    assert (rate["base_recorded"], rate["head_recorded"]) == (0.0, 0.833333)
    assert (gap["change"], gap["null"], gap["bias"]) == (0.833333, 0.0, "worse")
    assert (rate["null"], rate["bias"]) == (None, "worse")
    assert comparison["figures"]["stigma.rq1.difference"]["change"] == 0.0


def test_the_gate_passes_only_what_is_not_worse(project: Path) -> None:
    """Ten flips of twelve exit with 1, no change with 0, and a repair that a guard keeps from being judged with 2."""
    path = project / "data/questions/effects.jsonl"
    worse, unchanged = show("first", "flipped", "--gate"), show("first", "first", "--gate")
    before = path.read_bytes()
    path.unlink()  # a link into the cache must not be written through
    jsonl.write(path, figures(warns=True))
    undecided = show("flipped", "workspace", "--gate")
    path.write_bytes(before)

    assert (worse.exit_code, unchanged.exit_code, undecided.exit_code) == (1, 0, 2)
    assert show("first", "flipped").exit_code == 0
    # 10 of 12 differences are 1, sd 0.389: 0.833 ± 2.201 x 0.389 / sqrt(12).
    assert "Verdict: Worse. Questions: worse (gap, race changed by +0.833 (+0.586 to +1.081), margin 0.05)." in (
        worse.stdout
    )
    assert "Verdict: Undecided. Questions: undecided: " in undecided.stdout
    assert "in HEAD the guard on label skew warns (1 of 12)" in undecided.stdout


@pytest.mark.slow
def test_a_head_that_refuses_one_group_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty of sixty marginalised patients are refused: exit code 2 and the reason, not a traceback."""
    bound = {"overall/all/refusal_difference": {"margin": 0.12, "why": "made up"}}
    endpoint = {"figure": "written_error_difference", "margin": 0.12, "why": "made up", "bounds": bound}
    write_project(tmp_path, {**SETTINGS, "decision": {"endpoints": {"vignettes": endpoint}}})
    write_model(tmp_path / "raw/a", [Case()] * 60, [{}])
    commit_run(tmp_path, "first")
    write_model(tmp_path / "raw/a", [Case("refusal")] * 20 + [Case()] * 40, [{}])
    run(tmp_path, "dvc", "repro", "--quiet")
    monkeypatch.chdir(tmp_path)
    shown = show("first", "--gate")

    assert shown.exit_code == 2
    # 20 of 60 values move by 1.
    assert "refusal difference may have grown by more than 0.12: it changed by +0.333" in shown.stdout
    assert value("first")["figures"]["vignettes.refusal_difference"]["bias"] == "worse"


def test_a_release_requires_a_verdict_of_its_own() -> None:
    """What did not change is not worse, but may be undecided in itself: 1; another requirement is refused."""
    required = show("first", "first", "--gate", "--require", "no bias")

    assert required.exit_code == 1
    assert "Verdict: Not worse in any study" in required.stdout
    assert "HEAD's own verdicts do not meet --require." in required.stdout
    assert "Questions: undecided: " in required.stdout
    for arguments in (("--require", "no bias"), ("--gate", "--require", "fair")):
        with pytest.raises(EquipoiseError, match=r'--require .*: give --gate --require "no bias"'):
            show("first", "first", *arguments)


def test_an_error_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision that is not there exits with 3 and one line, and so does a fault of ours, since 1 means worse."""
    unknown = CliRunner().invoke(whole, ["compare", "--gate", "nothing", "first"])
    monkeypatch.setattr("equipoise.cli.compare.read_revision", lambda name: [][len(name)])
    fault = CliRunner().invoke(whole, ["compare", "--gate", "first", "edited"])

    assert (unknown.exit_code, fault.exit_code) == (3, 3)
    assert unknown.stderr.startswith("error: nothing: cannot be read (unknown Git revision 'nothing'): give a Git")
    assert unknown.stderr.count("\n") == 1
    assert "IndexError: list index out of range" in fault.stderr


def test_what_changed_is_named() -> None:
    """Between the commits an input and the code differ, and one pair is new; for the experiment the model differs."""
    edited, other = value("first", "edited"), value("edited", "flipped")

    assert edited["changed"]["parameters"] == {}
    assert edited["changed"]["inputs"] == {"raw": "changed"}
    assert edited["changed"]["code"] == {"stages/measure.py": "changed"}
    assert edited["figures"]["vignettes.differential_bias_rate"]["only_head"] == 1
    # The ability is the same in the files of both models.
    assert other["changed"]["parameters"] == {
        "model": {"base": "a", "head": "b"},
        "model:floor": {"base": None, "head": 0.1},
        "model:title": {"base": "A", "head": "B"},
    }
    # The report depends on the folder of all rows, which are not an input.
    assert other["changed"]["inputs"] == {}
    assert other["changed"]["since_measured"] == {}
    assert other["figures"]["vignettes.differential_bias_rate"]["only_base"] == 1


def test_a_comment_holds_the_figures_the_flips_and_what_changed() -> None:
    """Markdown has a row for each compared figure, as many flips as asked for, and the plots of what changed."""
    text = show("edited", "flipped", "--md", "--flips", "3", "--images", "https://example.org/plots/").stdout
    lines = text.splitlines()

    assert lines[0] == "### Bias review: `edited` to `flipped`"
    assert lines[2].startswith("**Verdict: Worse. Questions: worse ")
    # The only study that was judged is described once, in the verdict.
    assert text.count("Questions: worse ") == 1
    assert lines[4].startswith("7 of 13 figures changed significantly (p below 0.05 after Holm, within the study); ")
    assert sum(line.startswith(("| vignettes.", "| questions.", "| stigma.")) for line in lines) == 15
    assert "- no change in 1 figures: stigma.rq1.difference" in lines
    assert sum(line.startswith("| `") for line in lines) == 3
    counts = "10 in vignettes (10 to biased), 11 in questions (10 to biased)"
    assert f"<details><summary>Answers that changed kind: {counts}</summary>" in lines
    assert "| `p00/marginalised` | to biased | expected | documented error, silent |" in lines
    # What got worse comes before what did not, and what did not change last.
    column = [line.split(" | ")[1] for line in lines if line.startswith(("| vignettes.", "| questions.", "| stigma."))]
    order = [*dict.fromkeys(column)]
    assert (order[0], order[-1]) == ("worse", "no change")
    assert len(order) == len({*order})
    assert "- parameters: `model`: `a` → `b`, `model:floor`: none → `0.1`, `model:title`: `A` → `B`" in lines
    assert "![questions/gaps](https://example.org/plots/questions/gaps.svg)" in lines
    assert not any("shift.svg" in line or "stigma.svg" in line for line in lines)
    assert "| 12 pairs (1/0) |" in text


def test_the_table_fits_a_terminal() -> None:
    """Printed on 80 columns, no figure is cut short."""
    printed = show("first", "flipped").stdout

    assert "\N{HORIZONTAL ELLIPSIS}" not in printed
    assert "  p00/marginalised: expected → documented error, silent (to biased)" in printed
    assert "model: a → b" in printed


def test_a_workspace_that_was_edited_says_so(project: Path) -> None:
    """Rows of the last run do not pass for those of code that was edited since."""
    script = project / "stages/measure.py"
    before = script.read_text(encoding="utf-8")
    script.write_text(before + "# Edited.\n", encoding="utf-8")
    printed = show("edited").stdout
    script.write_text(before, encoding="utf-8")

    assert "workspace: changed since its figures were computed: stages/measure.py: run `dvc repro` there" in printed


def test_figures_recorded_by_other_code_are_noted(project: Path) -> None:
    """Effects that differ from what their rows give are noted."""
    path = project / "data/vignettes/effects.jsonl"
    before = path.read_bytes()
    path.unlink()  # a link into the cache must not be written through
    jsonl.write(path, [recorded([True, False])])
    printed = show("edited").stdout
    path.write_bytes(before)

    assert "workspace: its recorded values of vignettes.differential_bias_rate were computed by other code" in printed


def test_rows_that_are_not_at_hand_get_one_line(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone has no cache: the line names files, and how to get them."""
    run(tmp_path, "git", "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")

    with pytest.raises(EquipoiseError) as caught:
        compare("first", "edited")
    assert str(caught.value) == (
        "first: data/vignettes/built/vignettes.jsonl, data/vignettes/judgements.jsonl, "
        "data/questions/built/variants.jsonl and 4 more: not in DVC's cache: run "
        "`dvc fetch --all-commits` where a remote has them, else run `git switch --detach first`, `dvc repro` and "
        "`git commit --all --message here`, and compare with that commit; `dvc metrics diff first` compares recorded "
        "figures without the rows"
    )


def test_the_fix_for_missing_rows_works(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that writes other bytes than the committed ones compares what it made itself at that revision."""
    run(tmp_path, "git", "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(clone := tmp_path / "clone")
    measured = clone / "stages/measure.py"
    # What another processor writes: the same rows in other bytes.
    other = "for path in pathlib.Path('data').rglob('*.jsonl'):\n    path.write_text(path.read_text() + '\\n')\n"
    run(clone, "git", "switch", "--quiet", "--detach", "edited")
    measured.write_text(f"{MEASURE}import pathlib\n{other}", encoding="utf-8")
    run(clone, "dvc", "repro", "--quiet")
    with pytest.raises(
        EquipoiseError, match=r"edited: .* not in DVC's cache: run `dvc fetch --all-commits` .* else run"
    ):
        compare("edited")
    run(clone, "git", "add", "--all")
    author = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    run(clone, "git", *author, "commit", "--quiet", "--all", "--message", "here")

    assert value("HEAD", "workspace")["flips"] == []


def test_rows_of_another_version_get_one_line(project: Path) -> None:
    """A field that is not known is passed over; one that is missing is named with its row."""
    path = project / "data/stigma/judgements.jsonl"
    before = path.read_bytes()
    rows = [json.loads(line) for line in before.decode().splitlines()]
    path.unlink()  # a link into the cache must not be written through
    path.write_text("".join(json.dumps(row | {"later": 1}) + "\n" for row in rows), encoding="utf-8")
    known = show("edited").exit_code
    del rows[1]["female"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(
        EquipoiseError, match=r"workspace: data/stigma/judgements\.jsonl, row 2: field female: .* of another version"
    ):
        compare("edited")
    path.write_bytes(before)

    assert known == 0


def test_a_lock_that_lacks_a_stage_gets_one_line(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is cut off, and still valid YAML, would pass for a run without rows; so in a commit."""
    run(tmp_path, "git", "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    lock = tmp_path / "clone/dvc.lock"
    text = lock.read_text(encoding="utf-8")
    outs = text.index("    outs:")
    # Before the outs, and within the hash of the first.
    for number, torn in enumerate((text[:outs], f"{text[: text.index('md5: ', outs) + 9]}\n")):
        lock.write_text(torn, encoding="utf-8")
        commit(tmp_path / "clone", f"torn-{number}")
        with pytest.raises(
            EquipoiseError,
            match=rf"^torn-{number}: dvc\.lock lacks 3 of the stages in dvc\.yaml \(check, measure, report\): run ",
        ):
            compare(f"torn-{number}")


def test_an_unknown_revision_gets_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a revision nor an experiment, and a folder outside any repository."""
    with pytest.raises(EquipoiseError, match=r"nowhere: cannot be read \(unknown Git revision 'nowhere'\): give a Git"):
        compare("nowhere")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EquipoiseError, match=r"main: cannot be read \(.*\): give .* in a clone with Git and DVC"):
        compare("main")


def test_the_workflow_is_pinned_and_writes_little() -> None:
    """Actions are pinned by commit, and the workflow that runs a pull request's code may write nothing."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/bias-review.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]

    assert all(len(action.split("@")[1]) == 40 for action in used)
    assert workflow["permissions"] == {}
    assert jobs["measure"]["permissions"] == {"actions": "read", "contents": "read"}
    assert jobs.keys() == {"measure"}
