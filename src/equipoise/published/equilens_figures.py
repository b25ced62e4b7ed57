"""The figures that `equipoise score equity` prints for each file of released answers, under plain names.

They are those of `equipoise.metrics.equity`, not rounded. Holm's adjustment runs over the cities and attributes of one
file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.metrics.answered import arms_of
from equipoise.metrics.equity import STUDY, assigned_questions, equity_effects
from equipoise.questions.rows import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from equipoise.core.records import Effect
    from equipoise.metrics.answered import Answered
    from equipoise.metrics.equity import EquityOptions
    from equipoise.questions.cities import City


def score_equity_released(
    name: str,
    table: Sequence[Answered],
    cities: Mapping[str, City],
    options: EquityOptions,
    name_of: Callable[[str], str],
) -> dict[str, Any]:
    """Score one file: `n`, `unparsed` by arm (`name_of` gives its name), baseline accuracy, and `cities` by attribute.

    What is undefined is None, as are the standard deviations over partitions where one partition was drawn.
    """
    effects = {row.key.removeprefix(f"{STUDY}/"): row for row in equity_effects(table, cities, options)}
    baseline = effects["baseline/all/baseline_accuracy"]
    return {
        "file": name,
        "n": len(table),
        "partition": options.partition,
        "unparsed": {name_of(arm): sum(not row.parsed(arm) for row in table) for arm in arms_of(table)},
        "baseline_accuracy": baseline.estimate,
        "baseline_accuracy_ci_low": baseline.ci_low,
        "baseline_accuracy_ci_high": baseline.ci_high,
        "cities": {
            place: {
                attribute: {
                    "reference": city.composition[attribute].reference,
                    "other": city.composition[attribute].other,
                }
                | _city(effects, f"city/{place}/{attribute}")
                | (
                    {"assigned_questions": assigned_questions(table, city, attribute, options.partition_seed)}
                    if options.partition == "seeded"
                    else {}
                )
                for attribute in ATTRIBUTES
                if attribute in city.composition
            }
            for place, city in cities.items()
        },
    }


def _city(effects: Mapping[str, Effect], place: str) -> dict[str, Any]:
    """Lay out one city and attribute."""

    def value(measure: str) -> float | None:
        row = effects.get(f"{place}/{measure}")
        return None if row is None else row.estimate

    figures: dict[str, Any] = {measure: round(value(measure) or 0) for measure in ("n_reference", "n_other")}
    for measure in ("city_accuracy", "accuracy_ratio", "consistency_ratio"):
        row = effects.get(f"{place}/{measure}")
        figures[measure] = value(measure)
        figures[f"{measure}_ci_low"] = None if row is None else row.ci_low
        figures[f"{measure}_ci_high"] = None if row is None else row.ci_high
        figures[f"{measure}_sd"] = value(f"{measure}_partition_sd")
    ratio = effects[f"{place}/accuracy_ratio"]
    return figures | {
        "consistency_reference": value("consistency_reference"),
        "consistency_other": value("consistency_other"),
        "consistency_ratio_mean": value("consistency_ratio_partition_mean"),
        "consistency_ratio_undefined": value("consistency_ratio_partition_undefined"),
        "p": _probability(ratio.neg_log10_p),
        "p_holm": _probability(ratio.neg_log10_p_holm),
    }


def _probability(neg_log10: float | None) -> float | None:
    return None if neg_log10 is None else 10**-neg_log10
