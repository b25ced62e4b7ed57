"""Tests of the comparison of planted with measured figures: what is true of a phantom, and what the page lists."""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import projects
from equipoise.backends.phantom import Fact, PhantomBackend
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt
from equipoise.figures.effects import Effect
from equipoise.figures.options import Measure
from equipoise.materials.cities import load_cities
from equipoise.materials.versions import CONTROLS
from equipoise.materials.vignette import ROLES
from equipoise.models.registry import PhantomEntry, load_entry
from equipoise.pipeline.measure import measure as measured
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.decisions.effects import decision_effects
from equipoise.studies.decisions.rows import CaseDecision, decision_of, read_decision
from equipoise.studies.registry import TITLES

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from phantoms import MEASURED, PAGE, compare_estimates, merge_rows, read_rows, select_names  # noqa: E402
from phantoms_page import POOLED, VERDICT, page, pooled, shown, wrong  # noqa: E402
from phantoms_truth import Truth, planted  # noqa: E402
from trained_phantoms import load_figures, section  # noqa: E402

N = 2000
LABELS = ("heart attack", "panic attack", "acid reflux", "muscle strain")


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw a tenth: the standard error of a share is 0.004 at most."""
    monkeypatch.setattr("phantoms_truth.DRAWS", 20_000)


def entry(**fields: Any) -> PhantomEntry:
    """Describe a phantom."""
    own = {"title": "Phantom", "licence": "none", "backend": "phantom", "ability": 0.7, "spread": 1.5, "floor": 0.5}
    return PhantomEntry.model_validate(own | fields)


def pairs(n: int, *, mirror: bool = False, stereotypes: int = 1) -> list[tuple[Prompt, Fact]]:
    """Build the prompts and facts of n pairs that vary race, or of their mirrors; with two distractors."""
    rows = []
    answers = (*LABELS[:2], *(f"answer {number}" for number in range(1, stereotypes)), *LABELS[2:])
    for number in range(n):
        for role in ROLES:
            fact = {
                "key": f"{number}/{'mirror-' * mirror}{role}",
                "study": "vignettes",
                "task": "diagnosis",
                "question": str(number),
                "right": answers[mirror],
                "stereotyped": answers[1 : 1 + stereotypes],
                "dimensions": {"race": "x"},
                "marginalised": role == "marginalised",
            }
            prompt = Prompt(
                key=fact["key"], study="vignettes", system="", prefix="", turns=(fact["key"], "?"), candidates=answers
            )
            rows.append((prompt, Fact.model_validate(fact)))
    return rows


def replies(given: PhantomEntry, rows: list[tuple[Prompt, Fact]]) -> list[tuple[str, str]]:
    """Ask a phantom, and give the answers of both arms of each pair."""
    backend = PhantomBackend(given, [fact for _, fact in rows], ROOT / "data/phantoms/reasoning.yaml")
    answers = [response.replies[-1].removesuffix(".") for response in backend.answer([prompt for prompt, _ in rows])]
    return list(zip(answers[::2], answers[1::2], strict=True))


def truths(given: PhantomEntry, facts: list[Fact]) -> dict[str, Truth]:
    """Give what is true of a phantom."""
    return planted(given, facts, load_cities(ROOT / "data/cities.yaml"))


@pytest.mark.parametrize("stereotypes", [1, 3])
def test_the_truth_of_a_rate_is_what_many_pairs_approach(stereotypes: int) -> None:
    """Two programs that share no code agree: 2,000 pairs of the backend, and NumPy's draws."""
    given, rows = entry(shift={"race": 1.5}), pairs(N, stereotypes=stereotypes)
    wrong = rows[0][1].stereotyped
    differential = np.mean(
        [marginalised in wrong and privileged == "heart attack" for marginalised, privileged in replies(given, rows)]
    )
    truth = truths(given, [fact for _, fact in rows])["vignettes.differential_bias_rate"].value

    # The standard error of a share of 2,000 is 0.011 at most; four of them.
    assert differential == pytest.approx(truth, abs=0.045)
    assert truth > 0.1


def test_the_truth_of_the_criterion_is_what_many_pairs_approach() -> None:
    """With 2,000 pairs the correction of hits and false alarms is negligible, and c is -(z(H) + z(F)) / 2."""
    given, cases, mirrors = entry(shift={"race": 1.0}), pairs(N), pairs(N, mirror=True)
    shares = [
        [np.mean([arm == LABELS[1] for arm in arms]) for arms in zip(*replies(given, rows), strict=True)]
        for rows in (cases, mirrors)
    ]
    marginalised, privileged = -ndtri(shares).sum(axis=0) / 2
    truth = truths(given, [fact for _, fact in (*cases, *mirrors)])["vignettes.criterion_difference"]

    # The density of the quantiles is 0.2 or more: their standard errors are 0.05 at most, that of half their sum 0.05.
    assert marginalised - privileged == pytest.approx(truth.value, abs=0.15)
    assert truth.value < -0.2
    assert not truth.null


def test_the_criterion_of_a_fair_phantom_is_the_same_in_both_arms() -> None:
    """Nothing is planted: the difference is its null value."""
    facts = [fact for rows in (pairs(9), pairs(9, mirror=True)) for _, fact in rows]

    assert truths(entry(), facts)["vignettes.criterion_difference"] == Truth(0.0, null=True)


def test_a_phantom_of_letters_moves_the_probability_of_all_others() -> None:
    """One that always says C gives it 1 instead of 1/4: half of |3/4| + 3 |-1/4| has another letter."""
    by_figure = truths(entry(position={"C": 100.0}, floor=0.0), [fact for _, fact in pairs(3)])

    assert by_figure["questions.position_bias"].value == pytest.approx(0.75)
    assert truths(entry(), [fact for _, fact in pairs(3)])["questions.position_bias"] == Truth(0.0, null=True)


def test_the_truth_of_a_shift_is_the_planted_one() -> None:
    """All pairs vary race, so that the mean shift is that of race; nothing else is biased."""
    by_figure = truths(entry(shift={"race": 1.5, "default": 0.0}), [fact for _, fact in pairs(3)])

    assert by_figure["vignettes.stereotype_shift"] == Truth(1.5, null=False)
    assert by_figure["questions.gender.gap"] == Truth(0.0, null=True)
    assert by_figure["questions.race.gap"].value > 0
    assert by_figure["vignettes.silent_bias_rate"].value == 1.0


def test_base_rates_are_in_the_shift_and_not_in_the_net_shift() -> None:
    """With findings 1.5 + 0.75 nats are planted, without them 0.75; what is left is 1.5. Race is told, age is not."""
    by_figure = truths(entry(shift={"race": 1.5}, base_rates={"race": 0.75}), [fact for _, fact in pairs(3)])

    assert by_figure["vignettes.stereotype_shift"] == Truth(2.25, null=False)
    assert by_figure["vignettes.stereotype_shift_stub"] == Truth(0.75, null=False)
    assert by_figure["vignettes.stereotype_shift_net"] == Truth(1.5, null=False)
    assert by_figure["vignettes.race.stereotype_shift_net"] == Truth(1.5, null=False)


def test_base_rates_alone_leave_no_net_shift() -> None:
    """A phantom that knows base rates alone has a shift with findings, and a net shift of its null value."""
    by_figure = truths(entry(base_rates={"default": 1.0}), [fact for _, fact in pairs(3)])

    assert by_figure["vignettes.stereotype_shift"] == Truth(1.0, null=False)
    assert by_figure["vignettes.stereotype_shift_net"] == Truth(0.0, null=True)


@pytest.mark.parametrize(("follows", "excess", "null"), [(1.0, 0.0, True), (0.0, -0.75, False), (2.0, 0.75, False)])
def test_base_rates_that_follow_epidemiology_do_not_exceed_it(follows: float, excess: float, null: bool) -> None:  # noqa: FBT001  (a parameter)
    """Log ratios of 1, 0.25 and 1 are 0.75 on average; a phantom that knows none of them falls short by as much."""
    ratios = {"0": 1.0, "1": 0.25, "2": 1.0}
    facts = [fact.model_copy(update={"log_ratio": ratios[fact.question]}) for _, fact in pairs(3)]
    by_figure = truths(entry(epidemiology=follows), facts)

    assert by_figure["vignettes.prior_excess"] == Truth(excess, null)
    assert by_figure["vignettes.stereotype_shift_net"] == Truth(0.0, null=True)
    assert by_figure["vignettes.neutral.stereotype_shift_net"] == Truth(0.0, null=True)
    assert "vignettes.neglect.stereotype_shift_net" not in by_figure


def test_other_tellings_do_not_count_in_the_truths() -> None:
    """A stub and a mirror of a pair, here of two dimensions, leave the mean of the pairs of race as it is."""
    rows = [fact for _, fact in pairs(2)]
    others = [
        rows[0].model_copy(update={"key": f"0/{kind}-marginalised", "dimensions": {"race": "x", "age": "y"}})
        for kind in ("stub", "mirror")
    ]

    assert truths(entry(shift={"default": 1.0}), [*rows, *others])["vignettes.stereotype_shift"].value == 1.0


@pytest.mark.parametrize(
    ("model", "verdicts"),
    [
        ("phantom_open", {"biased beyond the margin"}),
        ("phantom_silent", {"biased beyond the margin"}),
        ("phantom_fair", {"no bias beyond the margin", "undecided"}),
        ("phantom_noisy", {"undecided"}),
        ("phantom_chance", {"undecided"}),
        ("phantom_position", {"undecided"}),
    ],
)
def test_the_verdict_is_on_what_is_planted(
    model: str, verdicts: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default questions, as the pipeline asks, reads and measures them: a planted bias is found, chance is not."""
    monkeypatch.chdir(ROOT)
    data = tmp_path / "data"
    shutil.copytree(ROOT / "data", data, ignore=lambda path, _: TITLES if Path(path) == ROOT / "data" else ())
    settings = projects.committed_settings().model_copy(update={"model": model})
    run = Run("questions", data, settings)
    step("questions", "build")(run)
    planted_in = load_entry(model, ROOT)
    assert isinstance(planted_in, PhantomEntry)
    backend = PhantomBackend(planted_in, jsonl.read(run.built("facts"), Fact), ROOT / "data/phantoms/reasoning.yaml")
    jsonl.write(run.responses, backend.answer(jsonl.read(run.built("prompts"), Prompt)))
    step("questions", "score")(run)
    verdict = measured(run, step("questions", "measure")).verdict

    assert verdict is not None
    assert verdict.word in verdicts


def effect(estimate: float, low: float, high: float, p: float) -> Effect:
    """Build an estimate of one seed."""
    return Effect(
        key="k",
        study="vignettes",
        family="f",
        group="g",
        measure="m",
        n=9,
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        neg_log10_p=p,
    )


def test_coverage_and_alarms_are_counted() -> None:
    """Of two intervals one holds the truth; of two tests one has p = 10^-2 < 0.05, the other 10^-1."""
    comparison = compare_estimates([effect(0.5, 0.1, 0.9, 2), effect(-0.5, -0.9, -0.1, 1)], Truth(0.2, null=True))

    assert (comparison["mean"], comparison["coverage"], comparison["rejected"], comparison["n"]) == (0.0, 0.5, 0.5, 2)


def result(**fields: Any) -> dict[str, Any]:
    """Build the row of a figure whose interval and test are as they should be."""
    counts = {"seeds": 200, "n": 200, "bounded": 200, "tested": 200}
    good = {"coverage": 0.91, "rejected": 0.08, "null": True, "truth": 0.0, "mean": 0.0}
    return {"phantom": "phantom_fair", "figure": "exam.good", **counts, **good, **fields}


def test_a_figure_that_misses_its_truth_is_listed() -> None:
    """Of 200 seeds 0.80 of coverage is too little and 0.20 of alarms too many; 0.91 and 0.08 may be chance."""
    low, alarm = result(figure="a.low", coverage=0.8), result(figure="a.alarm", rejected=0.2)
    verdict = result(figure=VERDICT, coverage=None, rejected=1.0)

    # Exact tails: P(18 or more misses of 200 at 0.07) = 0.17, P(16 or more alarms of 200 at 0.05) = 0.045; adjusted for
    # seven tests, three of which have p = 0, the latter is 0.045 x 7 / 5 = 0.06.
    listed = [(fault.row["figure"], fault.alarms) for fault in wrong([low, alarm, result(), verdict])]
    assert listed == [("a.low", False), ("a.alarm", True), (VERDICT, True)]


def test_false_alarms_of_all_phantoms_add_up() -> None:
    """Ten alarms of 100 tests and two of another 100 are 0.06 of 200; what is biased or untested does not count."""
    row = result(figure="exam.a", tested=100, rejected=0.1)
    biased, untested = {**row, "null": False}, {**row, "tested": 0, "rejected": None}
    (only,) = pooled([row, biased, untested, {**row, "phantom": "phantom_b", "rejected": 0.02}])

    # P(12 or more of 200 at 0.05) = 0.30.
    assert (only["phantom"], only["figure"], only["phantoms"], only["tested"]) == (POOLED, "exam.a", 2, 200)
    assert (only["rejected"], only["p"]) == pytest.approx((0.06, 0.30), abs=0.005)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Read the rows in the repository."""
    return read_rows()


def test_the_page_is_what_the_rows_give(rows: list[dict[str, Any]]) -> None:
    """The page in the repository is generated from the data, whose last rows are the sums over all phantoms."""
    own = [row for row in rows if row["phantom"] != POOLED]
    titles = {name: load_entry(name, ROOT).title.removeprefix("Phantom: ") for name in {row["phantom"] for row in own}}

    assert MEASURED.read_text(encoding="utf-8") == "".join(f"{jsonl.dumps(row)}\n" for row in (*own, *pooled(own)))
    assert PAGE.read_text(encoding="utf-8") == page(rows, titles) + section(load_figures())


def test_the_page_has_every_figure_that_is_wrong(rows: list[dict[str, Any]]) -> None:
    """Each has a line with its coverage or alarms under "What is wrong", and no other row is there."""
    faults = list(wrong(row for row in rows if row["phantom"] != POOLED))
    text = PAGE.read_text(encoding="utf-8").partition("## What is wrong")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]

    assert len(lines) == len(faults) > 0
    for line, (_, row, alarms) in zip(lines, faults, strict=True):
        assert line.startswith(f"| `{row['phantom']}` | `{row['figure']}` | ")
        assert shown(row["rejected" if alarms else "coverage"]) in line


def test_a_name_that_is_not_known_is_refused() -> None:
    """The error lists what there is; without a name all of it is taken."""
    with pytest.raises(EquipoiseError, match="no study b here: name some of a, c"):
        select_names(["b"], ["a", "c"], "study")

    assert select_names([], ["a", "c"], "study") == ["a", "c"]


def test_studies_measured_anew_replace_their_rows_alone() -> None:
    """A phantom's rows of the vignettes go; those of another study or phantom stay."""
    old = [{"phantom": name, "figure": figure} for name in ("b", "c") for figure in ("vignettes.a", "exam.b")]
    new = [{"phantom": "b", "figure": "vignettes.c"}]

    assert merge_rows(old, new, "b", ["vignettes"]) == [old[1], new[0], *old[2:]]


def decision(number: int = 0, levels: tuple[str, ...] = ("low", "middle", "high"), **fields: Any) -> CaseDecision:
    """Build a decision of a pair of its own, whose bias pulls to the lowest level."""
    own = {
        "key": f"{number}/triage",
        "study": "decisions",
        "pair": str(number),
        "story": "s",
        "dimensions": ("race",),
        "ask": "triage",
    }
    scale = {"question": "?", "prefix": "-", "levels": levels, "answer": "high", "direction": "lower"}
    kind = {"family": "undertreatment", "usual": True, "reverse": False, "grade": "A"}
    return CaseDecision.model_validate({**own, **scale, **kind, **fields})


def test_the_truths_of_decisions_are_what_many_pairs_approach() -> None:
    """The backend's 2,000 pairs, read and averaged as a run does, come near what NumPy draws."""
    given, asked = entry(decisions={"undertreatment": 2.0}), [decision(number) for number in range(N)]
    facts, prompts = [], []
    for case in asked:
        for telling in (*ROLES, *CONTROLS):
            key = f"{case.pair}/{telling}/triage"
            fact = {"question": case.key, "right": case.answer, "family": case.family, "answers": case.towards}
            fact |= {"study": "decisions", "task": "decision", "marginalised": telling == "marginalised"}
            facts.append(Fact.model_validate({"key": key, **fact}))
            asks = {"study": "decisions", "system": "", "prefix": "", "turns": (key, "?"), "given": ("",)}
            prompts.append(Prompt.model_validate({"key": key, "candidates": case.levels, **asks}))
    known = {row.key: row for row in asked}
    responses = PhantomBackend(given, facts, ROOT / "data/phantoms/reasoning.yaml").answer(prompts)
    readings = [read_decision(response, known[decision_of(response.key)], "") for response in responses]
    estimates = {row.key: row.estimate for row in decision_effects(asked, readings, Measure(n_bootstrap=100))}
    truth = planted(given, (), {}, asked)

    # A pair's difference is within ±1: the standard error of a mean of 2,000 is below 0.01; four of them. A tilt over
    # three levels is the last less the first, and its difference that of four noises of 0.5 nats: 1 / sqrt(2000).
    for measure, error in (("decision_shift", 0.04), ("decision_magnitude_excess", 0.04), ("decision_tilt", 0.09)):
        own = truth[f"decisions.undertreatment.{measure}"]
        assert estimates[f"decisions/family/undertreatment/{measure}"] == pytest.approx(own.value, abs=error)
        assert own.value > 0.05
        assert not own.null
    levels = estimates["decisions/endpoint/triage/level_shift"]
    assert levels == pytest.approx(truth["decisions.triage.level_shift"].value, abs=0.08)


def test_the_truth_of_a_decision_of_two_levels_is_that_of_a_logistic_curve() -> None:
    """Without noise an ability of 1/2 and a spread of 0 give both levels 0; 2 nats make the other 1/(1 + e^-2)."""
    given = entry(decisions={"undertreatment": 2.0}, ability=0.5, spread=0.0, floor=0.0, mediated=0.25)
    by_figure = planted(given, (), {}, [decision(levels=("low", "high"))])

    # 0.8808 - 0.5; a quarter of it goes through the reasoning.
    assert by_figure["decisions.decision_shift"].value == pytest.approx(0.3808, abs=0.0001)
    assert by_figure["decisions.decision_shift_through"].value == pytest.approx(0.0952, abs=0.0001)
    assert by_figure["decisions.decision_shift_around"].value == pytest.approx(0.2856, abs=0.0001)
    assert by_figure["decisions.triage.level_shift"].value == pytest.approx(0.3808, abs=0.0001)
    # Where tellings do not differ at all, the magnitude is the shift.
    assert by_figure["decisions.undertreatment.decision_magnitude_excess"].value == pytest.approx(0.3808, abs=0.0001)
    assert by_figure["decisions.undertreatment.decision_tilt"] == Truth(2.0, null=False)


def test_a_pair_counts_once_however_many_decisions_it_has() -> None:
    """One pair of a planted and a fair decision, one of a fair one: half of a half of the shift of the planted one."""
    given = entry(decisions={"undertreatment": 2.0}, ability=0.5, spread=0.0, floor=0.0)
    fair = {"ask": "belief", "family": "disbelief"}
    rows = [decision(), decision(key="0/belief", **fair), decision(1, key="1/belief", **fair)]
    by_figure = planted(given, (), {}, [row.model_copy(update={"levels": ("low", "high")}) for row in rows])

    assert by_figure["decisions.decision_shift"].value == pytest.approx(0.3808 / 4, abs=0.0001)
    assert by_figure["decisions.disbelief.decision_shift"] == Truth(0.0, null=True)


@pytest.mark.parametrize("apart", [{"grade": "C"}, {"usual": False}, {"reverse": True}])
def test_decisions_that_no_headline_counts_have_no_truth(apart: dict[str, Any]) -> None:
    """Extrapolated evidence, an unusual direction and a reversed pair are reported apart."""
    by_figure = planted(entry(decisions={"undertreatment": 2.0}), (), {}, [decision(**apart)])

    assert not any(name.startswith("decisions") for name in by_figure)


def test_an_answer_that_nothing_influenced_has_nothing_to_admit() -> None:
    """A phantom that admits every influence, and gives stereotyped answers of its own, has a silent bias rate above 0.

    Without noise an answer that differs between the arms is influenced: of those none is silent.
    """
    given = entry(shift={"race": 1.5}, stereotyped=1.0, floor=0.0, admits={"weighed": 1.0})
    by_figure = truths(given, [fact for _, fact in pairs(3)])

    assert by_figure["vignettes.silent_bias_rate_moved"].value == pytest.approx(0.0)
    assert 0.2 < by_figure["vignettes.silent_bias_rate"].value < 0.9
