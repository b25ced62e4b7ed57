"""Tests of the comparison of planted with measured figures: what is true of a phantom, and what the page lists."""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from equipoise.backends.phantom import Fact, PhantomBackend
from equipoise.core import params, records
from equipoise.core.records import ROLES, Effect, Prompt
from equipoise.metrics.headlines import STUDIES
from equipoise.metrics.options import Decision
from equipoise.metrics.verdicts import verdict
from equipoise.models.registry import PhantomEntry, load_entry
from equipoise.questions.cities import load_cities
from equipoise.studies import build, measure, score
from equipoise.studies.run import Run

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from phantoms import compared, wrong  # noqa: E402
from phantoms_truth import Truth, planted  # noqa: E402

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
                "question": str(number),
                "right": answers[mirror],
                "stereotyped": answers[1 : 1 + stereotypes],
                "dimensions": {"race": "x"},
                "marginalised": role == "marginalised",
            }
            prompt = Prompt(key=fact["key"], system="", prefix="", turns=(fact["key"], "?"), candidates=answers)
            rows.append((prompt, Fact.model_validate(fact)))
    return rows


def replies(given: PhantomEntry, rows: list[tuple[Prompt, Fact]]) -> list[tuple[str, str]]:
    """Ask a phantom, and give the answers of both arms of each pair."""
    backend = PhantomBackend(given, [fact for _, fact in rows], ROOT / "data/phantoms/reasoning.yaml")
    said = [response.replies[-1].removesuffix(".") for response in backend.answer([prompt for prompt, _ in rows])]
    return list(zip(said[::2], said[1::2], strict=True))


def truths(given: PhantomEntry, facts: list[Fact]) -> dict[str, Truth]:
    """Give what is true of a phantom."""
    return planted(given, {"vignettes": facts}, load_cities(ROOT / "data/cities.yaml"))


@pytest.mark.parametrize("stereotypes", [1, 3])
def test_the_truth_of_a_rate_is_what_many_pairs_approach(stereotypes: int) -> None:
    """Two programs that share no code agree: 2,000 pairs of the backend, and NumPy's draws."""
    given, rows = entry(shift={"race": 1.5}), pairs(N, stereotypes=stereotypes)
    wrong = rows[0][1].stereotyped
    differential = np.mean([one in wrong and other == "heart attack" for one, other in replies(given, rows)])
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
    one, other = -ndtri(shares).sum(axis=0) / 2
    truth = truths(given, [fact for _, fact in (*cases, *mirrors)])["vignettes.criterion_difference"]

    # The density of the quantiles is 0.2 or more: their standard errors are 0.05 at most, that of half their sum 0.05.
    assert one - other == pytest.approx(truth.value, abs=0.15)
    assert truth.value < -0.2
    assert not truth.null


def test_the_criterion_of_a_fair_phantom_is_the_same_in_both_arms() -> None:
    """Nothing is planted: the difference is its null value."""
    facts = [fact for rows in (pairs(9), pairs(9, mirror=True)) for _, fact in rows]

    assert truths(entry(), facts)["vignettes.criterion_difference"] == Truth(0.0, null=True)


def test_a_phantom_of_letters_moves_the_probability_of_all_others() -> None:
    """One that always says C gives it 1 instead of 1/4: half of |3/4| + 3 |-1/4| has another letter."""
    found = truths(entry(position={"C": 100.0}, floor=0.0), [fact for _, fact in pairs(3)])

    assert found["questions.position_bias"].value == pytest.approx(0.75)
    assert truths(entry(), [fact for _, fact in pairs(3)])["questions.position_bias"] == Truth(0.0, null=True)


def test_the_truth_of_a_shift_is_the_planted_one() -> None:
    """All pairs vary race, so that the mean shift is that of race; nothing else is biased."""
    found = truths(entry(shift={"race": 1.5, "default": 0.0}), [fact for _, fact in pairs(3)])

    assert found["vignettes.stereotype_shift"] == Truth(1.5, null=False)
    assert found["questions.gender.gap"] == Truth(0.0, null=True)
    assert found["questions.race.gap"].value > 0
    assert found["vignettes.silent_bias_rate"].value == 1.0


def test_base_rates_are_in_the_shift_and_not_in_the_net_shift() -> None:
    """With findings 1.5 + 0.75 nats are planted, without them 0.75; what is left is 1.5. Race is told, age is not."""
    found = truths(entry(shift={"race": 1.5}, base_rates={"race": 0.75}), [fact for _, fact in pairs(3)])

    assert found["vignettes.stereotype_shift"] == Truth(2.25, null=False)
    assert found["vignettes.stereotype_shift_stub"] == Truth(0.75, null=False)
    assert found["vignettes.stereotype_shift_net"] == Truth(1.5, null=False)
    assert found["vignettes.race.stereotype_shift_net"] == Truth(1.5, null=False)


def test_base_rates_alone_leave_no_net_shift() -> None:
    """A phantom that knows base rates alone has a shift with findings, and a net shift of its null value."""
    found = truths(entry(base_rates={"default": 1.0}), [fact for _, fact in pairs(3)])

    assert found["vignettes.stereotype_shift"] == Truth(1.0, null=False)
    assert found["vignettes.stereotype_shift_net"] == Truth(0.0, null=True)


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
    shutil.copytree(ROOT / "data", data, ignore=lambda path, _: STUDIES if Path(path) == ROOT / "data" else ())
    settings = params.load(ROOT / "params.yaml").model_copy(update={"model": model})
    run = Run("questions", data, settings)
    build.questions(run)
    planted_in = load_entry(model, ROOT)
    assert isinstance(planted_in, PhantomEntry)
    backend = PhantomBackend(planted_in, records.read(run.built("facts"), Fact), ROOT / "data/phantoms/reasoning.yaml")
    records.write(run.responses, backend.answer(records.read(run.built("prompts"), Prompt)))
    score.questions(run)
    found = verdict("questions", measure.measure(run, measure.questions), settings.section("decision", Decision))

    assert found is not None
    assert found.word in verdicts


def effect(estimate: float, low: float, high: float, p: float) -> Effect:
    """Build an estimate of one seed."""
    return Effect(
        key="k", family="f", group="g", measure="m", n=9, estimate=estimate, ci_low=low, ci_high=high, neg_log10_p=p
    )


def test_coverage_and_alarms_are_counted() -> None:
    """Of two intervals one holds the truth; of two tests one has p = 10^-2 < 0.05, the other 10^-1."""
    found = compared([effect(0.5, 0.1, 0.9, 2), effect(-0.5, -0.9, -0.1, 1)], Truth(0.2, null=True))

    assert (found["mean"], found["coverage"], found["rejected"], found["n"]) == (0.0, 0.5, 0.5, 2)


def test_a_figure_that_misses_its_truth_is_listed() -> None:
    """Coverage below 0.93 less two standard errors, alarms above 0.05 and two standard errors, and false verdicts."""
    good = {"coverage": 0.95, "rejected": 0.05, "null": True, "truth": 0.0, "mean": 0.0}
    figures = {"a.low": good | {"coverage": 0.8}, "a.alarm": good | {"rejected": 0.2}, "a.good": good}
    found = {"phantom_fair": {"seeds": 200, "influenced": False, "verdicts": 1.0, "figures": figures}}

    assert [line.partition("`, ")[2][:9] for line in wrong(found)] == ["`a.low`: ", "`a.alarm`", ""]
