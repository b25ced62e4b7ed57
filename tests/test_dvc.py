"""The pipeline under real DVC: run again, with another model, in a queue, and with a wrong setting."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from clones import Clone, changes, ran

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
PHANTOM = (*changes("model=phantom_silent", "studies=[vignettes]"), "measure@vignettes")
"""Another model, up to its figures: tests/test_dvc_settings.py has a run to the report."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone in which the pipeline has run on the tiny model."""
    return ran(tmp_path_factory.mktemp("clone"))


def test_nothing_is_left_to_do_after_a_run(clone: Clone) -> None:
    """A second repro skips every stage, and `dvc status` agrees."""
    assert "Data and pipelines are up to date." in clone.dvc("status").stdout
    assert "Running stage" not in clone.dvc("repro").stdout


def test_another_model_is_one_option_away_and_its_metrics_diff_has_deltas(clone: Clone) -> None:
    """`dvc exp run -S model=` runs another model, and every delta of `dvc metrics diff` is a number."""
    clone.dvc("exp", "run", "--name", "other", *PHANTOM)
    figures = clone.compare("main", "other")["metrics/vignettes.json"]
    clone.restore()

    shift = figures["stereotype_shift.estimate"]
    assert shift["diff"] == pytest.approx(shift["new"] - shift["old"])
    # The phantom's shift is planted, the weights of the tiny model are random.
    assert shift["diff"] > 0


def test_queued_runs_give_what_a_plain_run_gives(clone: Clone) -> None:
    """A `--queue` run imports its own code, shares the cache and ends with the same figures."""
    clone.dvc("exp", "run", "--queue", "--name", "queued", *PHANTOM)
    clone.dvc("exp", "run", "--run-all")

    # The experiment of the test above is the plain run of the same model.
    plain, queued = clone.metrics("other", "queued")
    assert plain
    assert plain == queued


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
    done = clone.dvc("exp", "run", *changes(change), check=False)
    clone.restore()

    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode != 0
    assert "stages/export.py" not in done.stdout
    assert len(lines) == 1
    assert message in lines[0]
