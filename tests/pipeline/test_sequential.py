"""Tests of studies that stop when their verdict is in: what is asked, in which order, and what is made of it."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import projects
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import unit_of
from equipoise.core.prompts import Prompt, Response
from equipoise.figures.effects import POOLED, SIMULTANEOUS, Effect
from equipoise.figures.layout import ADJUSTED, INTERVAL, result_of, rows_of
from equipoise.figures.options import Decision
from equipoise.figures.result import BIASED, UNDECIDED
from equipoise.figures.verdicts import places, verdict
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.depends import listing
from equipoise.pipeline.infer import is_stopped_early
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step, stopping_of
from equipoise.stats.clusters import degrees_of_freedom
from equipoise.stats.paired import t_quantile
from equipoise.stats.repeated import level
from equipoise.studies.decisions.rows import CaseDecision
from equipoise.studies.questions.rows import Variant
from equipoise.studies.registry import STUDIES, TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.row import Row
    from equipoise.figures.result import Verdict

ROOT = Path(__file__).parents[2]
STUDY = STUDIES["vignettes"]
SETTINGS = projects.committed_settings()
REREADINGS: Sequence[str] = SETTINGS.build["rereadings"]
BIASED_PHANTOM: dict[str, str] = {
    "vignettes": "phantom_silent",
    "questions": "phantom_silent",
    "decisions": "phantom_undertreating",
}
EFFECT = "overall/all/group_effect"
"""The primary endpoint of the questions."""
ITEMS = 30
"""Questions: more than the twenty from which on a study may stop."""
BUILT: dict[str, dict[str, type[Row]]] = {
    "vignettes": {"vignettes": Vignette, "tellings": Vignette, "prompts": Prompt},
    "questions": {"variants": Variant, "prompts": Prompt},
    "decisions": {"vignettes": Vignette, "tellings": Vignette, "decisions": CaseDecision, "prompts": Prompt},
}


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the project, as the stages do."""
    monkeypatch.chdir(ROOT)


def built(folder: Path, study: str, model: str, *, rereadings: Sequence[str] = REREADINGS, **decision: Any) -> Run:
    """Build a study to put to a phantom, and to stop when its verdict is in."""
    shutil.copytree(ROOT / "data", folder, ignore=lambda path, _: TITLES if Path(path) == ROOT / "data" else ())
    changed = {
        "build": SETTINGS.build | {"rereadings": list(rereadings)},
        "decision": SETTINGS.decision | {"sequential": True} | decision,
    }
    quick = {
        "measure": SETTINGS.measure | {"n_bootstrap": 100},
        "neutralize": SETTINGS.neutralize | {"limit": ITEMS},
        "perturb": SETTINGS.perturb | {"orders": 1},
    }
    run = Run(study, folder, SETTINGS.model_copy(update={"model": model, **quick, **changed}))
    step(study, "build")(run)
    return run


def measured(run: Run) -> dict[str, Effect]:
    """Score and measure what was asked; index the effects by key."""
    step(run.study, "score")(run)
    return {row.key: row for row in rows_of(measure(run, step(run.study, "measure")))}


def judged(run: Run, effects: dict[str, Effect]) -> Verdict:
    """Give the verdict of a run."""
    result = result_of(run.study, effects.values())
    outcome = verdict(STUDIES[run.study], result, run.settings.section("decision", Decision))
    assert outcome is not None
    return outcome


def responses(run: Run) -> list[Response]:
    """Read the responses."""
    return jsonl.read(run.responses, Response)


def stopped(folder: Path, study: str) -> tuple[Run, dict[str, Effect]]:
    """Ask a biased phantom until its verdict is in, and measure it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        run = built(folder / "data", study, BIASED_PHANTOM[study])
        step(run.study, "infer")(run)
        return run, measured(run)


@pytest.fixture(scope="module")
def vignettes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Effect]]:
    """The vignettes put to a biased phantom, and the effects."""
    return stopped(tmp_path_factory.mktemp("vignettes"), "vignettes")


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Effect]]:
    """The questions put to a biased phantom, and the effects."""
    return stopped(tmp_path_factory.mktemp("questions"), "questions")


@pytest.fixture(scope="module")
def decisions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Effect]]:
    """The decisions of a biased phantom, and the effects."""
    return stopped(tmp_path_factory.mktemp("decisions"), "decisions")


@pytest.fixture(params=[*BIASED_PHANTOM])
def biased(request: pytest.FixtureRequest) -> tuple[Run, dict[str, Effect]]:
    """Each of the three."""
    run_and_effects: tuple[Run, dict[str, Effect]] = request.getfixturevalue(request.param)
    return run_and_effects


@pytest.mark.slow
def test_a_biased_phantom_stops_early(biased: tuple[Run, dict[str, Effect]]) -> None:
    """Whole clusters are left unasked, and the verdict says so, with an interval beyond the margin."""
    stopped, effects = biased
    outcome = judged(stopped, effects)
    asked, left = ({unit.cluster for unit in stopped.units if unit.asked is wanted} for wanted in (True, False))

    assert outcome.word == BIASED
    assert outcome.looked is not None
    assert len(asked) < len(asked | left) == outcome.looked.planned
    assert not asked & left
    assert outcome.sentence.endswith(
        f"Stopped early: {len(asked)} of {len(asked | left)} stories or questions were asked; the interval "
        "holds at all looks together."
    )
    assert {unit_of(row.key) for row in responses(stopped)} == {unit.key for unit in stopped.units if unit.asked}


def test_figures_are_those_of_a_fixed_run_over_the_same_cases(
    biased: tuple[Run, dict[str, Effect]], tmp_path: Path
) -> None:
    """But for what the verdict reads, whose intervals are wider: components, floors, bounds, groups; and its rows."""
    stopped, some = biased
    fixed = built(tmp_path / "data", stopped.study, BIASED_PHANTOM[stopped.study], sequential=False)
    for name, kind in BUILT[fixed.study].items():
        jsonl.write(fixed.built(name), list(stopped.rows(name, kind)))
    if fixed.study == "questions":
        tried = [unit.key for unit in stopped.units if unit.asked]
        lines = fixed.built("attempts").read_text(encoding="utf-8").splitlines(keepends=True)
        fixed.built("attempts").write_text("".join(line for line in lines if any(f'"{key}/' in line for key in tried)))
    step(fixed.study, "infer")(fixed)
    whole = measured(fixed)
    endpoint = stopped.settings.section("decision", Decision).endpoints[stopped.study]
    read = {f"{stopped.study}/{place}" for place in places(STUDIES[stopped.study], endpoint)}
    read |= {key for key, row in whole.items() if key.endswith((SIMULTANEOUS, POOLED)) and row.ci_low is not None}

    assert fixed.units == []
    assert some.keys() - whole.keys() == {f"{stopped.study}/verdict/all/asked"}
    for key, row in whole.items():
        assert some[key].estimate == row.estimate, key
        assert some[key].n == row.n, key
        if key in read:
            wide = some[key].ci_low
            assert row.ci_low is not None
            assert wide is not None
            assert wide < row.ci_low, key
        elif "/verdict/" not in key:
            assert some[key] == row, key


def test_a_run_asked_again_is_the_same(questions: tuple[Run, dict[str, Effect]], tmp_path: Path) -> None:
    """The order is a function of the seed and of what was built: equal bytes; another seed asks other cases first."""
    stopped, _ = questions
    again = replace(stopped, data=tmp_path / "data")
    shutil.copytree(stopped.data, again.data)
    step(again.study, "infer")(again)
    other = SETTINGS.decision | {"sequential": True, "seed": 1}
    reseeded = replace(again, settings=again.settings.model_copy(update={"decision": other}))
    first = again.asked.read_bytes()
    step(reseeded.study, "infer")(reseeded)

    assert first == stopped.asked.read_bytes()
    assert {unit.key for unit in reseeded.units if unit.asked} != {unit.key for unit in stopped.units if unit.asked}


def test_a_response_to_what_was_not_asked_is_refused(questions: tuple[Run, dict[str, Effect]], tmp_path: Path) -> None:
    """And so is one that is missing: a stopped run is whole."""
    stopped, _ = questions
    run = replace(stopped, data=tmp_path / "data")
    shutil.copytree(stopped.data, run.data)
    given, left = responses(run), next(unit.key for unit in run.units if not unit.asked)
    stray = next(prompt for prompt in jsonl.each(run.built("prompts"), Prompt) if unit_of(prompt.key) == left)
    jsonl.write(run.responses, [*given, given[0].model_copy(update={"key": stray.key})])
    figures = step(run.study, "measure")

    with pytest.raises(EquipoiseError, match="which is not among the prompts of the study"):
        measure(run, figures)
    jsonl.write(run.responses, given[1:])
    with pytest.raises(EquipoiseError, match="prompts have no response"):
        measure(run, figures)


def test_a_decision_at_a_level_of_its_own_rests_on_an_interval_of_that_level(
    questions: tuple[Run, dict[str, Effect]],
) -> None:
    """It is narrower at 80 % than that of the figure, and as far from it as other quantiles are; the rest stays."""
    stopped, whole = questions
    settings = stopped.settings.model_copy(update={"decision": stopped.settings.decision | {"alpha": 0.2}})
    result = measure(replace(stopped, settings=settings), step("questions", "measure"))
    effects = {row.key: row for row in rows_of(result)}
    at_level, figure = effects[f"questions/verdict/{INTERVAL}/{EFFECT}"], effects[f"questions/{EFFECT}"]
    sentence = judged(replace(stopped, settings=settings), effects).sentence

    assert {key: row for key, row in effects.items() if key in whole} == whole
    assert at_level.estimate == figure.estimate
    assert None not in (figure.ci_low, at_level.ci_low, at_level.ci_high, figure.ci_high)
    assert figure.ci_low < at_level.ci_low < at_level.ci_high < figure.ci_high  # type: ignore[operator]  # as asserted
    assert f"{at_level.ci_high:.3f}; 80 % interval)" in sentence


def test_components_are_judged_at_their_joint_level_at_all_looks(vignettes: tuple[Run, dict[str, Effect]]) -> None:
    """Student's intervals of each component, at the last look's level of alpha and of what holds for all together."""
    stopped, effects = vignettes
    endpoint = stopped.settings.section("decision", Decision).endpoints["vignettes"]
    # The run has no cues, so that the components that count only where they are measured are left out.
    components = [name for name, component in endpoint.components.items() if not component.if_measured]
    outcome, parts = judged(stopped, effects), len(components)
    assert outcome.looked is not None
    asked, planned = outcome.looked
    reaches = {}
    for name in ("error_difference", "unreasoned_error_difference", "unreasoned_shift_adjusted"):
        row, joint = (effects[f"vignettes/{where}overall/all/{name}"] for where in ("", f"verdict/{ADJUSTED}/"))
        assert row.estimate is not None
        assert row.estimate == joint.estimate
        reaches[name] = [row.estimate - (effect.ci_low or 0.0) for effect in (row, joint)]

    assert [part.figure.measure for part in outcome.parts] == components
    # The joint level lies between alpha and alpha / parts, and is one for all components.
    counted = stopping_of("vignettes").counted(stopped)  # type: ignore[union-attr]  # the study can stop
    pairs = Counter(unit.cluster for unit in stopped.units if unit.asked and unit.key in counted)
    assert len(pairs) == asked
    df = degrees_of_freedom(np.array([*pairs.values()]) / pairs.total())
    levels = [level(asked, planned, 0.05 / k) or 0.0 for k in (1, parts)]
    own, wide = (float(t_quantile(alpha, df)) for alpha in levels)
    ratios = [joint / reach for reach, joint in reaches.values()]
    assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-3)
    assert 1 < ratios[0] <= wide / own + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("study", [*BIASED_PHANTOM])
def test_a_run_whose_preconditions_are_never_met_asks_everything(study: str, tmp_path: Path) -> None:
    """A phantom at chance has no assay sensitivity: it is asked to the end, and undecided."""
    # Those of which no component, floor or bound is are left out.
    run = built(tmp_path / "data", study, "phantom_chance", rereadings=["unreasoned"])
    step(run.study, "infer")(run)
    outcome = judged(run, measured(run))

    assert all(unit.asked for unit in run.units)
    assert outcome.word == UNDECIDED
    assert "Stopped early" not in outcome.sentence
    assert outcome.looked is not None
    assert outcome.looked.asked == outcome.looked.planned
    assert (
        f"{outcome.looked.asked} of {outcome.looked.asked} stories or questions were asked; the interval"
        in outcome.sentence
    )


@pytest.mark.parametrize(
    ("study", "change", "stops"),
    [
        ("vignettes", {}, True),
        ("stigma", {}, False),
        ("exam", {}, False),
        ("vignettes", {"build": SETTINGS.build | {"design": "panel"}}, False),
        ("vignettes", {"decision": SETTINGS.decision}, False),
    ],
)
def test_only_studies_told_in_pairs_and_questions_stop(
    study: str,
    change: dict[str, Any],
    stops: bool,  # noqa: FBT001  (a parameter of the test)
    tmp_path: Path,
) -> None:
    """Every prompt of the stigma study has all conditions, the exam has no verdict, and a panel no endpoint."""
    sequential = {"decision": SETTINGS.decision | {"sequential": True}} | change

    assert is_stopped_early(Run(study, tmp_path, SETTINGS.model_copy(update=sequential))) is stops


def test_only_a_run_that_stops_depends_on_its_margins_and_on_the_code_that_measures() -> None:
    """The listing of `infer` names them, so that another margin asks again where it may change the stop."""
    stops, wider = (
        SETTINGS.model_copy(update={"decision": SETTINGS.decision | {"sequential": True, "seed": seed}})
        for seed in (0, 1)
    )

    plain, stopped, other = (
        set(listing("infer", STUDY, settings, Path("stages")).splitlines()) for settings in (SETTINGS, stops, wider)
    )
    more = {line.partition("  ")[2] for line in stopped - plain}
    assert {"src/equipoise/pipeline/sequential.py", "src/equipoise/pipeline/measure.py"} <= more
    # It scores while it asks, and so reads what `score` and `measure` read.
    assert {"data/diagnoses.yaml", "models/judges/minilm_passages.yaml"} <= more
    (margins,) = stopped - other
    assert "stereotype_shift_net" in margins
