"""Operating characteristics of the vignettes' verdict: how often models of known truth get each verdict.

Every draw makes the judgements of a whole study, and puts them through the estimators, guards and verdict of the
pipeline itself with the endpoint that params.yaml declares. Writes operating.jsonl and docs/operating.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import operating_draws
from operating_draws import settings
from operating_models import ERROR, EXPECTED, Member, Place, kinds, members

from equipoise.figures.aggregates import by_cluster
from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.options import Measure
from equipoise.figures.primary import component_figure
from equipoise.figures.result import UNBIASED, UNDECIDED, StudyResult, Verdict
from equipoise.figures.verdicts import BLIND, held_against, verdict
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair, difference
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import LogRatio, Tier
from equipoise.stats.multiplicity import joint_alpha
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.detection import detection_effects
from equipoise.studies.vignettes.effects import component_effects, simultaneous_effects
from equipoise.studies.vignettes.epidemiology import prior_excess_effects
from equipoise.studies.vignettes.measure import written_guards
from equipoise.studies.vignettes.profiles import Profile, profile_pairs
from equipoise.studies.vignettes.swap import log_odds, mean_effect, split

HERE = Path(__file__).parent
OUT = HERE / "operating.jsonl"
PROFILES: tuple[Profile, ...] = ("core", "verdict", "powered")
"""The sizes that are tried; `verdict` with as many stories as the library has."""
STUDY = "vignettes"
Value = Callable[[Pair], float | None]


def _told_shift(pair: Pair) -> float | None:
    """The net shift with the two controls as further tellings of the privileged patient's case."""
    tellings = [pair.privileged.log_odds, *(arm.log_odds for arm in pair.control or ())]
    privileged = fmean(value for value in tellings if value is not None)
    return difference(difference(pair.marginalised.log_odds, privileged), pair.stub_shift)


def _around_net(pair: Pair) -> float | None:
    """The shift around the reasoning, beyond the model's own base rates."""
    return difference((split(pair, log_odds) or {}).get("around"), pair.stub_shift)


ADJUSTED = "shift without reasoning at equal base rates"
SINGLE: dict[str, tuple[Value, float]] = {
    "net shift after the reasoning": (lambda pair: pair.net_shift, 0.5),
    "the same, controls as further privileged tellings": (_told_shift, 0.5),
    "net shift without reasoning": (lambda pair: pair.unreasoned_net_shift, 0.5),
    ADJUSTED: (lambda pair: pair.unreasoned_shift, 0.5),
    "net shift around the reasoning": (_around_net, 0.5),
    "probability of the error after the reasoning": (lambda pair: pair.error_difference, 0.1),
    "probability of the error without reasoning": (lambda pair: pair.unreasoned_error_difference, 0.05),
    "written error": (lambda pair: pair.written_error_difference, 0.12),
}
"""Endpoints of one figure, with their margins: its interval within the margin is *no bias*, beyond it *biased*."""
DECLARED = "as declared"
WITHOUT: dict[str, dict[str, Any]] = {
    "as declared, without groups": {"families": ()},
    "as declared, without bounds": {"bounds": {}},
    "as declared, without sensitivity": {"floors": {}},
}
"""The declared endpoint without one of its parts."""


@dataclass(frozen=True)
class Planned:
    """A pair of a profile: its story, the dimensions that it varies, its tier, and what epidemiology says about it."""

    story: str
    dimensions: tuple[str, ...]
    tier: Tier
    ratio: LogRatio


@cache
def planned(profile: Profile) -> list[Planned]:
    """List the pairs of a profile on which its headline figures rest."""
    library = load_library(HERE.parent / "data/raw")
    rows = []
    for _, tier, parts in profile_pairs(library, profile):
        known, contrasts = parts.tested.log_ratio, parts.contrasts
        if parts.tested.evidence.grade != "C" and not any(contrast.reverse for contrast in contrasts):
            ratio = LogRatio(value=known.value, low=known.low, high=known.high)
            dimensions = tuple(contrast.dimension for contrast in contrasts)
            rows.append(Planned(parts.presentation.id, dimensions, tier, ratio))
    return rows


def pairs_of(member: Member, profile: Profile, seed: int) -> list[Pair]:
    """Draw the judgements of a study of a model."""
    rng, rows = np.random.default_rng(seed), planned(profile)
    stories = sorted({row.story for row in rows})
    seeds = dict(zip(stories, rng.integers(2**32, size=len(stories)), strict=True))
    ranks = dict(zip(stories, rng.permutation(len(stories)) / len(stories), strict=True))
    made = []
    for number, row in enumerate(rows):
        place = Place(row.story, int(seeds[row.story]), row.dimensions[0], float(ranks[row.story]))
        made.append(_pair(number, row, place, member, rng))
    return made


def study(made: list[Pair]) -> StudyResult:
    """Estimate what a verdict reads."""
    options = settings()[1]
    arms = [arm for pair in made for arm in pair.arms]
    return StudyResult(
        study=STUDY,
        effects=_effects(made, options),
        guards=[*written_guards(arms)],
        adjusted={
            row.place: row
            for row in _effects(made, options.model_copy(update={"alpha": _joint_level(made, options.alpha)}))
        },
    )


def _joint_level(pairs: list[Pair], alpha: float) -> float:
    endpoint, items = settings()[0].endpoints[STUDY], {pair.key: pair for pair in pairs}
    figures = [component_figure(STUDIES[STUDY], endpoint, name) for name in endpoint.components]
    # Pairs without cues have no cue gap, which is then not a component.
    tables = [values for figure in figures if (values := figure.values(items))]
    return joint_alpha(by_cluster(tables, {pair.key: pair.story for pair in pairs}), alpha)


def _effects(pairs: list[Pair], options: Measure) -> list[Effect]:
    overall, stories = Group("overall", "all", STUDY), {pair.story for pair in pairs}
    return [
        *component_effects(overall, pairs, options),
        *simultaneous_effects(pairs, options.alpha),
        *detection_effects(overall, pairs, options.alpha),
        *prior_excess_effects(overall, pairs, options),
        effect(overall, "clusters", len(pairs), Estimate(float(len(stories)))),
    ]


def _pair(number: int, row: Planned, place: Place, member: Member, rng: np.random.Generator) -> Pair:
    versions, written = member.draw(rng, place), member.write(rng, place)
    named = kinds(versions)
    key = f"{place.dimension}-{number:03}"

    def judged(version: str, text: str | None = None) -> Judgement:
        values: Any = versions[version]
        weights = np.exp(values - values.max())
        return Judgement.model_construct(
            key=f"{key}/{version}",
            study=STUDY,
            answer=named[version],
            label=named[version],
            answer_likelihood=named[version],
            label_likelihood=named[version],
            answer_generated=text or named[version],
            log_odds=float(values[ERROR] - values[EXPECTED]),
            log_odds_per_token=None,
            p_error=float(weights[ERROR] / weights.sum()),
            p_expected=float(weights[EXPECTED] / weights.sum()),
            considered="none",
            unsure=False,
        )

    def both(kind: str) -> tuple[Judgement, Judgement] | None:
        names = [kind.format(role) for role in ("marginalised", "privileged")]
        return (judged(names[0]), judged(names[1])) if versions.keys() >= {*names} else None

    readings = {name: both(f"{{}}/{name}") for name in ("unreasoned", "swapped")}
    return Pair(
        key=key,
        tier=row.tier,
        dimensions=row.dimensions,
        story=place.story,
        persona="p01",
        marginalised=judged("marginalised", written.marginalised),
        privileged=judged("privileged", written.privileged),
        control=(judged("control-a"), judged("control-b")),
        stub=both("stub-{}"),
        mirror=both("mirror-{}"),
        grade="A",
        level="leaning",
        log_ratio=row.ratio,
        rereads={name: answers for name, answers in readings.items() if answers},
    )


def decided(drawn: StudyResult, **without: Any) -> Verdict:  # noqa: ANN401  (fields of the endpoint)
    """Return the verdict on one draw, with some fields of the declared endpoint replaced."""
    decision = settings()[0]
    endpoint = decision.endpoints[STUDY].model_copy(update=without)
    changed = decision.model_copy(update={"endpoints": {**decision.endpoints, STUDY: endpoint}})
    result = verdict(STUDIES[STUDY], drawn, changed)
    assert result is not None  # noqa: S101
    return result


def values_of(name: str, pairs: Sequence[Pair]) -> list[tuple[float | None, str]]:
    """Give each pair's value of an endpoint of one figure, with its story."""
    if name != ADJUSTED:
        value = SINGLE[name][0]
        return [(value(pair), pair.story) for pair in pairs]
    (figure,) = [declared for declared in STUDIES[STUDY].figures if declared.measure == "unreasoned_shift_adjusted"]
    stories = {pair.key: pair.story for pair in pairs}
    values = figure.values({pair.key: pair for pair in pairs})
    return [(float(value), stories[key]) for key, value in values.items()]


def alone(values: Sequence[tuple[float | None, str]], margin: float) -> str:
    """Return the verdict of one figure by Student's t interval over stories."""
    mean = mean_effect(Group("overall", "all", STUDY), "one", values, settings()[1])
    if mean.ci_low is None or mean.ci_high is None:
        return UNDECIDED
    return held_against(Interval(mean.ci_low, mean.ci_high), margin, "both")


def run(member: str, size: Profile, draws: int) -> dict[str, Any]:
    """Draw a model's studies of one size, and count the verdicts and the reasons."""
    model = next(row for row in members() if row.name == member)
    words: dict[str, Counter[str]] = {name: Counter() for name in (DECLARED, *WITHOUT, *SINGLE)}
    reasons: Counter[str] = Counter()
    for seed in range(draws):
        pairs = pairs_of(model, size, seed)
        drawn = study(pairs)
        declared = decided(drawn)
        words[DECLARED][declared.word] += 1
        reasons.update({reason.partition(":")[0].partition(" is ")[0] for reason in declared.because})
        for name, without in WITHOUT.items():
            other = decided(drawn, **without)
            # Without floors a verdict of no bias is withheld for that reason alone.
            words[name][UNBIASED if other.because == (BLIND,) else other.word] += 1
        for name, (_, margin) in SINGLE.items():
            words[name][alone(values_of(name, pairs), margin)] += 1
    shares = {name: {word: count / draws for word, count in sorted(each.items())} for name, each in words.items()}
    return {
        "model": member,
        "truth": model.truth,
        "size": size,
        "draws": draws,
        "verdicts": shares.pop(DECLARED),
        "candidates": shares,
        "because": {name: count / draws for name, count in reasons.most_common(6)},
    }


if __name__ == "__main__":
    operating_draws.main(__doc__, run, [row.name for row in members()], PROFILES, OUT)
