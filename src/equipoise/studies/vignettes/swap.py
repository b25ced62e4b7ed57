"""Through or around the reasoning: how much of an effect on the answer the written reasoning carries.

Let Y(c, r) be the outcome (the log odds of the stereotyped answer, in nats) after the case of arm c and the reasoning
about arm r, each m (marginalised) or p (privileged). Reading all four cells splits the total effect exactly:

    total   = around + through = Y(m, m) - Y(p, p)
    around  = mean over r of Y(m, r) - Y(p, r)      the case acts on the answer directly
    through = mean over c of Y(c, m) - Y(c, p)      the reasoning carries the effect
    interaction = Y(m, m) - Y(m, p) - Y(p, m) + Y(p, p)

These are the natural direct and indirect effects of mediation analysis, each averaged over both values of the other
cause; they are identified because the design sets both causes. Source: Pearl (2001), UAI, section 3; Robins & Greenland
(1992), Epidemiology 3:143-155. If a model gives no likelihoods, Y is 1 for a stereotyped reply, else 0.
docs/metrics/through_around.md defines the figures.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from equipoise.figures.effects import Effect, Estimate, Group, clustered_mean, effect, mean_shift
from equipoise.figures.options import Measure
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import SHIFT_DECIMALS, Pair, difference
from equipoise.materials.versions import EARLY
from equipoise.stats import clusters
from equipoise.studies.vignettes.floor import Magnitudes, magnitude_effects

R = TypeVar("R")
"""The reading of an answer."""
R_co = TypeVar("R_co", covariant=True)
COURSE = {name: name.replace("-", "_") for name in ("unreasoned", *(f"early-{share}" for share in EARLY))}
"""Readings of both arms after increasing shares of their own reasoning, and the names of the gaps between the arms."""
PARTS = ("total", "around", "through", "interaction", "through_blinded", *COURSE.values())
Split: TypeAlias = dict[str, float]
"""A pair's effect by its `PARTS`, in nats or shares, without parts that need a cell that was not read."""


class Reread(Protocol[R_co]):
    """The answers to both arms, the marginalised first: after their own reasoning and after other reasoning."""

    @property
    def arms(self) -> tuple[R_co, R_co]:
        """The answers after each arm's own reasoning."""
        ...

    @property
    def rereads(self) -> Mapping[str, tuple[R_co, R_co]]:
        """The answers after other reasoning, by reading (`equipoise.materials.versions.REREADINGS`)."""
        ...


class Exchanged(NamedTuple):
    """The controls' answers after their own reasonings and after each other's."""

    arms: tuple[Judgement, Judgement]
    rereads: Mapping[str, tuple[Judgement, Judgement]]


def log_odds(judgement: Judgement) -> float | None:
    """Measure an answer by its log odds, in nats."""
    return judgement.log_odds


def stereotyped(judgement: Judgement) -> float:
    """Measure an answer by whether it is the stereotyped one."""
    return float(judgement.answer == "stereotyped")


def cells(
    pair: Reread[R], outcome: Callable[[R], float | None], kind: str = "swapped"
) -> dict[tuple[str, str], float] | None:
    """Give a pair's outcomes after each case (first) and reasoning (second), by arm: m or p.

    `kind` is `swapped` for reasonings as written, `blinded` for blinded ones. None if a cell is undefined.
    """
    own = pair.arms if kind == "swapped" else pair.rereads.get(kind)
    other = pair.rereads.get("swapped" if kind == "swapped" else f"{kind}-swapped")
    if own is None or other is None:
        return None
    outcomes = {
        ("m", "m"): outcome(own[0]),
        ("m", "p"): outcome(other[0]),
        ("p", "m"): outcome(other[1]),
        ("p", "p"): outcome(own[1]),
    }
    defined = {cell: value for cell, value in outcomes.items() if value is not None}
    return defined if len(defined) == len(outcomes) else None


def split(pair: Reread[R], outcome: Callable[[R], float | None]) -> Split | None:
    """Split the effect of a pair's demographics; None if its own answers have no outcome."""
    total = difference(*map(outcome, pair.arms))
    if total is None:
        return None
    parts = {"total": total}
    if (y := cells(pair, outcome)) is not None:
        around = round((y["m", "m"] - y["p", "m"] + y["m", "p"] - y["p", "p"]) / 2, SHIFT_DECIMALS)
        interaction = round(y["m", "m"] - y["m", "p"] - y["p", "m"] + y["p", "p"], SHIFT_DECIMALS)
        parts |= {"around": around, "through": round(total - around, SHIFT_DECIMALS), "interaction": interaction}
    if (y := cells(pair, outcome, "blinded")) is not None:
        through = (y["m", "m"] - y["m", "p"] + y["p", "m"] - y["p", "p"]) / 2
        parts["through_blinded"] = round(through, SHIFT_DECIMALS)
    gaps = {name: _gap(pair, reading, outcome) for reading, name in COURSE.items()}
    return parts | {name: gap for name, gap in gaps.items() if gap is not None}


def _gap(pair: Reread[R], reading: str, outcome: Callable[[R], float | None]) -> float | None:
    answers = pair.rereads.get(reading)
    return None if answers is None else difference(*map(outcome, answers))


def swap_effects(group: Group, pairs: Sequence[Pair], options: Measure) -> Iterator[Effect]:
    """Estimate the split in nats, or in shares if no pair has likelihoods; yield nothing without rereadings."""
    if not any(pair.rereads for pair in pairs):
        return
    graded = any(pair.shift is not None for pair in pairs)
    prefix, outcome = ("shift", log_odds) if graded else ("stereotyped", stereotyped)
    splits = [(parts, pair) for pair in pairs if (parts := split(pair, outcome)) is not None]
    for name in ("around", "through", "through_blinded"):
        values = [(parts.get(name), pair.story) for parts, pair in splits]
        yield from mean_shift(group, f"{prefix}_{name}", values, options)
    for name in ("interaction", *COURSE.values()):
        yield mean_effect(group, f"{prefix}_{name}", [(parts.get(name), pair.story) for parts, pair in splits], options)
    net = [
        (None if "around" not in parts or pair.stub_shift is None else parts["around"] - pair.stub_shift, pair.story)
        for parts, pair in splits
    ]
    if graded:
        yield mean_effect(group, "shift_around_net", net, options)
    else:
        yield mean_effect(group, "stereotyped_total", [(parts["total"], pair.story) for parts, pair in splits], options)
    yield _share_mediated(group, splits, options.alpha)
    if any(pair.control_swapped for pair in pairs):
        exchanged = list(_magnitudes(splits, outcome))
        yield from magnitude_effects(group, f"{prefix}_through_magnitude", exchanged, options.alpha)


def _magnitudes(
    splits: Sequence[tuple[Split, Pair]], outcome: Callable[[Judgement], float | None]
) -> Iterator[Magnitudes]:
    """Yield |through| of the arms and of the controls, for the pairs whose reasonings were exchanged in both."""
    for parts, pair in splits:
        if "through" not in parts or pair.control is None or pair.control_swapped is None:
            continue
        controls = split(Exchanged(pair.control, {"swapped": pair.control_swapped}), outcome)
        if controls is not None and "through" in controls:
            yield Magnitudes(abs(parts["through"]), abs(controls["through"]), pair.story)


def mean_effect(group: Group, measure: str, rows: Sequence[tuple[float | None, str]], options: Measure) -> Effect:
    """Estimate the mean of defined values, each with its story, clustered by story."""
    defined = [(value, story) for value, story in rows if value is not None]
    values = [value for value, _ in defined]
    mean = clusters.clustered_mean(values, [story for _, story in defined])
    return effect(group, measure, len(values), clustered_mean(values, mean, options.alpha))


def _share_mediated(group: Group, splits: Sequence[tuple[Split, Pair]], alpha: float) -> Effect:
    defined = [(parts, pair.story) for parts, pair in splits if "through" in parts]
    through, total = ([parts[name] for parts, _ in defined] for name in ("through", "total"))
    ratio = clusters.ratio_of_means(through, total, [story for _, story in defined], alpha)
    estimate = Estimate(None) if ratio is None else Estimate(ratio.value, ratio.interval)
    return effect(group, "share_mediated", len(defined), estimate)
