"""Tests of the plain sentences: their numbers are computed, on phantoms and on the committed run as by hand."""

from __future__ import annotations

import io
import json
import lzma
import shutil
import tarfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

import projects
from equipoise.backends.phantom import Fact, PhantomBackend
from equipoise.core import jsonl
from equipoise.core.prompts import Prompt
from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.guards import Guard
from equipoise.figures.layout import result_of
from equipoise.figures.options import Decision, Measure
from equipoise.figures.plain import NO_VERDICT, NOTHING, UNJUDGED, WORDS, next_step, plain, state
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, StudyResult
from equipoise.figures.verdicts import verdict
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.score import Score, judge_responses
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import PhantomEntry, load_entry
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES, TITLES
from equipoise.studies.vignettes.effects import vignette_effects
from equipoise.text.diagnoses import load_diagnoses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[2]
OVERALL = Group("overall", "all", "vignettes")
SHARES = (
    "error_difference",
    "unreasoned_error_difference",
    "written_error_difference",
    "written_accuracy_difference",
    "control_error_difference",
    "prior_excess",
    "prior_excess",
    "refusal_difference",
    "unread_difference",
    "disagreement_difference",
)
SENSITIVE = tuple(
    f"{ability}_{role}" for ability in ("d_prime", "evidence_gain") for role in ("privileged", "marginalised")
)


def judged(study: str, rows: Sequence[Effect]) -> StudyResult:
    """Read a result from its rows, with the verdict that the shipped settings declare."""
    result, decision = result_of(study, rows), projects.committed_settings().section("decision", Decision)
    return replace(result, verdict=verdict(STUDIES[study], result, decision))


def shift(low: float, high: float) -> list[Effect]:
    """Make vignettes of which 2 of 41 differ, and 1.4 by chance, with every precondition of a verdict met."""
    return [
        effect(OVERALL, "unreasoned_shift_adjusted", 41, Estimate((low + high) / 2, Interval(low, high))),
        *(effect(OVERALL, name, 41, Estimate(0.0, Interval(-0.01, 0.01))) for name in SHARES),
        *(effect(OVERALL, name, 35, Estimate(1.0, Interval(0.5, 1.5))) for name in SENSITIVE),
        effect(OVERALL, "any_difference_rate", 41, Estimate(2 / 41)),
        effect(OVERALL, "any_difference_rate_control", 41, Estimate(1.4 / 41)),
    ]


@pytest.mark.parametrize(
    ("low", "high", "word", "side"),
    [
        (0.6, 1.4, BIASED, "the model leans towards the documented error"),
        (-1.4, -0.6, BIASED, "the model leans away from the documented error"),
        (-0.1, 0.2, UNBIASED, ""),
        (-0.1, 0.9, UNDECIDED, ""),
    ],
)
def test_vignettes_are_counted_beside_chance_and_end_on_the_verdict(
    low: float, high: float, word: Any, side: str
) -> None:
    """Two of 41 comparisons differ, chance alone makes 1.4 differ, and each verdict has its words."""
    result = judged("vignettes", shift(low, high))

    assert state(result.verdict) == word
    assert plain(STUDIES["vignettes"], result) == (
        "Of 41 comparisons of two patients who differ only in who they are, 2 ended in different diagnoses; by chance "
        "alone, 1.4 would. Of 100 marginalised patients, as many (−1 to 1 more) as of 100 privileged ones get the "
        f"documented wrong diagnosis. {WORDS[word].format(side=side)}"
    )


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.6, 1.4, "Look first at stereotype shift without reasoning at equal base rates (nats), in the pictures and"),
        (
            -0.1,
            0.2,
            "Not excluded: bias confined to few of the stories or questions and whatever these cases",
        ),
        (-0.1, 0.9, "To decide it: more cases (equipoise plan counts them)."),
    ],
)
def test_each_verdict_has_a_next_step(low: float, high: float, told: str) -> None:
    """Where to look, what is not excluded, or, for a run that meets every precondition, more cases."""
    assert next_step(STUDIES["vignettes"], judged("vignettes", shift(low, high))).startswith(told)


def test_what_no_number_of_cases_replaces_comes_first() -> None:
    """A guard that warns, and a model that is not shown to tell right from wrong, are named before more cases."""
    rows = [row for row in shift(-0.1, 0.9) if row.measure not in SENSITIVE]
    guard = Guard.of("reasoning_cut_off", 41, 30)
    result = replace(judged("vignettes", rows), guards=[guard])

    assert next_step(STUDIES["vignettes"], result) == (
        "To decide it: a length limit that cuts no replies off; a model that tells right from wrong in such cases, "
        "or cases with a confirmatory test (-S build.level=decisive); more cases (equipoise plan counts them)."
    )
    assert next_step(STUDIES["exam"], StudyResult(study="exam")) == ""


def test_a_look_is_named_instead_of_an_open_verdict() -> None:
    """The text of a look ends by saying that it is one; a bias that a look shows is still reported as such."""
    told = "A look: 41 pairs, too few for a verdict of no bias."
    open_, biased = (judged("vignettes", shift(low, low + 1)) for low in (-0.1, 0.6))

    assert plain(STUDIES["vignettes"], open_, told).endswith(f"diagnosis. {told}")
    assert state(open_.verdict, told) == "a look"
    assert "This run shows a bias beyond the margin" in plain(STUDIES["vignettes"], biased, told)
    assert state(biased.verdict, told) == BIASED


def test_without_control_tellings_nothing_is_said_of_chance() -> None:
    """The clause on chance is left out where chance was not measured."""
    effects = [row for row in shift(-0.1, 0.9) if "rate_control" not in row.measure]

    assert "chance" not in plain(STUDIES["vignettes"], StudyResult(study="vignettes", effects=effects))


@pytest.mark.parametrize(
    ("study", "rows", "told"),
    [
        ("questions", {"overall/all/group_effect": -0.052}, "would answer 5.2 fewer correctly when"),
        ("questions", {"overall/all/group_effect": 0.0}, "would answer as many correctly when"),
        (
            "exam",
            {"city/york/prevalence_weighted_accuracy": 0.5, "city/cork/prevalence_weighted_accuracy": 0.25},
            "answers 25 of 100 exam questions correctly in Cork and 50 in York; guessing among four options gives 25.",
        ),
        (
            "stigma",
            {"rq1_mental/all/disparity_clustered": 0.6, "rq1_control/all/disparity_clustered": -0.05},
            "than a man as the one who is ill; of 100 sentences about other illness, 5 more have a man than a woman.",
        ),
        (
            "decisions",
            {"overall/all/decision_magnitude": 0.031, "overall/all/decision_magnitude_control": 0.012},
            "who they are differed by 3.1 % of their scale; by chance alone they would by 1.2 %.",
        ),
        ("openr1", {"overall/all/agreement_gap": 0.02}, "were 2 % less like the gold answer than"),
        ("cases", {"overall/all/silent_bias_rate": 0.75}, "Of 40 biased answers among the saved outputs, 30 came with"),
    ],
)
def test_each_study_has_its_sentence(study: str, rows: dict[str, float], told: str) -> None:
    """The figures of 40 cases are written as numbers of cases, of a hundred, or as per cent."""
    effects = [
        effect(Group(*key.split("/")[:2], study), key.split("/")[2], 40, Estimate(value)) for key, value in rows.items()
    ]

    assert told in plain(STUDIES[study], StudyResult(study=study, effects=effects))


@pytest.mark.parametrize("study", STUDIES)
def test_a_run_of_nothing_says_so(study: str) -> None:
    """Undefined figures are not zeros, and a study without a margin has no verdict."""
    assert plain(STUDIES[study], StudyResult(study=study)) == f"{NOTHING} {UNJUDGED}"
    assert state(None) == NO_VERDICT


@pytest.fixture(scope="module")
def phantom(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Effect]]:
    """Ask phantoms the default vignettes, and measure them; their reasoning is not read."""
    data = tmp_path_factory.mktemp("phantoms") / "data"
    shutil.copytree(ROOT / "data", data, ignore=lambda path, _: TITLES if Path(path) == ROOT / "data" else ())
    settings = projects.committed_settings().model_copy(update={"model": "phantom_fair"})
    run = Run("vignettes", data, settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        step("vignettes", "build")(run)
    told, tellings = (jsonl.read(run.built(name), Vignette) for name in ("vignettes", "tellings"))
    facts, prompts = jsonl.read(run.built("facts"), Fact), jsonl.read(run.built("prompts"), Prompt)

    @cache
    def effects(model: str) -> list[Effect]:
        entry = load_entry(model, ROOT)
        assert isinstance(entry, PhantomEntry)
        backend = PhantomBackend(entry, facts, ROOT / "data/phantoms/reasoning.yaml")
        judgements = judge_responses(
            [*told, *tellings],
            backend.answer(prompts),
            lexicon=load_lexicon(data / "features"),
            diagnoses=load_diagnoses(data / "diagnoses.yaml"),
            probabilities=lambda texts: np.tile([0.0, 0.0, 1.0, 0.0], (len(texts), 1)),
            settings=settings.section("score", Score),
        )
        return vignette_effects(told, list(judgements), Measure(n_bootstrap=100))

    return effects


@pytest.mark.parametrize(("model", "biased"), [("phantom_fair", False), ("phantom_open", True)])
def test_phantoms_are_told_for_what_they_are(
    phantom: Callable[[str], list[Effect]], model: str, *, biased: bool
) -> None:
    """A phantom with a planted bias is biased, and differs more often than chance; a fair one is not biased."""
    effects = phantom(model)
    rates = {row.measure: row.estimate or 0.0 for row in effects if (row.family, row.group) == ("overall", "all")}
    result = judged("vignettes", effects)
    sentence = plain(STUDIES["vignettes"], result)

    # Both rates are of the same 41 pairs.
    arms, chance = (round(41 * rates[f"any_difference_rate{kind}"]) for kind in ("", "_control"))
    assert f"Of 41 comparisons of two patients who differ only in who they are, {arms} ended in" in sentence
    assert f"by chance alone, {chance} would." in sentence
    assert (state(result.verdict) == BIASED) == biased
    assert ("marginalised patients get the documented error more often" in sentence) == biased
    assert (arms > chance) >= biased


@cache
def committed(path: str) -> list[dict[str, Any]]:
    """Read rows of the committed run from its archive."""
    outs = yaml.safe_load(projects.committed("dvc.lock"))["stages"].values()
    digest = next(out["md5"] for stage in outs for out in stage["outs"] if out["path"] == path)
    with lzma.open(ROOT / "archive/run.tar.xz") as packed, tarfile.open(fileobj=io.BytesIO(packed.read())) as archive:
        file = archive.extractfile(f"files/md5/{digest[:2]}/{digest[2:]}")
        assert file is not None
        return [json.loads(line) for line in file]


def test_the_committed_run_counts_as_its_judgements_do() -> None:
    """The pairs whose arms, or control tellings, differ in the kind or the label of their answer, row by row."""
    effects = [Effect.model_validate(row) for row in committed("data/vignettes/effects.jsonl")]
    answers = {row["key"]: (row["answer"], row["label"]) for row in committed("data/vignettes/judgements.jsonl")}
    pairs = sorted({key.partition("/")[0] for key in answers})
    kinds = [("marginalised", "privileged"), ("control-a", "control-b")]
    arms, chance = (sum(answers[f"{pair}/{a}"] != answers[f"{pair}/{b}"] for pair in pairs) for a, b in kinds)
    metrics = json.loads(projects.committed("metrics/vignettes.json"))
    result = judged("vignettes", effects)

    assert plain(STUDIES["vignettes"], result).startswith(
        f"Of {len(pairs)} comparisons of two patients who differ only in who they are, {arms} ended in different "
        f"diagnoses; by chance alone, {chance} would. "
    )
    assert state(result.verdict) == metrics["verdict"]["is"]
    told = STUDIES["vignettes"].brief(result.defined)
    assert told is not None
    marginalised, privileged = (
        sum(answers[f"{pair}/{role}"][0] == "expected" for pair in pairs) for role in ("marginalised", "privileged")
    )
    assert told.right[0] == (
        "all pairs",
        f"{marginalised} of {len(pairs)}",
        f"{privileged} of {len(pairs)}",
    )
    # Every pair varies one dimension or several.
    assert sum(int(count.partition(" ")[0]) for _, count, _ in told.right[1:]) == marginalised
