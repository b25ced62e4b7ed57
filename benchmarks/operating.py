"""Operating characteristics of the vignettes' verdict: how often it says what of models of known truth.

Every draw makes the judgements of a whole study, and puts them through the estimators, guards and verdict of the
pipeline itself with the endpoint that params.yaml declares. Writes operating.jsonl and docs/operating.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from operating_models import ERROR, EXPECTED, Member, Place, kinds, members

from equipoise.core.params import load
from equipoise.figures.aggregates import by_cluster
from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.options import Decision, Measure
from equipoise.figures.primary import component_figure
from equipoise.figures.result import StudyResult
from equipoise.figures.verdicts import verdict
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import LogRatio, Tier
from equipoise.stats.multiplicity import joint_alpha
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.detection import detection_effects
from equipoise.studies.vignettes.effects import component_effects, simultaneous_effects
from equipoise.studies.vignettes.epidemiology import prior_excess_effects
from equipoise.studies.vignettes.guards import written_guards
from equipoise.studies.vignettes.profiles import Profile, profile_pairs

HERE = Path(__file__).parent
OUT = HERE / "operating.jsonl"
PROFILES: tuple[Profile, ...] = ("core", "verdict", "powered")
"""The sizes that are tried; `verdict` with as many stories as the library has."""
STUDY = "vignettes"


@dataclass(frozen=True)
class Planned:
    """A pair of a profile: its story, the dimensions that it varies, its tier, and what epidemiology says of it."""

    story: str
    dimensions: tuple[str, ...]
    tier: Tier
    ratio: LogRatio


@cache
def settings() -> tuple[Decision, Measure]:
    """The declared endpoint and the level of the figures."""
    loaded = load()
    return loaded.section("decision", Decision), loaded.section("measure", Measure)


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


def study(member: Member, profile: Profile, seed: int) -> StudyResult:
    """Draw the judgements of a study of a model, and estimate what a verdict reads."""
    rng, rows = np.random.default_rng(seed), planned(profile)
    stories = sorted({row.story for row in rows})
    seeds = dict(zip(stories, rng.integers(2**32, size=len(stories)), strict=True))
    ranks = dict(zip(stories, rng.permutation(len(stories)) / len(stories), strict=True))
    made = []
    for number, row in enumerate(rows):
        place = Place(row.story, int(seeds[row.story]), row.dimensions[0], float(ranks[row.story]))
        made.append(_pair(number, row, place, member, rng))
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
    tables = [figure.values(items) for figure in figures]
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
            considered="none",
            unsure=False,
        )

    def both(kind: str) -> tuple[Judgement, Judgement] | None:
        names = [kind.format(role) for role in ("marginalised", "privileged")]
        return (judged(names[0]), judged(names[1])) if names[0] in versions else None

    unreasoned = both("{}/unreasoned")
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
        rereads={"unreasoned": unreasoned} if unreasoned else {},
    )


def decided(member: Member, profile: Profile, seed: int) -> tuple[str, tuple[str, ...]]:
    """Return the verdict on one draw, and which reasons it names."""
    result = verdict(STUDIES[STUDY], study(member, profile, seed), settings()[0])
    assert result is not None  # noqa: S101
    return result.word, result.because


def run(member: str, size: Profile, draws: int) -> dict[str, Any]:
    """Draw a model's studies of one size, and count the verdicts and the reasons."""
    model = next(row for row in members() if row.name == member)
    words: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for seed in range(draws):
        word, because = decided(model, size, seed)
        words[word] += 1
        reasons.update({reason.partition(":")[0].partition(" is ")[0][:60] for reason in because})
    shares = {name: words[name] / draws for name in sorted(words)}
    return {
        "model": member,
        "truth": model.truth,
        "size": size,
        "draws": draws,
        "verdicts": shares,
        "because": {name: count / draws for name, count in reasons.most_common(6)},
    }


def main() -> None:
    """Run every model at every size, on two processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--sizes", nargs="+", default=[*PROFILES])
    parser.add_argument("--only", default="")
    own = parser.parse_args()
    jobs = [(row.name, size) for row in members() for size in own.sizes if own.only in row.name]
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(partial(_job, own.draws), jobs))
    OUT.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for row in rows:
        sys.stdout.write(f"{row['model']:50} {row['size']:8} {row['verdicts']} {row['because']}\n")


def _job(draws: int, job: tuple[str, Profile]) -> dict[str, Any]:
    return run(*job, draws)


if __name__ == "__main__":
    main()
