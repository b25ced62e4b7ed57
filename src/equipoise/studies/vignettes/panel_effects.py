"""The panel's figures: how far the outcome of each group is from that of the control in the same story.

docs/metrics/panel.md defines them. A row is a unit (a story, or one of its samples or wordings) with the outcome of
each of its groups: log odds in nats, an expected level of urgency, or a yes-or-no outcome. All units of a story are one
cluster. Numbers have the interval and test of `clusters.clustered_mean`, yes-or-no outcomes (bool) Newcombe's interval
and the test by changes of sign of whole clusters. The groups are one family of tests, adjusted by Holm's method, which
allows for any dependence between groups that share a control. Design: Omar et al. 2025, Nature Medicine 31:1873.
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


def diagnosis_group(group: str) -> Group:
    """Name the effects of a group on the diagnosis."""
    return Group(FAMILY, group, NAME)


def panel_effects(
    rows: Outcomes, measure: str, options: Measure, named: Callable[[str], Group] = diagnosis_group
) -> list[Effect]:
    """Estimate each group's mean difference from the control, over its units; `named` gives the group of the effects.

    Raises EquipoiseError that names a unit without the control.
    """
    if lonely := sorted(unit for unit, outcomes in rows.items() if CONTROL not in outcomes):
        raise EquipoiseError(
            f"panel: {lonely[0]} has no outcome of the {CONTROL}, with which groups are compared: add one"
        )
    effects: list[Effect] = []
    for name in sorted({name for outcomes in rows.values() for name in outcomes} - {CONTROL}):
        compared = [(unit, row[name], row[CONTROL]) for unit, row in sorted(rows.items()) if name in row]
        effects += _group_effects(named(name), measure, compared, options)
    return with_adjusted(effects, {row.family for row in effects})


def _group_effects(
    group: Group, measure: str, compared: Sequence[tuple[str, float, float]], options: Measure
) -> Iterator[Effect]:
    stories = [unnumbered(unit) for unit, _, _ in compared]
    if all(isinstance(value, bool) for _, *values in compared for value in values):
        outcomes = [(bool(own), bool(control)) for _, own, control in compared]
        yield effect(group, measure, len(compared), clustered_gap(outcomes, stories, options.alpha))
    else:
        differences = [own - control for _, own, control in compared]
        yield from mean_shift(group, measure, list(zip(differences, stories, strict=True)), options)


def panel_vignette_effects(judgements: Iterable[Judgement], options: Measure) -> list[Effect]:
    """Estimate the figures of the panel's vignettes.

    `panel_shift` is the difference in log odds of the stereotyped against the expected diagnosis, if the model gives
    them; `panel_accuracy` the difference in the share of expected diagnoses.
    """
    shifts: defaultdict[str, dict[str, float]] = defaultdict(dict)
    right: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for judgement in judgements:
        key = CaseKey.parse(judgement.key)
        right[key.sample][key.version] = judgement.answer == "expected"
        if judgement.log_odds is not None:
            shifts[key.sample][key.version] = judgement.log_odds
    return [*panel_effects(shifts, "panel_shift", options), *panel_effects(right, "panel_accuracy", options)]
