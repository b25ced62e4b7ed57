"""Operating characteristics of the decisions' verdict: how often models of known truth get each verdict.

Every draw makes the readings of a whole study, about the decisions of the profile `core`, of three times as many
stories, or of the profile `powered`, and puts them through the estimators, guards and verdict of the pipeline itself
with the endpoint that params.yaml declares, once with the floors of either kind. A competent model answers near the
guideline's level, alike for both patients but for noise between tellings; a bias tilts the scale about the marginalised
patient, from end to end by so many margins of `decision_tilt`. Writes operating_decisions.jsonl.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import operating_draws
from operating_draws import settings

from equipoise.core.keys import grouped
from equipoise.figures.aggregates import by_cluster
from equipoise.figures.effects import Effect, Group, mean_shift
from equipoise.figures.options import Endpoint, Measure
from equipoise.figures.primary import component_figure
from equipoise.figures.result import StudyResult
from equipoise.figures.verdicts import verdict
from equipoise.materials.stories.endpoints import LEVEL
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import ROLES
from equipoise.stats.multiplicity import joint_alpha
from equipoise.studies.decisions.components import COMPONENTS, component_effects, written_guards
from equipoise.studies.decisions.effects import PairReading, pair_means, pair_readings
from equipoise.studies.decisions.rows import CaseDecision, Reading, pair_decisions, tilt_of
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.profiles import Profile, profile_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

OUT = Path(__file__).with_name("operating_decisions.jsonl")
STUDY = "decisions"
MARGIN = 0.5
"""The margin of the tilt, in nats: the unit of the planted biases."""
SIZES: dict[str, tuple[Profile, int]] = {
    "core": ("core", 1),
    "three times core": ("core", 3),
    "powered": ("powered", 1),
}
"""A profile, and how many times as many stories."""
SLOPE = 2.0
"""Nats by which a competent model prefers its level to the next."""
OWN = 0.5
"""Standard deviation, in nats, of what is particular to a case and a level, alike in both arms."""
Scores = Callable[[np.random.Generator, CaseDecision], "Array"]


@dataclass(frozen=True)
class Member:
    """A model: what is true of it (`fair`, `biased` or `blind`), and how it decides.

    `scores` prepares a study: it returns the log likelihoods of a decision's levels, which both arms share. `noise` is
    added to each telling's levels (standard deviation, nats), `tilt` (nats, from end to end) to the marginalised
    patient's. `refuses` is the share of refused decisions about the marginalised and the privileged patient, `writes`
    that of the decisions whose text gives the stereotyped end of the scale, whatever is likeliest; about the dimension
    `writes_about`, if there is one, the text always gives that end to the marginalised patient.
    """

    name: str
    truth: str
    scores: Callable[[np.random.Generator], Scores]
    noise: float
    tilt: Callable[[CaseDecision], float] = lambda _: 0.0
    refuses: tuple[float, float] = (0.0, 0.0)
    writes: tuple[float, float] = (0.05, 0.05)
    writes_about: str = ""


def competent(ability: float) -> Callable[[np.random.Generator], Scores]:
    """Answer near the guideline's level in a share of the decisions, and near a random one in the others."""

    def scores(rng: np.random.Generator, decision: CaseDecision) -> Array:
        levels = np.arange(len(decision.levels))
        guided = decision.levels.index(decision.answer or "") if rng.random() < ability else rng.integers(len(levels))
        values: Array = -SLOPE * np.abs(levels - guided) + rng.normal(0, OWN, len(levels))
        return values

    return lambda _: scores


def blind(spread: float) -> Callable[[np.random.Generator], Scores]:
    """Ignore the case: a prior for the levels of each end-point (standard deviation `spread`, nats)."""

    def prepared(rng: np.random.Generator) -> Scores:
        priors: dict[str, Array] = {}

        def scores(_: np.random.Generator, decision: CaseDecision) -> Array:
            if decision.ask not in priors:
                priors[decision.ask] = rng.normal(0, spread, len(decision.levels))
            return priors[decision.ask]

        return scores

    return prepared


FIXED = {
    "triage": "very urgent",
    "urgency": "the same day",
    "test": "imaging",
    "psychiatric_referral": "no",
    "admission": "admission",
    "pain_relief": "simple",
    "belief": "4",
    "substance_screen": "no",
}
"""A level that is often right, by end-point."""


def fixed(_: np.random.Generator) -> Scores:
    """Give one level of each end-point, whatever the case, by 4 nats."""
    return lambda _, decision: 4.0 * np.array([level == FIXED[decision.ask] for level in decision.levels], float)


def _everywhere(margins: float) -> Callable[[CaseDecision], float]:
    return lambda _: MARGIN * margins


def _in_family(**margins: float) -> Callable[[CaseDecision], float]:
    return lambda decision: MARGIN * margins.get(decision.family, 0.0)


def _in_dimension(**margins: float) -> Callable[[CaseDecision], float]:
    return lambda decision: MARGIN * margins.get(decision.dimensions[0], 0.0)


def _at_endpoint(**margins: float) -> Callable[[CaseDecision], float]:
    return lambda decision: MARGIN * margins.get(decision.ask, 0.0)


def members() -> list[Member]:
    """Every model, with what is true of it."""
    able = competent(0.98)
    # A pair's tilt has a standard deviation of 0.18 nats in the shipped run: between these two.
    models = [Member(f"fair, noise of {noise:g} nats", "fair", able, noise) for noise in (0.1, 0.15)]
    for noise in (0.3, 1.0):
        models.append(Member(f"fair, noise of {noise:g} nats", "fair", able, noise))
        models += [
            Member(f"biased by {told}, noise of {noise:g} nats", "biased", able, noise, _everywhere(size))
            for size, told in ((1, "1 margin"), (2, "2 margins"), (4, "4 margins"))
        ]
        cancelling = _in_family(undertreatment=1.4, overpsychiatrisation=-6.0, disbelief=-4.0)
        within = _at_endpoint(triage=3.4, urgency=3.4, pain_relief=3.4, test=-3.4, admission=-3.4)
        dimensions = _in_dimension(race=4, gender=-4, age=4, housing=-4, substance_use=4, obesity=-4, socioeconomic=-4)
        models += [
            Member(
                f"undertreats alone, 2 margins, noise of {noise:g}", "biased", able, noise, _in_family(undertreatment=2)
            ),
            Member(
                f"refers to psychiatry alone, 4 margins, noise of {noise:g}",
                "biased",
                able,
                noise,
                _in_family(overpsychiatrisation=4),
            ),
            Member(f"disbelieves alone, 2 margins, noise of {noise:g}", "biased", able, noise, _in_family(disbelief=2)),
            Member(f"families that cancel, noise of {noise:g}", "biased", able, noise, cancelling),
            Member(f"end-points of one family that cancel, noise of {noise:g}", "biased", able, noise, within),
            Member(f"race alone, 4 margins, noise of {noise:g}", "biased", able, noise, _in_dimension(race=4)),
            Member(f"dimensions that cancel, 4 margins, noise of {noise:g}", "biased", able, noise, dimensions),
        ]
    return [
        *models,
        Member("fair, right in three of four, noise of 0.3 nats", "fair", competent(0.65), 0.3),
        Member("refuses two fifths of one group", "biased", able, 0.1, refuses=(0.4, 0.0)),
        Member("text gives the end of the scale to one group alone", "biased", able, 0.1, writes=(0.4, 0.0)),
        Member("text gives the end of the scale to the poor alone", "biased", able, 0.1, writes_about="socioeconomic"),
        Member("text gives the end of the scale to everyone", "blind", able, 0.1, writes=(0.7, 0.7)),
        Member("refuses half of the decisions", "blind", able, 0.1, refuses=(0.5, 0.5)),
        Member("a fixed level for each end-point", "blind", fixed, 0.05),
        *(
            Member(f"priors of the levels, noise of {noise:g}", "blind", blind(2.0), noise)
            for noise in (0.05, 0.3, 1.0)
        ),
        Member("random network", "blind", blind(0.0), 3.0),
    ]


@cache
def asked(size: str) -> list[CaseDecision]:
    """The decisions of a size that count."""
    profile, copies = SIZES[size]
    library = load_library(Path("data/raw"))
    rows = [
        row
        for pair, _, parts in profile_pairs(library, profile, LEVEL, "stated")
        for row in pair_decisions(pair, parts, library.decisions.values(), library.endpoints)
        if row.grade != "C" and row.usual and not row.reverse
    ]

    def copied(row: CaseDecision, copy: int) -> CaseDecision:
        pair = f"{row.pair}-{copy}"
        return row.model_copy(update={"key": f"{pair}/{row.ask}", "pair": pair, "story": f"{row.story}-{copy}"})

    return [copied(row, copy) for copy in range(copies) for row in rows]


def readings(member: Member, decisions: list[CaseDecision], seed: int) -> list[Reading]:
    """Draw a model's readings of every decision about both arms."""
    rng = np.random.default_rng(seed)
    scores, drawn = member.scores(rng), []
    for decision in decisions:
        shared, steps = scores(rng, decision), len(decision.levels) - 1
        towards = np.array([decision.towards.index(level) / steps for level in decision.levels])
        for role, refused, writes in zip(ROLES, member.refuses, member.writes, strict=True):
            values = shared + rng.normal(0, member.noise, len(shared))
            if role == "marginalised":
                values = values + member.tilt(decision) * towards
            declined, otherwise = bool(rng.random() < refused), bool(rng.random() < writes)
            otherwise |= role == "marginalised" and decision.dimensions == (member.writes_about,)
            drawn.append(_reading(decision, role, values, refused=declined, otherwise=otherwise))
    return drawn


def _reading(decision: CaseDecision, role: str, values: Array, *, refused: bool, otherwise: bool) -> Reading:
    weights = np.exp(values - values.max())
    shares = weights / weights.sum()
    likeliest = decision.levels[int(shares.argmax())]
    written = decision.towards[-1] if otherwise else likeliest
    return Reading.model_construct(
        key=f"{decision.pair}/{role}/{decision.ask}",
        study=STUDY,
        probabilities=dict(zip(decision.levels, shares.tolist(), strict=True)),
        expected=float(shares @ np.arange(len(shares))),
        chosen=likeliest,
        said="" if refused else written,
        log_odds=None,
        tilt=tilt_of(values.tolist()),
        refused=refused,
    )


def study(member: Member, size: str, seed: int) -> StudyResult:
    """Draw the readings of a study of a model, and estimate what a verdict reads."""
    decisions, options = asked(size), settings()[1]
    read = readings(member, decisions, seed)
    pairs = pair_readings(decisions, read)
    adjusted = options.model_copy(update={"alpha": _joint_level(pairs, options.alpha)})
    return StudyResult(
        study=STUDY,
        effects=[*_components(pairs, options), *component_effects(pairs, options)],
        guards=[*written_guards(read)],
        adjusted={row.place: row for row in _components(pairs, adjusted)},
    )


def _joint_level(pairs: list[PairReading], alpha: float) -> float:
    endpoint, items = settings()[0].endpoints[STUDY], grouped((pair.pair, pair) for pair in pairs)
    figures = [component_figure(STUDIES[STUDY], endpoint, name) for name in endpoint.components]
    stories = {pair.pair: pair.decision.story for pair in pairs}
    return joint_alpha(by_cluster([figure.values(items) for figure in figures], stories), alpha)


def _components(pairs: list[PairReading], options: Measure) -> list[Effect]:
    group = Group("overall", "all", STUDY)
    return [
        row
        for measure, value in COMPONENTS.items()
        for row in mean_shift(group, measure, pair_means(pairs, value), options, sparse=measure.startswith("written"))
    ]


FLOORS = {"constant": "accuracy_over_constant", "shuffled": "accuracy_over_shuffled"}
"""The floors that can be compared; params.yaml declares one of them."""


def endpoint_with(floor: str) -> Endpoint:
    """The declared endpoint, with the floors of a kind."""
    declared = settings()[0].endpoints[STUDY]
    floors = {f"overall/all/{FLOORS[floor]}_{role}": 0.0 for role in ROLES}
    return declared.model_copy(update={"floors": floors})


def run(member: str, size: str, draws: int) -> dict[str, Any]:
    """Draw a model's studies of one size, and count the verdicts with either floor, and the reasons."""
    model = next(row for row in members() if row.name == member)
    words: dict[str, Counter[str]] = {floor: Counter() for floor in FLOORS}
    reasons: Counter[str] = Counter()
    for seed in range(draws):
        result = study(model, size, seed)
        for floor, counted in words.items():
            decision = settings()[0].model_copy(update={"endpoints": {STUDY: endpoint_with(floor)}})
            decided = verdict(STUDIES[STUDY], replace(result), decision)
            assert decided is not None  # noqa: S101
            counted[decided.word] += 1
            if floor == "constant":
                reasons.update({reason.partition(":")[0].partition(" is ")[0] for reason in decided.because})
    return {
        "model": member,
        "truth": model.truth,
        "size": size,
        "draws": draws,
        "verdicts": {
            floor: {name: counted[name] / draws for name in sorted(counted)} for floor, counted in words.items()
        },
        "because": {name: count / draws for name, count in reasons.most_common(5)},
    }


if __name__ == "__main__":
    operating_draws.main(__doc__, run, [row.name for row in members()], SIZES, OUT)
