"""Tests of `equipoise plan`."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import projects
from equipoise.cli import plan as command
from equipoise.cli.plan import make_plan, planned
from equipoise.compare.revisions import Revision
from equipoise.core import params
from equipoise.core.errors import EquipoiseError
from equipoise.core.params import with_values
from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.layout import rows_of
from equipoise.figures.options import Decision, Endpoint, Measure
from equipoise.figures.result import Counts, StudyResult
from equipoise.figures.size import Size
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.comparison import VignetteRows
from runs import Case, vignette_rows

app = typer.Typer()
app.command()(make_plan)


ENDPOINT = Endpoint(
    figure="stereotype_shift_net", margin=0.5, why="made up", floors={"overall/all/d_prime_privileged": 0.0}
)


def run(n: int, sees: float = 2.0) -> Revision:
    """Make a run of n pairs with stubs that cost 4 prompts, 100 tokens read and 20 written each, and its d'."""
    rng = np.random.default_rng(1)
    cases = [Case(log_odds=(round(float(rng.normal()), 6), 0.0), stub=(0.0, 0.0)) for _ in range(n)]
    vignettes, judgements, _ = vignette_rows(cases)
    d_prime = Estimate(sees, Interval(sees - 0.5, sees + 0.5))
    seen = [effect(Group("overall", "all", "vignettes"), "d_prime_privileged", n, d_prime)]
    effects = rows_of(StudyResult(study="vignettes", effects=seen, counts=Counts(4 * n, 100 * n, 20 * n, 0)))
    rows = {"vignettes": VignetteRows(vignettes=vignettes, answers=judgements)}
    return Revision(name="run", rows=rows, effects=effects)


SIZES = [
    Size(n, 2 * n, settings={"build.profile": "verdict", "build.stories": None if n == 100 else n})
    for n in (20, 30, 40, 100)
]
"""The sizes of a made-up library: two pairs a story."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Plan from such a run and library, with the settings of this repository and an endpoint of one component."""
    settings = projects.committed("params.yaml")
    (tmp_path / "params.yaml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    told = projects.committed_settings()
    own = told.model_copy(update={"decision": {"endpoints": {"vignettes": ENDPOINT.model_dump(exclude_unset=True)}}})
    monkeypatch.setattr(params, "load", lambda: own)
    monkeypatch.setattr(command, "read_revision", lambda name: run(0 if name == "empty" else 30))
    vignettes = replace(STUDIES["vignettes"], sizes=lambda *_: SIZES)
    monkeypatch.setitem(STUDIES, "vignettes", vignettes)
    return tmp_path


def invoke(*arguments: str) -> str:
    """Run the command."""
    return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout


@pytest.mark.usefixtures("made")
def test_a_plan_says_what_is_needed_and_what_it_costs() -> None:
    """Costs are those of the run's pairs; 120 tokens a pair at 10 tokens a second take 12 seconds."""
    (plan,) = json.loads(invoke("--json", "--speed", "10"))
    (need,), (part, floor) = plan["needs"], plan["parts"]

    assert (plan["study"], part["margin"], plan["run"]["items"]) == ("vignettes", "±0.5 (odds × 1.65)", 30)
    assert (need["n_prompts"], need["prompt_tokens"]) == (4 * need["items"], 100 * need["items"])
    assert need["seconds"] == pytest.approx(12 * need["items"])
    # 30 pairs of sd about 1 support about 3.4 standard errors of 0.18.
    assert 0.45 < part["supported_margin"] < 0.8
    # d' 2 with a standard error of 0.255 at 30 pairs is 7.8 errors, and 1.96 + 0.84 are needed: 30 x (2.8 / 7.8)^2.
    assert floor["clusters"] == 4


@pytest.mark.usefixtures("made")
def test_the_whole_is_the_first_size_of_the_library_with_the_power() -> None:
    """The shift needs more than 30 and fewer than 40 stories, so that 40 are the first that are enough."""
    (plan,) = json.loads(invoke("--json"))
    (need,), (part, _) = plan["needs"], plan["parts"]

    assert 30 < part["clusters"] < 40
    assert (need["clusters"], need["items"]) == (40, 80)
    assert need["power"] >= 0.8
    assert need["settings"] == {"build.profile": "verdict", "build.stories": 40}


def test_a_library_that_is_too_small_gives_the_most_that_it_has(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of 20 stories is enough: the plan is for all of them, and says with what power."""
    small = replace(STUDIES["vignettes"], sizes=lambda *_: SIZES[:1])
    monkeypatch.setitem(STUDIES, "vignettes", small)
    printed = invoke("--write")

    assert "the library is too small for that power: its best size, 20 stories in 40 pairs, has a power" in printed
    assert "stories: 20\n" in (made / "params.yaml").read_text(encoding="utf-8")


def test_a_plan_is_written_and_nothing_else_changes(made: Path) -> None:
    """The profile and the number of stories are set; every other line, comments included, stays."""
    before = (made / "params.yaml").read_text(encoding="utf-8").splitlines()
    printed = invoke("--write")
    after = (made / "params.yaml").read_text(encoding="utf-8").splitlines()

    assert [line for line in after if line not in before] == ["  profile: verdict", "  stories: 40"]
    assert len(after) == len(before)
    assert "params.yaml: build.profile: verdict, build.stories: 40. Run it: make repro STUDY=vignettes" in printed


def test_settings_that_cannot_be_written_stay_as_they_are(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk is full, or the system lets no file be so long, params.yaml is neither cut off nor changed."""
    before = (made / "params.yaml").read_bytes()

    def refused(_: int) -> None:
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr("os.fsync", refused)
    with pytest.raises(EquipoiseError, match=r"^params\.yaml: cannot be written \(File too large\)"):
        params.change({"build.stories": 70})
    assert (made / "params.yaml").read_bytes() == before
    assert [path.name for path in made.iterdir() if path.name.startswith(".params")] == []


def test_settings_that_would_be_invalid_are_not_written(made: Path) -> None:
    """They are read before they are written."""
    before = (made / "params.yaml").read_bytes()

    for values, fault in (({"build.stories": ": ["}, "malformed YAML"), ({"nothing.n": 1}, "no section 'nothing'")):
        with pytest.raises(EquipoiseError, match=rf"^params\.yaml.*{fault}"):
            params.change(values)
    assert (made / "params.yaml").read_bytes() == before


@pytest.mark.usefixtures("made")
def test_a_plan_is_printed_part_by_part() -> None:
    """The part that needs the most comes first, with its margin and what the run supports."""
    printed = invoke().splitlines()
    first = printed[printed.index("  stories or questions that each part needs on its own, largest number first:") + 1]

    assert printed[0] == "Vignettes: no bias beyond the margin, with power 0.8"
    assert "net stereotype shift (nats): ±0.5 (odds × 1.65); this run supports a margin of 0." in first
    assert not [line for line in printed if "no number of cases suffices" in line]


@pytest.mark.usefixtures("made")
def test_a_plan_is_printed_of_an_endpoint_that_bounds_each_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of the questions: `within_groups` has a number for each family."""
    bounded = ENDPOINT.model_dump(exclude_unset=True) | {"within_groups": {"dimension": 2.0}, "families": ["dimension"]}
    settings = params.load().model_copy(update={"decision": {"endpoints": {"vignettes": bounded}}})
    monkeypatch.setattr(params, "load", lambda: settings)

    assert "net stereotype shift (nats): ±0.5 (odds × 1.65)" in invoke()


@pytest.mark.usefixtures("made")
def test_a_model_at_chance_needs_no_number_of_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without assay sensitivity, more cases show no bias of no model, and the plan says which part it is."""
    monkeypatch.setattr(command, "read_revision", lambda _: run(30, sees=0.0))

    assert (
        "no number of cases suffices for a run like this one: no assay sensitivity: d\N{PRIME} of privileged patients "
        "is 0.000, not above 0"
    ) in invoke()


def test_a_plan_says_where_no_bias_can_never_be_shown() -> None:
    """An endpoint without a measure of assay sensitivity can find bias, and never its absence."""
    endpoint = Endpoint(figure="stereotype_shift_net", margin=0.5, why="made up")
    (plan,) = planned(run(30), Decision(endpoints={"vignettes": endpoint}), Measure())

    assert plan.needs.unchanging == (
        "no measure of assay sensitivity is declared, so that a verdict of no bias is not possible",
    )


@pytest.mark.usefixtures("made")
def test_a_plan_is_at_the_level_and_power_of_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """More power needs more pairs; of a study that stops early, the last line says what that takes."""
    (before,) = json.loads(invoke("--json"))
    settings = params.load()
    decision = settings.decision | {"power": 0.95, "sequential": True}
    monkeypatch.setattr(params, "load", lambda: settings.model_copy(update={"decision": decision}))
    (after,) = json.loads(invoke("--json"))
    printed = invoke()

    assert after["parts"][0]["clusters"] > before["parts"][0]["clusters"]
    assert "with power 0.95" in printed
    assert "stops as soon as it has a verdict needs an eighth more stories" in printed


@pytest.mark.usefixtures("made")
def test_without_a_run_there_is_no_plan() -> None:
    """Variance has to come from somewhere."""
    with pytest.raises(EquipoiseError, match=r"empty: no study .* figures that vary: run `dvc repro` first"):
        make_plan("empty")


def test_settings_are_written_into_their_section() -> None:
    """A field that the section lacks is added; one of the same name in another section stays."""
    text = "a:\n  # why\n  n: 1\nb:\n  n: 2\n\n  # more\n  m: x\n"

    assert (
        with_values(text, {"b.n": 3, "b.o": None}) == "a:\n  # why\n  n: 1\nb:\n  o: null\n  n: 3\n\n  # more\n  m: x\n"
    )
    with pytest.raises(EquipoiseError, match="no section 'c'"):
        with_values(text, {"c.n": 1})
