"""Through or around the reasoning: how much of an effect on the answer the written reasoning carries.

Let Y(c, r) be what the answer is measured by (the log odds of the stereotyped answer, in nats) after the case of arm c
and the reasoning about arm r, each m (marginalised) or p (privileged). The total effect of the demographics on a pair
is Y(m, m) - Y(p, p). Reading the answer in the two other cells too, with each reasoning transplanted word for word,
splits it exactly:

    around  = mean over r of Y(m, r) - Y(p, r)      the case speaks to the answer directly
    through = mean over c of Y(c, m) - Y(c, p)      the reasoning carries it
    total   = around + through
    interaction = Y(m, m) - Y(m, p) - Y(p, m) + Y(p, p)

These are the natural direct and indirect effects of mediation analysis, each averaged over both values of the other
cause; that both causes are set by us makes them identified. Source: Pearl (2001), UAI, section 3; Robins & Greenland
(1992), Epidemiology 3:143-155. Around silently is what no reading of the reasoning can find.

- `through_blinded` is through, with both reasonings blinded: what survives is carried by more than a restatement of the
  patient. Its texts are not the model's own (off-policy).
- `unreasoned` is the total effect without any reasoning, `early_*` with the beginning of each arm's own.
- `share_mediated` is the mean of through over that of total, with Fieller's interval; undefined where the total is not
  distinguishable from 0.
- `around_net` is around less the stub's shift: base rates without findings are direct.

Where a model gives no likelihoods, Y is 1 for a stereotyped reply, else 0, and the figures are differences of shares.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from equipoise.figures.effects import Effect, Estimate, Group, clustered_mean, effect, mean_shift
from equipoise.figures.options import Measure
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import SHIFT_DECIMALS, Pair, difference
from equipoise.materials.versions import EARLY
from equipoise.stats import clusters

R = TypeVar("R")
"""What was read of an answer."""
R_co = TypeVar("R_co", covariant=True)
COURSE = {name: name.replace("-", "_") for name in ("unreasoned", *(f"early-{share}" for share in EARLY))}
"""Readings of both arms after ever more of their own reasoning, and the names of the gaps between the arms there."""
PARTS = ("total", "around", "through", "interaction", "through_blinded", *COURSE.values())
Split: TypeAlias = dict[str, float]
"""A pair's effect by its `PARTS`, without those of which a cell was not read; in nats, or in shares."""


class Reread(Protocol[R_co]):
    """What both arms were answered, the marginalised first: after their own reasoning, and after others by name."""

    @property
    def arms(self) -> tuple[R_co, R_co]:
        """Both, after their own reasoning."""
        ...

    @property
    def rereads(self) -> Mapping[str, tuple[R_co, R_co]]:
        """Both, after each other reasoning (`equipoise.materials.versions.REREADINGS`)."""
        ...


def log_odds(judgement: Judgement) -> float | None:
    """Measure an answer by its log odds, in nats."""
    return judgement.log_odds


def stereotyped(judgement: Judgement) -> float:
    """Measure an answer by whether it is the stereotyped one."""
    return float(judgement.answer == "stereotyped")


def cells(
    pair: Reread[R], outcome: Callable[[R], float | None], kind: str = "swapped"
) -> dict[tuple[str, str], float] | None:
    """Give what a pair's answers are after each case (first) and reasoning (second), by arm: m or p.

    `kind` is `swapped` for reasonings as they were written, `blinded` for blinded ones. None where a cell is undefined.
    """
    own = pair.arms if kind == "swapped" else pair.rereads.get(kind)
    other = pair.rereads.get("swapped" if kind == "swapped" else f"{kind}-swapped")
    if own is None or other is None:
        return None
    found = {
        ("m", "m"): outcome(own[0]),
        ("m", "p"): outcome(other[0]),
        ("p", "m"): outcome(other[1]),
        ("p", "p"): outcome(own[1]),
    }
    defined = {cell: value for cell, value in found.items() if value is not None}
    return defined if len(defined) == len(found) else None


def split(pair: Reread[R], outcome: Callable[[R], float | None]) -> Split | None:
    """Split the effect of a pair's demographics; None where its own answers are not measured."""
    total = difference(*map(outcome, pair.arms))
    if total is None:
        return None
    found = {"total": total}
    if (y := cells(pair, outcome)) is not None:
        around = round((y["m", "m"] - y["p", "m"] + y["m", "p"] - y["p", "p"]) / 2, SHIFT_DECIMALS)
        interaction = round(y["m", "m"] - y["m", "p"] - y["p", "m"] + y["p", "p"], SHIFT_DECIMALS)
        found |= {"around": around, "through": round(total - around, SHIFT_DECIMALS), "interaction": interaction}
    if (y := cells(pair, outcome, "blinded")) is not None:
        through = (y["m", "m"] - y["m", "p"] + y["p", "m"] - y["p", "p"]) / 2
        found["through_blinded"] = round(through, SHIFT_DECIMALS)
    gaps = {name: _gap(pair, reading, outcome) for reading, name in COURSE.items()}
    return found | {name: gap for name, gap in gaps.items() if gap is not None}


def _gap(pair: Reread[R], reading: str, outcome: Callable[[R], float | None]) -> float | None:
    """The difference of both arms' answers after a reading."""
    told = pair.rereads.get(reading)
    return None if told is None else difference(*map(outcome, told))


def swap_effects(group: Group, pairs: Sequence[Pair], options: Measure) -> Iterator[Effect]:
    """Estimate the split in nats, and in shares where no pair has likelihoods; nothing where nothing was read again."""
    if not any(pair.rereads for pair in pairs):
        return
    graded = any(pair.shift is not None for pair in pairs)
    prefix, outcome = ("shift", log_odds) if graded else ("stereotyped", stereotyped)
    told = [(found, pair) for pair in pairs if (found := split(pair, outcome)) is not None]
    for name in ("around", "through", "through_blinded"):
        values = [(found.get(name), pair.story) for found, pair in told]
        yield from mean_shift(group, f"{prefix}_{name}", values, options)
    for name in ("interaction", *COURSE.values()):
        yield _mean(group, f"{prefix}_{name}", [(found.get(name), pair.story) for found, pair in told], options)
    net = [
        (None if "around" not in found or pair.stub_shift is None else found["around"] - pair.stub_shift, pair.story)
        for found, pair in told
    ]
    if graded:
        yield _mean(group, "shift_around_net", net, options)
    else:
        yield _mean(group, "stereotyped_total", [(found["total"], pair.story) for found, pair in told], options)
    yield _share(group, "share_mediated", told, options.alpha)


def _mean(group: Group, measure: str, told: Sequence[tuple[float | None, str]], options: Measure) -> Effect:
    defined = [(value, story) for value, story in told if value is not None]
    values = [value for value, _ in defined]
    found = clusters.clustered_mean(values, [story for _, story in defined])
    return effect(group, measure, len(values), clustered_mean(values, found, options.alpha))


def _share(group: Group, measure: str, told: Sequence[tuple[Split, Pair]], alpha: float) -> Effect:
    """Estimate the share of the total effect that goes through the reasoning."""
    defined = [(found, pair.story) for found, pair in told if "through" in found]
    through, total = ([found[name] for found, _ in defined] for name in ("through", "total"))
    found = clusters.ratio_of_means(through, total, [story for _, story in defined], alpha)
    estimate = Estimate(None) if found is None else Estimate(found.value, found.interval)
    return effect(group, measure, len(defined), estimate)
