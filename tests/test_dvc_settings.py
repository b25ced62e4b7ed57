"""The pipeline under real DVC with other settings: what runs, what does not, and what comes of it."""

from __future__ import annotations

import json

import pytest

from clones import Clone, changes, ran

pytestmark = pytest.mark.slow
CHAIN = ("build", "infer", "score", "measure")
"""The stages of each study."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone in which the pipeline has run on the tiny model."""
    return ran(tmp_path_factory.mktemp("clone"))


def test_the_papers_design_and_generated_answers_run_too(clone: Clone) -> None:
    """AMQA's six variants, answered in words, end in the same file without the crossed contrasts."""
    settings = ("perturb.design=paper", "perturb.answering=generate", "score.answering=generate", "studies=[questions]")
    # Without the report.
    clone.dvc("exp", "run", "--name", "paper", *changes(*settings), "measure@questions")
    clone.restore()
    crossed, paper = clone.metrics("main", "paper")
    effect = "metrics/questions.json:race.group_effect.estimate"

    # Of the first 6 items none is excluded; only the crossed design tells group from direction.
    assert paper["metrics/questions.json:n"] == crossed["metrics/questions.json:n"] == 6
    assert (effect in paper, effect in crossed) == (False, True)


def test_one_study_is_run_alone_and_leaves_nothing_of_the_others(clone: Clone) -> None:
    """`studies=[stigma]` runs that chain and no other, and `dvc repro measure@exam` what that figure needs."""
    settings = ("model=phantom_silent", "studies=[stigma]")
    done = clone.dvc("exp", "run", "--temp", "--force", "--name", "alone", *changes(*settings))
    ran = {line.split("'")[1] for line in done.stdout.splitlines() if line.startswith("Running stage")}

    assert ran == {"check", "export", "report", *(f"{verb}@stigma" for verb in CHAIN)}
    summary = json.loads(clone.dvc("metrics", "diff", "--all", "--json", "main", "alone").stdout)
    told = {path for path, values in summary.items() if any(change["new"] is not None for change in values.values())}
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
    clone.dvc("exp", "run", "--name", "analysis", *changes("measure.alpha=0.1", "studies=[vignettes]"))
    store.with_name("hidden").rename(store)
    clone.restore()

    shift = "metrics/vignettes.json:stereotype_shift_net"
    before, after = (
        figures[f"{shift}.ci_high"] - figures[f"{shift}.ci_low"] for figures in clone.metrics("main", "analysis")
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
