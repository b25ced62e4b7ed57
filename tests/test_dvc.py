"""The pipeline under real DVC, in a temporary clone: a tiny model on the code path of a real one, and a phantom."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import tiny

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
SHORTENED = ("conditions", "templates")
CHAIN = ("build", "infer", "score", "measure")
"""The stages of each study."""
FEWER = {"controls": False, "mirrors": False}
"""Of the vignettes that the tiny model is asked about, half the replies; a phantom is asked about all that ship."""
PHANTOM = ("model=phantom_silent", "build.controls=true", "build.mirrors=true", "studies=[vignettes,stigma]")


class Clone:
    """A clone of the working tree, with its own Git and DVC repositories."""

    def __init__(self, folder: Path) -> None:
        """Copy every file that Git tracks or would track, and commit it.

        Without the lock file of the committed run: DVC parses it several times a stage, which takes it longer than most
        stages take.
        """
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in {*listed.stdout.decode().split("\0")} - {"", "dvc.lock"}:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, target)
        self.git("init", "--quiet", "--initial-branch", "main")
        # Most of the time of a commit would go into making weights no smaller.
        self.git("config", "core.compression", "0")
        self.commit()

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the clone, as a user in an activated environment would."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("DVC_", "PYTHON"))}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=1500
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}\n{done.stderr}"
        return done

    def git(self, *arguments: str) -> str:
        """Run Git with an author."""
        author = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
        return self.run("git", *author, *arguments).stdout

    def dvc(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run DVC."""
        return self.run("dvc", *arguments, check=check)

    def commit(self) -> None:
        """Commit everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "State")

    def compare(self, base: str, head: str) -> dict[str, dict[str, dict[str, float]]]:
        """Compare two revisions with `dvc metrics diff`: old, new and diff of each figure, by file and dotted name."""
        found: dict[str, dict[str, dict[str, float]]] = json.loads(
            self.dvc("metrics", "diff", "--all", "--json", base, head, "--targets", "metrics").stdout
        )
        return found

    def metrics(self, base: str, head: str) -> list[dict[str, float]]:
        """Read the figures of two revisions, by file and dotted name."""
        compared = self.compare(base, head)
        return [
            {
                f"{file}:{name}": figure[side]
                for file, figures in compared.items()
                for name, figure in figures.items()
                if figure[side] is not None
            }
            for side in ("old", "new")
        ]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone in which the pipeline has run on the tiny model, all studies, committed."""
    folder = tmp_path_factory.mktemp("clone")
    made = Clone(folder)
    tiny.register(folder, "tiny_a", tiny.build(tmp_path_factory.mktemp("tiny_a"), 1), 1)
    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    params |= {"model": "tiny_a", "build": params["build"] | FEWER, "neutralize": {"limit": 6}}
    params["measure"]["n_bootstrap"] = 200
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    shorten(folder / "data/sentences")
    made.dvc("repro")
    made.commit()
    return made


def changes(*settings: str) -> list[str]:
    """Give DVC's options that change settings."""
    return [word for setting in settings for word in ("--set-param", setting)]


def shorten(sentences: Path) -> None:
    """Leave three conditions a set and one template a group of the stigma sentences."""
    conditions, templates = (yaml.safe_load((sentences / f"{name}.yaml").read_text("utf-8")) for name in SHORTENED)
    few = {name: members[:3] for name, members in conditions.items()}
    first = {
        question: {group: dict([next(iter(members.items()))]) for group, members in groups.items()}
        for question, groups in templates.items()
    }
    for name, content in zip(SHORTENED, (few, first), strict=True):
        (sentences / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def test_nothing_is_left_to_do_after_a_run(clone: Clone) -> None:
    """A second repro skips every stage, and `dvc status` agrees."""
    assert "Data and pipelines are up to date." in clone.dvc("status").stdout
    assert "Running stage" not in clone.dvc("repro").stdout


def test_another_model_is_one_option_away_and_its_metrics_diff_has_deltas(clone: Clone) -> None:
    """`dvc exp run -S model=` runs another model, and every delta of `dvc metrics diff` is a number."""
    clone.dvc("exp", "run", "--name", "other", *changes(*PHANTOM))
    figures = clone.compare("main", "other")["metrics/vignettes.json"]
    clone.git("checkout", "--quiet", "--force", "main")
    clone.dvc("checkout", "--quiet")

    shift = figures["stereotype_shift.estimate"]
    assert shift["diff"] == pytest.approx(shift["new"] - shift["old"])
    # The phantom's shift is planted, the weights of the tiny model are random.
    assert shift["diff"] > 0


def test_queued_runs_give_what_a_plain_run_gives(clone: Clone) -> None:
    """A `--queue` run imports its own code, shares the cache and ends with the same figures."""
    clone.dvc("exp", "run", "--queue", "--name", "queued", *changes(*PHANTOM))
    clone.dvc("exp", "run", "--run-all")

    # The experiment of the test above is the plain run of the same model.
    plain, queued = clone.metrics("other", "queued")
    assert plain
    assert plain == queued


def test_the_papers_design_and_generated_answers_run_too(clone: Clone) -> None:
    """AMQA's six variants, answered in words in a `--temp` run, end in the same file without the crossed contrasts."""
    settings = ("perturb.design=paper", "perturb.answering=generate", "score.answering=generate", "studies=[questions]")
    clone.dvc("exp", "run", "--temp", "--name", "paper", *changes(*settings))
    crossed, paper = clone.metrics("main", "paper")
    effect = "metrics/questions.json:race.group_effect.estimate"

    # Of the first 6 items none is excluded; only the crossed design tells group from direction.
    assert paper["metrics/questions.json:n"] == crossed["metrics/questions.json:n"] == 6
    assert (effect in paper, effect in crossed) == (False, True)


def test_one_study_is_run_alone_and_leaves_nothing_of_the_others(clone: Clone) -> None:
    """`studies=[stigma]` runs that chain and no other, and `dvc repro measure@exam` what that figure needs."""
    done = clone.dvc("exp", "run", "--temp", "--force", "--name", "alone", *changes("studies=[stigma]"))
    ran = {line.split("'")[1] for line in done.stdout.splitlines() if line.startswith("Running stage")}

    assert ran == {"check", "export", "report", *(f"{verb}@stigma" for verb in CHAIN)}
    summary = json.loads(clone.dvc("metrics", "diff", "--all", "--json", "main", "alone").stdout)
    told = {path for path, values in summary.items() if any(one["new"] is not None for one in values.values())}
    assert told == {"metrics/summary/stigma.json"}
    assert summary["metrics/summary/stigma.json"].keys() == {"figure", "estimate", "n", "verdict"}
    planned = clone.dvc("repro", "--dry", "--force", "measure@exam").stdout
    assert [line.split("'")[1] for line in planned.splitlines() if line.startswith("Running stage")] == [
        "check",
        "export",
        *(f"{verb}@exam" for verb in CHAIN),
    ]


def test_an_analysis_parameter_loads_no_model(clone: Clone) -> None:
    """With the exported weights out of the way, a change of an analysis parameter still runs to the end."""
    store = clone.folder / ".cache" / "models"
    store.rename(store.with_name("hidden"))
    # That no other study opens one either: tests/test_incremental.py.
    clone.dvc("exp", "run", "--temp", "--name", "analysis", *changes("measure.alpha=0.1", "studies=[vignettes]"))
    store.with_name("hidden").rename(store)

    shift = "metrics/vignettes.json:stereotype_shift_net"
    before, after = (
        found[f"{shift}.ci_high"] - found[f"{shift}.ci_low"] for found in clone.metrics("main", "analysis")
    )

    # A 90 % interval is narrower than a 95 % one.
    assert after < before


def test_batch_size_changes_no_byte_of_the_responses(clone: Clone) -> None:
    """Asked anew, one prompt at a time, the model gives the same file."""
    responses = clone.folder / "data/vignettes/responses.jsonl"
    before = responses.read_bytes()
    (clone.folder / ".cache/responses.sqlite").rename(clone.folder / ".cache/kept.sqlite")
    clone.dvc("exp", "run", "--force", "--single-item", *changes("infer.batch_size=1"), "infer@vignettes")
    after = responses.read_bytes()
    clone.git("checkout", "--quiet", "--force", "main")

    assert before == after


def test_imported_cases_are_asked_about_a_panel(tmp_path: Path) -> None:
    """The 20 examples, told of a control and 31 groups by a phantom; without a diagnosis, the vignettes are refused."""
    clone = Clone(tmp_path)
    # As the stages do: the clone's own code.
    clone.run("env", "PYTHONPATH=src", "python", "-m", "equipoise", "import", "bench", "data/examples/bench.jsonl")
    settings = ("build.design=panel", "build.cases=bench", "model=phantom_undertreating", "measure.n_bootstrap=200")
    refused = clone.dvc("exp", "run", *changes(*settings), check=False)
    clone.dvc("exp", "run", *changes(*settings, "studies=[decisions]"))
    figures, picture = (
        json.loads((tmp_path / name).read_text(encoding="utf-8"))
        for name in ("metrics/decisions.json", "plots/decisions/decisions.json")
    )

    assert "these cases have no diagnoses: leave vignettes out of `studies`" in refused.stderr
    assert len(figures["panel"]) == 31
    # 2 nats from end to end of every scale.
    assert min(found["decision_shift"]["estimate"] for found in figures["panel"].values()) > 0.1
    assert len(picture) == 31 * 3
    assert {row["dimension"] for row in picture} == {"triage", "test", "psychiatric referral"}
    assert "white-unhoused" in (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert "data/items/bench.jsonl" in (tmp_path / "report/inputs.json").read_text(encoding="utf-8")


def test_a_biased_phantom_stops_early(tmp_path: Path) -> None:
    """It is asked until its verdict is in; its figures are those of a fixed run over the questions that were asked."""
    clone, found = Clone(tmp_path), {}
    few = tmp_path / "data/items/few.jsonl"
    # More than the twenty questions from which on a study may stop; then all of those that were asked.
    variants = {
        "stopped": ("neutralize.limit=30", "decision.sequential=true"),
        "fixed": ("neutralize.limit=0", "items=few"),
    }
    for name, changed in variants.items():
        settings = ("model=phantom_silent", "studies=[questions]", "measure.n_bootstrap=200", *changed)
        clone.dvc("exp", "run", "--name", name, *changes(*settings))
        found[name] = json.loads((tmp_path / "metrics/questions.json").read_text(encoding="utf-8"))
        if name == "stopped":
            lines = (tmp_path / "data/questions/asked.jsonl").read_text(encoding="utf-8").splitlines()
            units = {row["key"]: row["asked"] for row in map(json.loads, lines)}
            page = (tmp_path / "report/index.html").read_text(encoding="utf-8")
            clone.git("checkout", "--quiet", "--force", "main")
            items = (tmp_path / "data/items/authored.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
            few.write_text("".join(one for one in items if units.get(json.loads(one)["key"])), encoding="utf-8")
    stopped, fixed = found["stopped"], found["fixed"]
    verdict = stopped.pop("verdict")
    endpoints = [one.pop("group_effect") for one in (stopped, fixed)]

    assert verdict["is"] == fixed.pop("verdict")["is"] == "biased beyond the margin"
    assert verdict["asked"] == sum(units.values()) < verdict["of"] == len(units)
    assert f"Stopped early: {verdict['asked']} of {verdict['of']} stories or questions were asked" in page
    assert endpoints[0]["estimate"] == endpoints[1]["estimate"]
    assert endpoints[0]["ci_low"] < endpoints[1]["ci_low"]
    assert stopped == fixed


def test_plots_render_from_our_templates(clone: Clone) -> None:
    """`dvc plots show` writes a page with every plot, and `dvc plots diff` one with two models, Vega beside them."""
    clone.dvc("plots", "show", "--out", "page")
    clone.dvc("plots", "diff", "--out", "both", "main", "other")

    for page in ("page", "both"):
        text = (clone.folder / page / "index.html").read_text(encoding="utf-8")
        assert '<script src="../report/vega.js">' in text
        assert "vegaEmbed" in (clone.folder / page / "../report/vega.js").read_text(encoding="utf-8")
        assert text.count("vegaEmbed('#") == len(
            yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["plots"]
        )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model=tiny_c", "models: no entry 'tiny_c': did you mean 'tiny_a'? known: "),
        ("infer.batch_siez=4", "params.yaml, section infer: field batch_siez: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_setting_gives_one_clear_line_before_any_work(clone: Clone, setting: str, message: str) -> None:
    """A wrong name or value stops the run at its first stage, with one line that says what is known."""
    change = setting if "siez" not in setting else f"+{setting}"
    done = clone.dvc("exp", "run", "--temp", *changes(change), check=False)

    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode != 0
    assert "stages/export.py" not in done.stdout
    assert len(lines) == 1
    assert message in lines[0]
