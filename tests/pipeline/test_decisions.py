"""The study `decisions` from its build to its figures, by phantoms: what is planted is what is measured."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import projects
from builders import response
from equipoise.core import jsonl
from equipoise.core.cache import response_key
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.figures.layout import rows_of
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED
from equipoise.materials.versions import CONTROLS
from equipoise.models.registry import Generation, PhantomEntry
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.decisions.bench import read_stories
from equipoise.studies.decisions.prompts import follow_ups as decision_follow_ups
from equipoise.studies.decisions.rows import CaseDecision, is_decision
from equipoise.studies.vignettes.reread import follow_ups as reread_follow_ups

if TYPE_CHECKING:
    from equipoise.figures.effects import Effect

ROOT = Path(__file__).parents[2]
FAMILIES = ("undertreatment", "overpsychiatrisation", "disbelief")
WRITTEN = ("raw", "phantoms", "features", "lexicon", "cities.yaml")
FOLLOWED = {"vignettes": reread_follow_ups, "decisions": decision_follow_ups}


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the project, as the stages do."""
    monkeypatch.chdir(ROOT)


def run_of(folder: Path, model: str, study: str = "decisions") -> Run:
    """Make a study of the core profile, whose rows lie in a new folder."""
    for name in WRITTEN:
        link = folder / name
        if not link.exists():
            link.symlink_to(ROOT / "data" / name)
    settings = projects.committed_settings()
    return Run(study, folder, settings.model_copy(update={"model": model}))


def measured(folder: Path, model: str, like: Run | None = None, **how: Any) -> tuple[Run, dict[str, Effect]]:
    """Build, ask and measure the decisions of a phantom; index the effects as `family/group/measure`.

    What is built is that of another phantom's run, if one is given: it is the same for all.
    """
    folder.mkdir()
    run = run_of(folder, model)
    if how:
        run = replace(run, settings=run.settings.model_copy(update={"build": run.settings.build | how}))
    if "cases" in how:
        stories = read_stories([str(ROOT / "data/examples/bench.jsonl")]).stories
        jsonl.write(folder / "items" / f"{how['cases']}.jsonl", stories)
    if like:
        shutil.copytree(like.folder / "built", run.folder / "built")
    else:
        step("decisions", "build")(run)
    step(run.study, "infer")(run)
    step("decisions", "score")(run)
    rows = rows_of(measure(run, step(run.study, "measure")))
    return run, {row.key.removeprefix("decisions/"): row for row in rows}


def both(folder: Path, **how: Any) -> dict[str, tuple[Run, dict[str, Effect]]]:
    """Measure a phantom that treats all alike, and one that plants 2 nats from end to end of every scale."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        fair = measured(folder / "fair", "phantom_fair", **how)
        return {
            "fair": fair,
            "undertreating": measured(folder / "undertreating", "phantom_undertreating", fair[0], **how),
        }


@pytest.fixture(scope="module")
def phantoms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Run, dict[str, Effect]]]:
    """Both phantoms, measured.

    They are asked all pairs of the profile `verdict`: `core` has four decisions about psychiatry with compared
    evidence, too few to tell, and asks for tests of drugs only about patients for whom the evidence is extrapolated, as
    does `powered`.
    """
    return both(tmp_path_factory.mktemp("phantoms"), profile="verdict", stories=None)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_planted_decisions_are_found(phantoms: dict[str, Any], family: str) -> None:
    """Each family moves towards the stereotype, above 0 by its interval; in the fair phantom it does not.

    A tilt of 2 nats moves a mean level by 2 x its variance on a scale from 0 to 1 (to first order): at most 1/2, of two
    levels that are as likely, and less where the guideline's level is nearly certain.
    """
    biased, fair = (phantoms[name][1][f"family/{family}/decision_shift"] for name in ("undertreating", "fair"))

    assert 0.05 < biased.ci_low < biased.estimate < 0.5
    assert abs(fair.estimate) < 0.02
    assert fair.ci_low < 0.01


@pytest.mark.parametrize(("ask", "pairs"), [("admission", 20), ("psychiatric_referral", 20), ("substance_screen", 3)])
def test_the_log_odds_of_two_levels_are_the_planted_ones(phantoms: dict[str, Any], ask: str, pairs: int) -> None:
    """From no to yes is the whole scale: 2 nats, with noise of 0.1 on four utilities, 0.2 a pair; of so many at least.

    Tests of drugs are documented for Black patients, and asked for in three stories of pain about them.
    """
    biased, fair = (phantoms[name][1][f"endpoint/{ask}/log_odds_shift"] for name in ("undertreating", "fair"))

    assert biased.n >= pairs
    # Four standard deviations of the mean.
    assert biased.estimate == pytest.approx(2.0, abs=4 * 0.2 / math.sqrt(pairs))
    assert fair.estimate == pytest.approx(0.0, abs=4 * 0.2 / math.sqrt(pairs))


def test_what_is_planted_in_the_reasoning_goes_through_it(phantoms: dict[str, Any]) -> None:
    """The phantom mediates all that is planted: through is the whole, and both add up."""
    effects = phantoms["undertreating"][1]
    total, around, through = (
        effects[f"overall/all/decision_shift{part}"].estimate for part in ("", "_around", "_through")
    )

    assert total == pytest.approx(around + through, abs=1e-6)
    assert through == pytest.approx(total, rel=0.1)


def test_a_bias_of_decisions_leaves_the_floor_below_it(phantoms: dict[str, Any]) -> None:
    """Control tellings differ by noise alone; irrelevant details move the fair phantom as much as demographics do."""
    biased, fair = (
        phantoms[name][1]["overall/all/decision_magnitude_excess"].estimate for name in ("undertreating", "fair")
    )

    assert biased > 0.05 > abs(fair)


def test_the_guards_look_at_the_reasoning(phantoms: dict[str, Any]) -> None:
    """None warns, and each counts the prompts with replies: those that reason."""
    run, effects = phantoms["undertreating"]
    prompts = jsonl.read(run.built("prompts"), Prompt)

    assert effects["guard/all/n_triggered"].estimate == 0
    assert effects["guard/reasoning_cut_off/share"].n == len(prompts)
    assert effects["run/all/unparsed"].estimate == 0


def test_every_decision_is_asked_of_every_telling(phantoms: dict[str, Any]) -> None:
    """Once each after the own reasoning, and at most once more in the arms after the other's."""
    run, _ = phantoms["undertreating"]
    decisions = jsonl.read(run.built("decisions"), CaseDecision)
    keys = {row.key for row in jsonl.read(run.responses, Response) if is_decision(row.key)}
    tellings = ("marginalised", "privileged", *CONTROLS)

    assert {f"{decision.pair}/{telling}/{decision.ask}" for decision in decisions for telling in tellings} <= keys
    assert len(keys) <= 6 * len(decisions)


def made(**planted: Any) -> PhantomEntry:
    """Make a phantom."""
    return PhantomEntry(title="Phantom", licence="Apache-2.0", backend="phantom", floor=0.1, **planted)


@pytest.fixture(scope="module")
def powered(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The decisions of the profile `powered`, built once: few of those of `core` vary in their right answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(Run, "entry", made(ability=0.97))
        run = run_of(tmp_path_factory.mktemp("powered"), "phantom_fair")
        build = run.settings.build | {"profile": "powered"}
        run = replace(run, settings=run.settings.model_copy(update={"build": build}))
        step("decisions", "build")(run)
        return run


@pytest.mark.parametrize(
    ("planted", "word"),
    [
        ({"ability": 0.97}, UNBIASED),
        ({"ability": 0.01}, UNDECIDED),
        ({"ability": 0.97, "refusals": 0.5}, UNDECIDED),
        # The mean shift of the families is about 0.
        (
            {"ability": 0.97, "decisions": {"undertreatment": 0.7, "overpsychiatrisation": -3.0, "disbelief": -2.0}},
            BIASED,
        ),
        ({"ability": 0.97, "decisions": {"overpsychiatrisation": 3.0}}, BIASED),
    ],
    ids=["fair", "unable", "refusing", "cancelling", "one family"],
)
def test_a_phantom_gets_the_verdict_that_is_planted(
    powered: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: dict[str, Any], word: str
) -> None:
    """A competent fair model can be called fair; one that does not read the case, or refuses, cannot."""
    monkeypatch.setattr(Run, "entry", made(**planted))
    run = replace(powered, data=shutil.copytree(powered.data, tmp_path / "made", symlinks=True))
    for stage in ("infer", "score"):
        step("decisions", stage)(run)
    verdict = measure(run, step("decisions", "measure")).verdict

    assert verdict is not None
    assert verdict.word == word


@pytest.fixture(scope="module", params=["authored", "bench"])
def panels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same phantoms, asked about a panel: our stories, or the imported examples."""
    return both(tmp_path_factory.mktemp("panels"), design="panel", cases=request.param)


@pytest.mark.slow
def test_a_bias_is_found_in_every_group_of_a_panel(panels: dict[str, Any]) -> None:
    """The phantom is biased against all 31, in all end-points; the fair one against none, by Holm's test."""
    biased, fair = (
        [row for key, row in panels[name][1].items() if key.endswith("/decision_shift")]
        for name in ("undertreating", "fair")
    )
    groups = [row for row in biased if row.family == "panel"]

    assert len(groups) == 31
    assert all(0.05 < row.ci_low < 0.5 for row in groups)
    assert min(row.neg_log10_p_holm for row in groups) > 3
    assert {row.group.partition("/")[2] for row in biased if row.family == "cell"} >= {
        "triage",
        "test",
        "psychiatric_referral",
    }
    assert max(row.neg_log10_p_holm for row in fair if row.family == "panel") < 2
    assert all(abs(row.estimate) < 0.02 for row in fair if row.family == "panel")


def test_a_panel_is_told_of_everyone_and_asked_once(panels: dict[str, Any]) -> None:
    """Each story of the control and of 31 groups; nothing is asked again after other reasoning, and no guard warns.

    But for repeated replies: a phantom's bank of reasoning is finite.
    """
    run, effects = panels["undertreating"]
    decisions = jsonl.read(run.built("decisions"), CaseDecision)
    prompts = jsonl.read(run.built("prompts"), Prompt)
    keys = [row.key for row in jsonl.read(run.responses, Response) if is_decision(row.key)]

    assert len(prompts) == 32 * len({decision.pair for decision in decisions})
    assert len(keys) == len(set(keys)) == 32 * len(decisions)
    guards = [row for row in effects.values() if (row.family, row.measure) == ("guard", "triggered")]
    warned = {row.group for row in guards if row.estimate}
    assert warned <= {"repeated_replies"}
    assert {prompt.n_replies for prompt in prompts} == {1 if run.settings.build["cases"] == "bench" else 2}


def test_a_stranger_to_the_end_points_is_refused(tmp_path: Path) -> None:
    """The line names the setting and what there is."""
    listed = r"build\.endpoints: no end-point 'triag': choose from triage, urgency, test, pain"
    with pytest.raises(EquipoiseError, match=listed):
        measured(tmp_path / "made", "phantom_fair", design="panel", cases="bench", endpoints=["triag"])


def test_reasoning_that_the_vignettes_paid_for_is_not_asked_again(tmp_path: Path) -> None:
    """The prompts are those of the vignettes word for word: every one has the same key in the cache of responses."""
    model = Manifest(model="m", repo="r", revision="1", licence="MIT")
    generation = Generation(reasoning_tokens=8, answer_tokens=8)
    keys = []
    for study in ("vignettes", "decisions"):
        run = run_of(tmp_path, "smollm2", study)
        step(study, "build")(run)
        keys.append(
            {prompt.key: response_key(prompt, model, generation) for prompt in jsonl.read(run.built("prompts"), Prompt)}
        )
    vignettes, decisions = keys

    assert decisions
    assert decisions.items() <= vignettes.items()


@pytest.mark.parametrize("study", ["vignettes", "decisions"])
def test_a_server_is_asked_for_replies(tmp_path: Path, study: str) -> None:
    """What follows from the reasoning is answered in text by a model without likelihoods, each in one reply."""
    run = run_of(tmp_path, "api_example", study)
    step(study, "build")(run)
    prompts = [prompt for prompt in jsonl.read(run.built("prompts"), Prompt) if prompt.key.startswith("race-01/")]
    asked = list(
        FOLLOWED[study](run, prompts, [response(prompt.key, f"Because of {prompt.key}.", "Flu.") for prompt in prompts])
    )

    assert asked
    assert {prompt.n_replies for prompt in asked} == {1}
