"""Treatments of bias: the words of each, the estimators with their coverage, and the outcomes that are planted."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import ndtri

import projects
from builders import judgement
from equipoise.cli.treat import _table, treat
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.printing import PlainConsole, show_on
from equipoise.core.prompts import Prompt
from equipoise.figures.effects import Effect, Estimate, Group, clustered_gap, effect, with_adjusted
from equipoise.figures.options import Measure
from equipoise.figures.result import StudyResult
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair, pair_up
from equipoise.materials.stories.compose import INSTRUCTION, told_rows
from equipoise.materials.stories.schema import REVEALING
from equipoise.materials.versions import MIRRORS, TOLD, TREATMENTS, CaseKey
from equipoise.materials.vignette import ROLES, Vignette
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.stats.clusters import magnitude_change, probit_contrast
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import TITLES
from equipoise.studies.vignettes import treatments
from equipoise.studies.vignettes.profiles import Build, build_treated, profile_pairs, vignette_prompts
from equipoise.studies.vignettes.reread import REVIEW
from equipoise.studies.vignettes.score import score
from equipoise.studies.vignettes.treatments import change, inverted, sentences, treatment_effects

if TYPE_CHECKING:
    from equipoise.materials.stories.library import Library
    from equipoise.materials.versions import Treatment
    from equipoise.studies.vignettes.profiles import PlannedPair

Cells = tuple[tuple[float, float], tuple[float, float]]
"""P(error) and P(right) of the marginalised and of the privileged patient."""
ROOT = Path(__file__).parents[3]
SIDES = ("race", "housing")
BLANK = judgement("blank")
ALONE = {"controls": False, "stubs": False, "rereadings": [], "mirrors": True, "treatments": list(TREATMENTS)}


@pytest.fixture(scope="module")
def told(authored: Library) -> list[tuple[PlannedPair, dict[str, list[Vignette]]]]:
    """The rows of every authored pair, by kind: both arms, then both mirrors."""
    pairs = profile_pairs(authored, "full")
    return [(pair, {kind: list(told_rows(*pair, kind, study="vignettes")) for kind in TOLD}) for pair in pairs]


def test_blinding_leaves_one_case_without_demographics(told: Any) -> None:
    """Both arms, and both mirrors, become one text, in which no word states gender or age, nor the arm's feature."""
    for _, rows in told:
        first, second, *mirrors = rows["blinded"]
        for marginalised, privileged in ((first, second), mirrors):
            assert marginalised.text == privileged.text
            assert marginalised.text[slice(*marginalised.spans[0])].casefold() == "a patient"
            assert not REVEALING.search(marginalised.text)


def test_criteria_are_the_same_in_the_case_and_its_mirror(told: Any) -> None:
    """One text, whose right answer is the one diagnosis in the case and the other in the mirror, in order of names."""
    for (_, _, parts), rows in told:
        added = {row.text.partition("\n\n")[2] for row in rows["guideline"]}
        named = re.findall(r"^- (.+?): ", "".join(added), re.MULTILINE)

        assert len(added) == 1
        assert named == sorted((parts.presentation.expected.label, parts.tested.answer.label))
        assert not REVEALING.search(*added)


def test_words_are_added_and_nothing_else_changes(told: Any) -> None:
    """What is told as usual is the arm or mirror, and the instruction follows it."""
    for _, rows in told:
        for usual, instructed in zip(rows["usual"], rows["instructed"], strict=True):
            assert instructed.text == f"{usual.text}\n\n{INSTRUCTION}"
        assert [CaseKey.parse(row.key).version for row in rows["usual"]] == list(chain(*TOLD["usual"]))


def build_of(**changed: Any) -> Build:
    """The section `build` of the committed settings with other values."""
    build = projects.committed_settings().section("build", Build)
    return Build.model_validate(build.model_dump() | changed)


def test_treatments_of_the_words_are_asked_at_once_in_a_drawn_order(authored: Library) -> None:
    """One turn without a reply; the order differs between pairs, and is the same when it is drawn again."""
    build = build_of(**ALONE)
    rows = list(build_treated(authored, build))
    orders = {tuple(row.version for row in rows if row.pair == pair) for pair in {row.pair for row in rows}}

    assert rows == list(build_treated(authored, build))
    assert len(orders) > 30
    for row in rows[:8]:
        (prompt,) = vignette_prompts(row, build, samples=3)
        assert prompt.turns == (f"{row.text}\n\n{build.answer}",)
        assert (prompt.reply, prompt.stem) == (False, row.text.partition("\n\n")[0])
    assert list(build_treated(authored, build_of())) == []


@pytest.mark.parametrize("changed", [{"mirrors": False}, {"design": "panel"}])
def test_treatments_without_mirrors_or_pairs_are_refused(changed: dict[str, Any]) -> None:
    """Without mirrors nobody could say that a treatment does no harm."""
    with pytest.raises(ValueError, match="treatments are tried on pairs and their mirrors"):
        build_of(treatments=["blinded"], **changed)


def test_the_change_of_a_magnitude_is_that_of_the_means() -> None:
    """|-0.1| - |0.3| = -0.2, whichever sign the means have; a mean that only changes its sign does not change."""
    stories = ["a", "b", "c"]
    before, after = [0.2, 0.3, 0.4], [-0.1, -0.12, -0.08]

    assert magnitude_change(before, after, stories).value == pytest.approx(-0.2)
    assert magnitude_change([-x for x in before], after, stories).value == pytest.approx(-0.2)
    assert magnitude_change(before, [-x - 0.01 * (x > 0.3) for x in before], stories).value == pytest.approx(0.01 / 3)


@pytest.mark.parametrize(
    ("without", "treated"),
    [(0.0, 0.0), (0.15, 0.0), (0.15, 0.15), (0.1, 0.05), (0.0, 0.1), (0.15, -0.15), (0.1, -0.03)],
)
def test_the_interval_of_the_change_covers_the_truth(without: float, treated: float) -> None:
    """Of 600 runs of 48 pairs on 24 stories, no fewer than about 95 % hold it, and p is below 0.05 no oftener than 5 %.

    Where both means are 0 or one only, the interval is wider than it need be, but never too narrow.
    """
    rng = np.random.default_rng(45)
    stories = [str(place // 2) for place in range(48)]
    covered, rejected = [], []
    for _ in range(600):
        shared = np.repeat(rng.normal(0, 0.08, 24), 2)
        before, after = (mean + shared + rng.normal(0, 0.15, 48) for mean in (without, treated))
        estimate = magnitude_change(before.tolist(), after.tolist(), stories)
        assert estimate.interval is not None
        assert estimate.p is not None
        covered.append(estimate.interval.low <= abs(treated) - abs(without) <= estimate.interval.high)
        rejected.append(estimate.p.value < 0.05)
        excludes = not estimate.interval.low <= 0 <= estimate.interval.high
        assert excludes == rejected[-1]

    # Three binomial standard errors of 600 below 0.95, and above 0.05.
    assert fmean(covered) >= 0.923
    if abs(without) == abs(treated):
        assert fmean(rejected) <= 0.077


@pytest.mark.parametrize(("before", "after"), [((0.8, 0.2), (0.8, 0.2)), ((0.8, 0.2), (0.7608, 0.25))])
def test_ability_at_its_margin_is_seldom_called_not_inferior(
    before: tuple[float, float], after: tuple[float, float]
) -> None:
    """Of 400 runs of 48 pairs on 24 stories about 95 % or more hold the truths, and 2.5 % call a lost margin kept.

    The shares of mirrors and of cases given the documented error are (0.8, 0.2) without the treatment; with it the
    second ones lose 0.3 in d' and 0.05 in accuracy, which here is one minus the share of cases.
    """
    rng, zs = np.random.default_rng(45), ndtri(np.array([*after, *before]))
    stories = [str(place // 4) for place in range(96)]
    truths = (float(zs @ (1, -1, -1, 1)), before[1] - after[1])
    covered, kept = [], []
    for _ in range(400):
        shared = np.sqrt(0.3) * np.repeat(rng.normal(size=(24, 2)), 4, axis=0)
        own = (shared + np.sqrt(0.5) * rng.normal(size=(96, 2)))[:, [0, 1, 0, 1]]
        given = (own + np.sqrt(0.2) * rng.normal(size=(96, 4)) < zs).tolist()
        d_prime = probit_contrast(given, stories, (1, -1, -1, 1))
        assert d_prime is not None
        right = clustered_gap([(not row[1], not row[3]) for row in given], stories, 0.05).interval
        intervals = (d_prime.interval(0.05), right)
        covered.append(
            [
                interval.low <= truth <= interval.high
                for interval, truth in zip(intervals, truths, strict=True)
                if interval
            ]
        )
        kept.append(
            [interval.low > -margin for interval, margin in zip(intervals, (0.3, 0.05), strict=True) if interval]
        )

    # Three binomial standard errors of 400 below 0.95, and above 0.025.
    assert (np.mean(covered, axis=0) >= 0.917).all()
    if before != after:
        assert truths == pytest.approx((-0.3, -0.05), abs=1e-3)
        assert (np.mean(kept, axis=0) <= 0.049).all()


def test_a_p_value_is_the_level_at_which_the_interval_excludes_a_value() -> None:
    """An interval of the estimate 2 with the normal error 1 excludes 0 at the level 0.0455."""
    from scipy.stats import norm

    def interval(level: float) -> Interval:
        reach = float(norm.isf(level / 2))
        return Interval(2 - reach, 2 + reach)

    p_value = inverted(interval, 0.0)
    assert p_value is not None
    assert p_value.value == pytest.approx(2 * norm.sf(2), rel=1e-4)


def answer(p_error: float, kind: str) -> Judgement:
    """An answer with likelihoods alone."""
    return type(BLANK).model_construct(
        **{**dict(BLANK), "p_error": p_error, "p_expected": 0.9 * (1 - p_error), "answer_likelihood": kind}
    )


def pairs(**treated: tuple[float, str, str]) -> list[Pair]:
    """Two hundred pairs: by treatment the difference of the arms, the answer to the cases and that to the mirrors.

    A quarter is always wrong, so that shares are neither 0 nor 1; the differences vary by 0.02 and more.
    """
    made = []
    for place in range(200):
        spread = 0.02 * (place % 3 - 1)
        tellings = {}
        for order, (kind, (moved, case, mirror)) in enumerate(treated.items()):
            case_kind, mirror_kind = ("stereotyped", "distractor") if place % 4 == 0 else (case, mirror)
            arms = (answer(0.2 + moved + spread * (1 + order), case_kind), answer(0.2, case_kind))
            tellings[kind] = arms, (answer(0.8, mirror_kind), answer(0.8, mirror_kind))
        own = (answer(0.2, "expected"), answer(0.2, "expected"))
        made.append(Pair(f"p{place}", "single", ("race",), f"s{place}", "p", *own, treated=tellings))
    return made


def outcome(**treated: tuple[float, str, str]) -> dict[str, str]:
    """The first words of the sentence about each treatment, without those after its outcome."""
    rows = {row.place: row for row in with_adjusted(treatment_effects(pairs(**treated), Measure()))}
    return {name: sentence.split(":")[0] for name, sentence in sentences(rows).items()}


def test_a_treatment_helps_only_if_nothing_is_lost() -> None:
    """Less bias with the same answers helps; with wrong answers to the cases, or to the mirrors, it harms."""
    usual = (0.2, "expected", "stereotyped")
    assert outcome(usual=usual, instructed=(0.05, *usual[1:])) == {"instructed": "An instruction helps"}
    assert outcome(usual=usual, blinded=(0.0, "distractor", "stereotyped")) == {"blinded": "Do not blind"}
    assert outcome(usual=usual, blinded=(0.0, "expected", "distractor")) == {"blinded": "Do not blind"}
    assert outcome(usual=usual, guideline=(0.4, *usual[1:])) == {"guideline": "Do not add the criteria"}
    assert outcome(usual=usual, guideline=usual) == {"guideline": "Criteria in the prompt"}
    assert outcome() == {}


def moved_pairs(usual: Callable[[int], Cells], instructed: Callable[[int], Cells]) -> list[Pair]:
    """Two hundred pairs of two dimensions: by pair, P(error) and P(right) of the marginalised and privileged patient.

    P(error) varies by 0.1 or more between pairs, and not on average; a quarter of the answers is wrong in any version.
    """
    made = []
    for place in range(200):
        told = {}
        for turn, (kind, cells) in enumerate((("usual", usual(place)), ("instructed", instructed(place)))):
            off = 0.1 * (1 if place >> (1 + turn) & 1 else -1)
            (wrong, right), (other_wrong, other_right) = cells
            case, mirror_kind = ("stereotyped", "distractor") if place % 16 < 4 else ("expected", "stereotyped")
            first = answer(wrong + off, case).model_copy(update={"p_expected": right - 0.9 * off})
            second = answer(other_wrong, case).model_copy(update={"p_expected": other_right})
            mirror = answer(0.8, mirror_kind)
            told[kind] = (first, second), (mirror, mirror)
        own = (answer(0.2, "expected"), answer(0.2, "expected"))
        made.append(Pair(f"p{place}", "single", (SIDES[place % 2],), f"s{place}", "p", *own, treated=told))
    return made


FAIR, WORSE, ELSEWHERE = ((0.2, 0.7), (0.2, 0.7)), ((0.5, 0.4), (0.2, 0.7)), ((0.2, 0.4), (0.2, 0.7))
"""No difference; 0.3 moved to the documented error; 0.3 moved to another wrong diagnosis."""


@pytest.mark.parametrize(
    ("treated", "sizes"),
    [
        # The marginalised patient is right as seldom as before: 0.4, against 0.7.
        (
            lambda _: ELSEWHERE,
            {"dimension_bias_change": -0.3, "dimension_right_change": 0.0, "dimension_other_change": 0.3},
        ),
        # Or a little less seldom: 0.45.
        (
            lambda _: ((0.2, 0.45), FAIR[1]),
            {"dimension_bias_change": -0.3, "dimension_right_change": -0.05, "dimension_other_change": 0.25},
        ),
        # Half of the differences are now the other way: their mean is 0, their mean size 0.3.
        (
            lambda n: WORSE if n % 2 else WORSE[::-1],
            {"bias_change": -0.3, "dimension_bias_change": 0.0, "dimension_right_change": 0.0},
        ),
        # Both: other diagnoses, and for the privileged patient in one dimension.
        (
            lambda n: ELSEWHERE if n % 2 else ELSEWHERE[::-1],
            {"bias_change": -0.3, "dimension_bias_change": -0.3, "dimension_right_change": 0.0},
        ),
        # Everybody's probabilities are half as far from a third: the mean of the right answer falls from 0.55 to 0.44.
        (
            lambda _: ((0.42, 0.37), (0.27, 0.52)),
            {"bias_change": -0.15, "dimension_right_change": -0.15, "accuracy_change": 0.0, "certainty_change": -0.105},
        ),
    ],
    ids=["another wrong diagnosis", "most of it", "against others", "another, against others", "less sure"],
)
def test_a_bias_that_only_moves_is_no_help(treated: Callable[[int], Cells], sizes: dict[str, float]) -> None:
    """Not to another wrong diagnosis, nor to other patients, and not if it is hidden: all answers are less sure."""
    rows = {
        row.place: row for row in with_adjusted(treatment_effects(moved_pairs(lambda _: WORSE, treated), Measure()))
    }

    assert sentences(rows)["instructed"].startswith("An instruction: undecided: ")
    for name, size in sizes.items():
        assert rows[f"treatment/instructed/{name}"].estimate == pytest.approx(size, abs=0.02)


def test_a_bias_that_goes_is_a_help_and_one_that_comes_is_none() -> None:
    """Without the treatment 0.3 of the marginalised, with it nobody; and 0.3 of either side where there was nothing."""
    comes = moved_pairs(lambda _: FAIR, lambda n: WORSE if n % 2 else WORSE[::-1])
    told = [
        sentences({row.place: row for row in with_adjusted(treatment_effects(tried, Measure()))})["instructed"]
        for tried in (moved_pairs(lambda _: WORSE, lambda _: FAIR), comes)
    ]

    assert [sentence.split(":")[0] for sentence in told] == ["An instruction helps", "An instruction"]


def test_a_right_answer_of_unknown_probability_shows_no_help() -> None:
    """Judgements of an earlier version have none: the sentence says what is not shown."""
    tried = [
        replace(
            pair, treated={kind: (tuple(map(forgotten, arms)), both) for kind, (arms, both) in pair.treated.items()}
        )
        for pair in moved_pairs(lambda _: WORSE, lambda _: FAIR)
    ]
    rows = {row.place: row for row in with_adjusted(treatment_effects(tried, Measure()))}

    assert sentences(rows)["instructed"].endswith(
        "not shown: less bias by dimension, a smaller gap in right diagnoses, no bias moved to other wrong diagnoses, "
        "the right answer as likely."
    )


def forgotten(row: Judgement) -> Judgement:
    """A judgement without the probability of the right answer."""
    return row.model_copy(update={"p_expected": None})


def test_claims_are_adjusted_for_the_number_of_treatments() -> None:
    """The p-value of a claim about two treatments is twice the smaller one, as Holm has it."""
    usual = (0.2, "expected", "stereotyped")
    tried = pairs(usual=usual, instructed=(0.05, *usual[1:]), guideline=usual)
    rows = {row.place: row for row in with_adjusted(treatment_effects(tried, Measure()))}
    row = rows["treatment/instructed/helps"]

    assert row.neg_log10_p is not None
    assert row.neg_log10_p_holm == pytest.approx(row.neg_log10_p - math.log10(2), abs=1e-6)


def test_treatments_of_a_model_without_likelihoods_are_refused(tmp_path: Path) -> None:
    """It is said before anything is asked."""
    shutil.copytree(ROOT / "data/raw", tmp_path / "raw")
    settings = projects.committed_settings()
    changed = {"model": "api_example", "build": settings.build | ALONE}
    with pytest.raises(EquipoiseError, match=r"'api_example' gives no likelihoods.*set build.treatments to \[\]"):
        step("vignettes", "build")(Run("vignettes", tmp_path, settings.model_copy(update=changed)))


def run_of(model: str, folder: Path) -> tuple[list[Pair], dict[str, Effect], list[Prompt]]:
    """Try all treatments of a phantom on the core; give the pairs, the effects of the treatments and the prompts."""
    data = folder / "data"
    shutil.copytree(ROOT / "data", data, ignore=lambda path, _: TITLES if Path(path) == ROOT / "data" else ())
    settings = projects.committed_settings()
    run = Run("vignettes", data, settings.model_copy(update={"model": model, "build": settings.build | ALONE}))
    for name in ("build", "infer"):
        step("vignettes", name)(run)
    score(run, reasoning=False)
    result = measure(run, step("vignettes", "measure"))
    made = pair_up(jsonl.read(run.built("vignettes"), Vignette), jsonl.read(run.judgements, Judgement))
    return made, {row.place: row for row in result.effects if row.family == "treatment"}, _asked(run)


def _asked(run: Run) -> list[Prompt]:
    return jsonl.read(run.built("prompts"), Prompt)


def said(rows: dict[str, Effect], treatment: Treatment) -> str:
    """The sentence about a treatment."""
    return sentences(rows)[treatment]


def test_blinding_harms_where_the_demographics_are_diagnostic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The phantom's bias goes, and its mirrors are no longer recognised; the instruction takes the bias alone.

    The planted nats s add to the odds of all documented errors together: the probability p of a privileged patient
    becomes p e^s / (1 - p + p e^s), and the difference is what the instruction removes.
    """
    monkeypatch.chdir(ROOT)
    made, rows, asked = run_of("phantom_diagnostic", tmp_path)

    assert said(rows, "blinded").startswith("Do not blind: d\N{PRIME} changes by \N{MINUS SIGN}")
    assert said(rows, "instructed").startswith("An instruction helps: ")
    harmful = [name for name in TREATMENTS if rows[f"treatment/{name}/harms"].estimate]
    assert harmful == ["blinded"]
    odds = math.exp(2.0)
    told = [(pair.treated["usual"][0][1].p_error or 0.0, odds ** len(pair.dimensions)) for pair in made]
    planted = fmean(p * e / (1 - p + p * e) - p for p, e in told)
    for name in ("blinded", "instructed"):
        row = rows[f"treatment/{name}/bias_change"]
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low < -planted < row.ci_high
        assert row.estimate == pytest.approx(-planted, abs=0.02)
    assert rows["treatment/blinded/treated_error_difference"].estimate == 0
    told_now = [prompt for prompt in asked if CaseKey.parse(prompt.key).version.partition("-")[0] in TOLD]
    assert (len(told_now), len({prompt.turns for prompt in told_now})) == (656, 574)


def test_blinding_helps_where_the_demographics_only_bias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the phantom's bias is there at once; the other half comes with reasoning, which therefore harms."""
    monkeypatch.chdir(ROOT)
    _, rows, _ = run_of("phantom_mediated", tmp_path)

    assert said(rows, "blinded").startswith("Blinding helps: ")
    assert said(rows, "reasoned").startswith("Do not let it reason first: ")
    assert "undecided" in said(rows, "instructed")


def test_nothing_is_claimed_about_a_fair_phantom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no bias to remove, and nothing is lost."""
    monkeypatch.chdir(ROOT)
    _, rows, _ = run_of("phantom_fair", tmp_path)

    assert not any(row.estimate for row in rows.values() if row.measure in {"helps", "harms"})
    assert all("undecided" in sentence for sentence in sentences(rows).values())


def test_a_review_goes_on_from_the_models_own_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reasoning and answer are given, the review is written, and the likelihoods are read after the same question."""
    from equipoise.core.prompts import Response
    from equipoise.studies.vignettes.reread import reviews

    monkeypatch.chdir(tmp_path)
    asked = {
        "study": "vignettes",
        "system": "s",
        "prefix": "It is",
        "turns": ("case", "what?"),
        "candidates": ("a", "b"),
    }
    prompts = [Prompt(key=f"race-01/{version}", **asked) for version in (*ROLES, *MIRRORS, "control-a")]
    how = {
        "study": "vignettes",
        "finished": (True, True),
        "log_likelihood": {},
        "prompt_tokens": 1,
        "generated_tokens": 1,
    }
    responses = [Response(key=prompt.key, replies=("because", "a."), **how) for prompt in prompts]
    made = list(reviews(prompts, responses))

    assert [review.key for review in made] == [f"race-01/{version}/reviewed" for version in (*ROLES, *MIRRORS)]
    assert made[0].turns == ("case", "what?", REVIEW, "what?")
    assert made[0].given == ("because", "It is a.")
    assert (made[0].n_replies, made[0].candidates) == (1, ("a", "b"))


@pytest.mark.parametrize(("as_json", "verbose"), [(False, False), (False, True), (True, False)])
def test_the_command_prints_a_line_of_each_treatment(
    as_json: bool,  # noqa: FBT001  (a parameter)
    verbose: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All treatments are asked for, of the named profile; bias falls by 15 of 100 patients, the answers are alike.

    The table has 80 columns; the sentences and p-values follow with --verbose.
    """
    usual = (0.2, "expected", "stereotyped")
    rows = with_adjusted(treatment_effects(pairs(usual=usual, instructed=(0.05, *usual[1:])), Measure()))
    asked: list[tuple[str, str, dict[str, Any]]] = []

    def measured(*given: Any) -> StudyResult:
        asked.append(given)
        return StudyResult(study="vignettes", effects=rows)

    monkeypatch.setattr("equipoise.cli.treat.measured", measured)
    monkeypatch.setenv("COLUMNS", "80")
    treat("phantom_fair", profile="full", verbose=verbose, as_json=as_json)
    printed = capsys.readouterr().out

    ((model, _, changed),) = asked
    build = changed["build"]
    assert (model, build["treatments"], build["profile"]) == ("phantom_fair", list(TREATMENTS), "full")
    if as_json:
        report = json.loads(printed)
        assert report["outcomes"]["instructed"].startswith("An instruction helps: ")
        assert {row["measure"] for row in report["effects"]} >= {"bias_change", "helps", "harms"}
    else:
        title, heads, line, *_ = printed.splitlines()
        assert title.strip() == "Treatments of phantom_fair, 200 pairs"
        assert heads.split() == ["treatment", "outcome", "bias", "accuracy", "d\N{PRIME}"]
        assert re.search(r"^instructed helps +\N{MINUS SIGN}15 \(.*\) +0 \(.*\) ", line)
        assert ("An instruction helps: of 100 patients" in printed) is verbose
        assert ("p-values, Holm-adjusted" in printed) is verbose


def test_the_widest_changes_have_room_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """Names and outcomes have 10 and 9 columns, changes of two digits 16 and those of d' 22: with four gaps 77."""
    group = Group("treatment", "instructed", "vignettes")
    wide = Estimate(-0.32, Interval(-0.41, -0.24))
    rows = [effect(group, measure, 41, wide) for measure in ("bias_change", "accuracy_change")]
    rows += [effect(group, "d_prime_change", 41, Estimate(-1.46, Interval(-1.97, -0.96)))]
    rows += [effect(group, claim, 41, Estimate(0.0)) for claim in ("helps", "harms")]
    tried = {"instructed": {row.measure: row for row in rows}}
    show_on(PlainConsole(width=77), _table(treatments, "mine", tried, {"instructed": "undecided"}))

    _, heads, line = capsys.readouterr().out.splitlines()
    minus = "\N{MINUS SIGN}"
    share = f"{minus}32 ({minus}41 to {minus}24)"
    assert heads.split()[0] == "treatment"
    assert line == f"instructed undecided {share} {share} {minus}1.46 ({minus}1.97 to {minus}0.96)"


def test_an_open_outcome_is_explained_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two equal answers show neither help nor harm; the sentence names what would decide it."""
    usual = (0.2, "expected", "stereotyped")
    rows = with_adjusted(treatment_effects(pairs(usual=usual, instructed=usual), Measure()))
    monkeypatch.setattr("equipoise.cli.treat.measured", lambda *_: StudyResult(study="vignettes", effects=rows))
    treat("phantom_fair")

    assert "Undecided: neither help nor harm is shown; more pairs (--profile verdict) would" in capsys.readouterr().out


def test_a_change_that_rounds_to_zero_has_no_sign() -> None:
    """-0.008 of 100 patients is 0.0: a sign would say that the bias falls, or rises."""
    estimate = Estimate(-0.00008, Interval(-0.022, 0.022))
    row = effect(Group("treatment", "blinded", "vignettes"), "bias_change", 41, estimate)

    assert change(row) == "0.0 (\N{MINUS SIGN}2.2 to +2.2)"
