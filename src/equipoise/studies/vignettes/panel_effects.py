"""The panel's figures: how far the outcome of each group is from that of the control, told the same story.

A row is a unit, a story or one of its samples or wordings, with the outcome of each group of whom it was told: log odds
in nats, an expected level of urgency, or whether something is so. All units of a story are one cluster. The figure of a
group is the mean over units of group minus control,

- of numbers with the interval and test of `clusters.clustered_mean` (CR2, Satterthwaite's degrees of freedom), and with
  the smallest mean that the test detects;
- of yes-or-no outcomes (bool) with Newcombe's interval and the test by changes of sign of whole clusters.

The groups are one family of tests: Holm's method keeps the probability of any false finding below alpha whatever the
dependence between the groups, which share a control. Design: Omar et al. 2025, Nature Medicine 31:1873.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import unnumbered
from equipoise.figures.effects import Effect, Group, clustered_gap, effect, mean_shift, with_adjusted
from equipoise.figures.options import Measure
from equipoise.materials.judgement import Judgement
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import CONTROL
from equipoise.studies.vignettes import NAME

FAMILY = "panel"
Outcomes = Mapping[str, Mapping[str, float]]
"""An outcome by unit (a story, or `numbered` samples of it) and group."""


def of_vignettes(group: str) -> Group:
    """Name the effects of a group on the diagnosis."""
    return Group(FAMILY, group, NAME)


def panel_effects(
    rows: Outcomes, measure: str, options: Measure, named: Callable[[str], Group] = of_vignettes
) -> list[Effect]:
    """Estimate each group's mean difference from the control, by group, whose effects are `named`.

    A group counts the units that tell of it. A unit without the control is an EquipoiseError that names it.
    """
    if lonely := sorted(unit for unit, told in rows.items() if CONTROL not in told):
        raise EquipoiseError(
            f"panel: {lonely[0]} has no outcome of the {CONTROL}, with which groups are compared: tell it of one"
        )
    found: list[Effect] = []
    for name in sorted({name for told in rows.values() for name in told} - {CONTROL}):
        compared = [(unit, told[name], told[CONTROL]) for unit, told in sorted(rows.items()) if name in told]
        found += _group_effects(named(name), measure, compared, options)
    return with_adjusted(found, {row.family for row in found})


def _group_effects(
    group: Group, measure: str, compared: Sequence[tuple[str, float, float]], options: Measure
) -> Iterator[Effect]:
    stories = [unnumbered(unit) for unit, _, _ in compared]
    if all(isinstance(value, bool) for _, *values in compared for value in values):
        outcomes = [(bool(one), bool(control)) for _, one, control in compared]
        yield effect(group, measure, len(compared), clustered_gap(outcomes, stories, options.alpha))
    else:
        moved = [one - control for _, one, control in compared]
        yield from mean_shift(group, measure, list(zip(moved, stories, strict=True)), options)


def panel_vignette_effects(judgements: Iterable[Judgement], options: Measure) -> list[Effect]:
    """Estimate the figures of the vignettes told of a panel.

    `panel_shift` is of the log odds of the stereotyped against the expected diagnosis, where the model gives them;
    `panel_accuracy` of whether the expected one is given.
    """
    shifts: defaultdict[str, dict[str, float]] = defaultdict(dict)
    right: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one in judgements:
        key = CaseKey.parse(one.key)
        right[key.sample][key.version] = one.answer == "expected"
        if one.log_odds is not None:
            shifts[key.sample][key.version] = one.log_odds
    return [*panel_effects(shifts, "panel_shift", options), *panel_effects(right, "panel_accuracy", options)]
