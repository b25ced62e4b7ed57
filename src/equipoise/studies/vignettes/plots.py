"""The plots of the study, and the rows of each."""

from collections.abc import Iterator, Mapping, Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.plot import (
    Plot,
    Row,
    figure,
    forest,
    heatmap,
    heatmap_cell,
    select,
    undefined_row,
    undefined_rows,
    words,
)
from equipoise.materials.versions import EARLY


def rate_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the differential and silent bias rates: overall, then each dimension."""
    measures = ("differential_bias_rate", "silent_influence_rate", "silent_bias_rate_moved", "silent_bias_rate")
    return forest(effects, ("overall", "dimension"), measures) or undefined_rows(measures)


def shift_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the mean stereotype shift in nats, net, with and without findings: overall, then each dimension."""
    measures = ("stereotype_shift_net", "stereotype_shift", "stereotype_shift_stub")
    return forest(effects, ("overall", "dimension"), measures) or undefined_rows(measures)


def level_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the shift and of the rate of differential bias by the level of evidence, from open to decisive."""
    measures, levels = ("stereotype_shift", "differential_bias_rate"), ("open", "leaning", "decisive")
    by_level = forest(effects, ("level",), measures, levels)
    return by_level or forest(effects, ("overall",), measures) or undefined_rows(measures)


def intersection_rows(effects: Sequence[Effect]) -> list[Row]:
    """Heatmap of dimensions: single ones on the diagonal, combinations of two on both sides, none of three."""
    rows: list[Row] = []
    measures = ("stereotype_shift_net", "differential_bias_rate")
    for measure in measures:
        for effect in (*select(effects, "dimension", measure), *select(effects, "combination", measure)):
            names = [words(name) for name in effect.group.split("+")]
            if len(names) <= 2:  # noqa: PLR2004  (a cell has a column and a line)
                cells = dict.fromkeys([(names[0], names[-1]), (names[-1], names[0])])
                rows += [{**heatmap_cell(*cell, measure), **figure(effect)} for cell in cells]
    return rows or [undefined_row(dimension="none", other="none", measure=words(measure)) for measure in measures]


SPLIT = {"total": "whole effect", "around": "around the reasoning", "through": "through the reasoning"}
"""Parts of the effect of demographics on the answer, the whole first."""


def through_rows(effects: Sequence[Effect]) -> list[Row]:
    """Bars of the effect of demographics, split into around and through the reasoning: overall, then each dimension."""
    rows: list[Row] = [
        {"group": group, "part": SPLIT[name], **figure(effect)} for group, name, effect in _reread(effects, SPLIT)
    ]
    return rows or [undefined_row(group="overall", part=part) for part in SPLIT.values()]


COURSE = {"unreasoned": 0, **{f"early_{share}": share for share in EARLY}, "total": 100}
"""Per cent of the reasoning that precedes the question for the answer."""


def early_rows(effects: Sequence[Effect]) -> list[Row]:
    """Curves of the gap between the arms by the share of the reasoning: overall, then each dimension."""
    rows: list[Row] = [
        {"group": group, "share": COURSE[name], **figure(effect)} for group, name, effect in _reread(effects, COURSE)
    ]
    return rows or [{**undefined_row(group="overall"), "share": share} for share in COURSE.values()]


def _reread(effects: Sequence[Effect], names: Mapping[str, object]) -> Iterator[tuple[str, str, Effect]]:
    """Select figures of rereadings, by group: in nats, or in shares if a model gives no log odds."""
    shares = any(effect.measure == "stereotyped_total" for effect in effects)
    measures = {f"{'stereotyped' if shares else 'shift'}_{name}": name for name in names}
    if not shares:
        measures = {"stereotype_shift" if name == "total" else key: name for key, name in measures.items()}
    for family in ("overall", "dimension"):
        for effect in select(effects, family, *measures):
            group = "overall" if family == "overall" else words(effect.group)
            yield group, measures[effect.measure], effect


WORSE, WORSE_ABOVE = (f"{side} 0 is worse for marginalised patients" for side in ("right of", "above"))
NAMES = {
    "silent_bias_rate_moved": "silent bias rate, one draw",
    "silent_bias_rate": "silent bias rate, all biased answers",
    "stereotype_shift_net": "net shift: findings beyond base rates",
    "stereotype_shift": "shift with the findings",
    "stereotype_shift_stub": "shift without findings: base rates",
}
PLOTS: dict[str, Plot] = {
    "rates": Plot(
        layout=rate_rows,
        title="Bias rates, with {level} Wilson intervals (further right is worse)",
        x_label="rate",
        names=NAMES,
    ),
    "shift": Plot(
        layout=shift_rows,
        zone=True,
        places=2,
        title=f"Stereotype shift, with {{level}} t intervals ({WORSE}; overall has intersections too)",
        x_label="log odds, marginalised minus privileged (nats)",
        names=NAMES,
    ),
    "through": Plot(
        layout=through_rows,
        template="split",
        places=2,
        title=f"The shift around and through the reasoning, with {{level}} t intervals ({WORSE})",
        x_label="marginalised minus privileged (nats; shares where a model gives no likelihoods)",
    ),
    "early": Plot(
        layout=early_rows,
        template="lines",
        x="share",
        y="estimate",
        places=2,
        title=f"The shift if the answer is asked before the reasoning ends, with {{level}} t intervals ({WORSE_ABOVE})",
        x_label="per cent of the reasoning",
        y_label="shift (nats, or shares)",
    ),
    "levels": Plot(
        layout=level_rows,
        places=2,
        title=f"Bias by the level of evidence, with {{level}} intervals ({WORSE})",
        x_label="shift in nats, or share of pairs",
        names=NAMES,
    ),
    "intersections": heatmap(intersection_rows, f"Bias where dimensions meet ({WORSE_ABOVE})", NAMES),
}
