"""How a judge's entailments are read, chosen on labels and measured on labels that the choice has not seen.

Cross-validation, nested and grouped. The cases told alike, so both arms of a vignette, are one group. Each outer fold
of groups is read as chosen on the others, and the readings of all folds together are measured. Nothing is fitted to a
way of reading, so its agreement on inner folds, put together, is that on all groups outside the outer fold; the inner
folds, each group left out in turn, give its standard error (jackknife).

The choice has a prior for simplicity (Breiman et al. 1984, Classification and Regression Trees, section 3.4.3): of the
ways whose agreement lies within so many standard errors of the best, one with the fewest departures from the simplest;
of its thresholds there, the most central pair, which a change of either is the least likely to spoil.
Nested cross-validation: Varma & Simon (2006), BMC Bioinformatics 7:91.
"""

from __future__ import annotations

from collections import Counter
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from equipoise.metrics.effects import rounded
from equipoise.rating.agreement import cohens_kappa
from equipoise.rating.blind import CONSIDERATIONS
from workshop.grid import NONE, Grid, Scan, grouped_folds, margins, scan, scored_agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equipoise.core.records import Consideration
    from equipoise.metrics.effects import Nested
    from workshop.grid import Entailed, Form

    Array = NDArray[np.float64]

HALF = 0.5
"""Entailment from which a window is taken to mention the feature where the control is dealt."""

Objective = Literal["considered", "three_way", "both"]


class CalibrateSettings(Grid):
    """The section `calibrate` of judge/params.yaml: the grid, the splits, and what is made of their agreement."""

    objective: Objective
    standard_errors: Annotated[float, Field(ge=0)]
    folds: Annotated[int, Field(ge=2)]
    repeats: Annotated[int, Field(ge=1)]
    deals: Annotated[int, Field(ge=1)]
    similarity: Annotated[float, Field(gt=0, le=1)]
    seed: int
    n_bootstrap: Annotated[int, Field(ge=40)]


class Choice(NamedTuple):
    """One way of reading, by its place in a scan: form, weighed threshold, dismissed threshold."""

    form: int
    weighed: int
    dismissed: int


class Held(NamedTuple):
    """What texts are read to do by choices that have not seen their labels: codes, margins, and a choice a fold."""

    codes: NDArray[np.int8]
    margins: Array
    choices: tuple[Choice, ...]


def calibrate(
    settings: CalibrateSettings, entailed: Entailed, labels: Sequence[Consideration], groups: Sequence[str]
) -> Nested:
    """Choose how the judge reads, and measure that choosing.

    Args:
        settings: see there.
        entailed: the judge's entailments of n texts, for each set of hypotheses and window length of the grid.
        labels: what each text does with its feature.
        groups: the group of each text; see `grid.told_alike`.

    Returns:
        `held_out`: figures of `agreement` on labels that the choice had not seen, over the first split;
        `splits`: how its kappas vary over the repeated splits; `choice`: the choice on all labels; `apparent`: its
        kappas on those same labels, which flatter it; `stability`: how the choices of all folds vary; `control`: the
        kappas held out of entailments that were dealt anew, see `dealt`.
    """
    read = scan(settings, entailed)
    truth = codes_of(labels)
    counted = tabulate(read, truth, groups)
    repeats = [hold_out(settings, read, counted, groups, settings.seed + repeat) for repeat in range(settings.repeats)]
    first = repeats[0]
    chosen = choose(read, counted, settings)
    kappas = [_kappas(_table(truth, held.codes)) for held in repeats]
    control = []
    for deal in range(settings.deals):
        blind = scan(settings, dealt(entailed, np.random.default_rng([settings.seed, deal])))
        held = hold_out(settings, blind, tabulate(blind, truth, groups), groups, settings.seed + deal)
        control.append(_kappas(_table(truth, held.codes)))
    return {
        "held_out": scored_agreement(
            labels,
            [CONSIDERATIONS[code] for code in first.codes],
            groups,
            first.margins.tolist(),
            seed=settings.seed,
            n_bootstrap=settings.n_bootstrap,
        ),
        "splits": _spreads(kappas),
        "control": _spreads(control),
        "choice": _described(settings, read.forms[chosen.form], chosen),
        "apparent": {f"kappa_{name}": kappa for name, kappa in _kappas(_table(truth, read.codes[chosen])).items()},
        "stability": _stability(settings, read, [choice for held in repeats for choice in held.choices]),
    }


def dealt(entailed: Entailed, rng: np.random.Generator) -> dict[tuple[str, int], list[Array]]:
    """The same windows and mentions, with weighed and dismissed dealt among all windows that mention alike.

    What agreement is left comes of how many windows a text has, and how many of them mention the feature: a longer text
    has more chances of a high entailment. A judge must do better to have read anything.
    """
    found = {}
    for key, texts in entailed.items():
        rows = np.concatenate(texts)
        for mentioning in (True, False):
            places = np.flatnonzero((rows[:, 0] >= HALF) == mentioning)
            rows[places, 1:] = rows[rng.permutation(places), 1:]
        found[key] = np.split(rows, np.cumsum([len(text) for text in texts])[:-1])
    return found


def codes_of(labels: Sequence[Consideration]) -> NDArray[np.intp]:
    """The place of each label among the considerations."""
    return np.array([CONSIDERATIONS.index(label) for label in labels])


def tabulate(read: Scan, truth: NDArray[np.intp], groups: Sequence[str]) -> NDArray[np.float32]:
    """Counts (forms, weighed thresholds, dismissed thresholds, groups, label, finding), groups in order of names."""
    names, member = np.unique(np.asarray(groups), return_inverse=True)
    k = len(CONSIDERATIONS)
    place = np.zeros((len(truth), len(names) * k), dtype=np.float32)
    place[np.arange(len(truth)), member * k + truth] = 1
    found = [((read.codes == code).astype(np.float32) @ place) for code in range(k)]
    return np.stack(found, axis=-1).reshape(*read.codes.shape[:3], len(names), k, k)


def hold_out(
    settings: CalibrateSettings, read: Scan, counted: NDArray[np.float32], groups: Sequence[str], seed: int
) -> Held:
    """Read each outer fold as chosen on the other folds."""
    names = sorted(set(groups))
    codes = np.zeros(len(groups), dtype=np.int8)
    above = np.zeros(len(groups))
    choices = []
    for test in grouped_folds(groups, settings.folds, seed):
        unseen = {groups[row] for row in test}
        seen = [place for place, name in enumerate(names) if name not in unseen]
        chosen = choose(read, counted[..., seen, :, :], settings)
        bars = settings.thresholds.weighed[chosen.weighed], settings.thresholds.dismissed[chosen.dismissed]
        codes[test] = read.codes[chosen][test]
        above[test] = margins(read.probabilities[chosen.form][test], *bars)
        choices.append(chosen)
    return Held(codes, above, tuple(choices))


def choose(read: Scan, counted: NDArray[np.float32], settings: CalibrateSettings) -> Choice:
    """The simplest and most central way of reading among those nearly as good as the best, on the groups counted."""
    total = counted.sum(axis=-3, dtype=float)
    scored = _objective(total, settings.objective)
    best = np.unravel_index(int(scored.argmax()), scored.shape)
    left_out = _objective(total[best] - counted[best], settings.objective)
    error = float(np.sqrt((len(left_out) - 1) * left_out.var()))
    near = scored >= scored[best] - settings.standard_errors * error
    # The best form of the fewest departures that comes near: departures first, then agreement.
    able = [place for place in range(len(read.forms)) if near[place].any()]
    form = min(able, key=lambda place: (read.forms[place].departures, -scored[place].max(), place))
    places = np.argwhere(near[form])
    distances = np.abs(places[:, None] - places).sum(axis=(1, 2))
    return Choice(form, *map(int, places[distances.argmin()]))


def _objective(tables: Array, objective: Objective) -> Array:
    """What is made large: kappa of considered or not, of all three, or their mean; undefined counts as chance, 0."""
    parts = []
    if objective != "three_way":
        parts.append(cohens_kappa(_collapsed(tables)))
    if objective != "considered":
        parts.append(cohens_kappa(tables))
    found: Array = np.mean([np.nan_to_num(part, nan=0.0) for part in parts], axis=0)
    return found


def _collapsed(tables: Array) -> Array:
    """Tables (..., 2, 2) of considered or not, from those of none, weighed and dismissed."""
    silent = np.arange(len(CONSIDERATIONS)) == NONE
    kinds = np.stack([silent, ~silent]).astype(float)
    merged: Array = kinds @ tables @ kinds.T
    return merged


def _table(truth: NDArray[np.intp], found: NDArray[np.int8]) -> Array:
    table = np.zeros((len(CONSIDERATIONS),) * 2)
    np.add.at(table, (truth, found), 1)
    return table


def _kappas(table: Array) -> dict[str, float]:
    """Both kappas of one table, as far as they are defined."""
    both = {"considered": cohens_kappa(_collapsed(table)), "three_way": cohens_kappa(table)}
    return {name: rounded(float(kappa)) for name, kappa in both.items() if np.isfinite(kappa)}


def _described(settings: CalibrateSettings, form: Form, choice: Choice) -> Nested:
    bars = settings.thresholds
    return {
        **{name: value for name, value in form._asdict().items() if name != "departures"},
        "thresholds": {
            "weighed": bars.weighed[choice.weighed],
            "dismissed": bars.dismissed[choice.dismissed],
        },
    }


def _stability(settings: CalibrateSettings, read: Scan, choices: Sequence[Choice]) -> Nested:
    """Thresholds over the folds of all splits, and the share of folds that chose each value of each list."""
    bars = settings.thresholds
    chosen = [read.forms[choice.form]._asdict() for choice in choices]
    shares: Nested = {
        name: {
            str(value).lower(): rounded(n / len(chosen))
            for value, n in sorted(Counter(one[name] for one in chosen).items())
        }
        for name in ("hypotheses", "sentences", "top_k", "temperature")
    }
    return {
        "n_folds": len(choices),
        "weighed": _spread([bars.weighed[choice.weighed] for choice in choices]),
        "dismissed": _spread([bars.dismissed[choice.dismissed] for choice in choices]),
        "share": shares,
    }


def _spreads(kappas: Sequence[dict[str, float]]) -> Nested:
    """How both kappas vary over splits."""
    names = ("considered", "three_way")
    return {"n": len(kappas), **{name: _spread([one[name] for one in kappas if name in one]) for name in names}}


def _spread(values: Sequence[float]) -> Nested:
    if not values:
        return {}
    spread = {"mean": fmean(values), "median": median(values), "least": min(values), "most": max(values)}
    return {name: rounded(value) for name, value in spread.items()}
