"""Lin et al. (2022): detection of duplicate files, and the figures for RoBERTa.

A released file of one model is a copy of another model's. Two models, or two sets of conditions, never agree in every
digit of hundreds of probabilities, so that agreement means one input given twice, or one under the wrong name.
The figures are tables 3 to 6, and the paths and predictions beneath them; `stigma_metrics` nests effects for
the command `equipoise score stigma`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

from equipoise.core.records import Effect, read_text, sha256
from equipoise.metrics.effects import Nested, adjusted_by_family, rounded
from equipoise.metrics.effects import figures as figures_of
from equipoise.metrics.options import Measure
from equipoise.metrics.stigma import ALL, FAMILIES, stigma_effects, tested_together
from equipoise.published.lin import Wordings, read_rq1, read_rq2, read_steps, read_tokens
from equipoise.stigma.aggregate import noun_lexicon, short_lexicon
from equipoise.stigma.library import Gender, load_library
from equipoise.stigma.rows import Fill

TOLERANCE = 1e-9
"""Probabilities that differ by no more are one number: released ones have 16 digits, sums of them lose the last two."""

WRONG_NAMES = {
    # attribute_recursive_3steps_TOPK_10_BEAM_10_roberta_non_result.csv, as released
    "30d3ba83786cd9a0d808910662c16e15af546d5b88c7aef86e6aaf359f5a7cbe": (
        "mentalroberta",
        "the bytes of MentalRoBERTa's …_mentalroberta_non_result.csv; RoBERTa's own are in …_roberta_nonmh_result.csv",
    ),
}
"""Released files known to be another model's: what the name of a rightly named copy holds, and what they are."""
RQ1 = {"mental": "roberta_all_df_intention.csv", "control": "roberta_all_df_intention_non_mh.csv"}
RQ2 = {
    "mental": "attribute_recursive_3steps_TOPK_10_BEAM_10_roberta__result.csv",
    "control": "attribute_recursive_3steps_TOPK_10_BEAM_10_roberta_nonmh_result.csv",
}
STEPS = {"mental": "roberta_.csv", "control": "roberta_nonmh.csv"}
FIRST_NAMES: dict[Gender, str] = {"female": "women_top_1000_names_only.csv", "male": "men_top_1000_names_only.csv"}
SETS = {"mental": "mh", "control": "non_mh"}
"""The published names of the two sets of conditions."""
SHARES = ("female", "male", "unspecified")
PLACES = {"rq1": ("table3_rq1", "table4_rq1_disparity"), "rq2": ("table5_rq2", "table6_rq2_disparity")}
MODEL = "roberta"


MEASURES = (
    "female",
    "male",
    "unspecified",
    "disparity",
    "disparity_clustered",
    "disparity_corrected",
    "disparity_corrected_clustered",
)
DETECTABLE = "_minimum_detectable_effect"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two files with values in common.

    `kind` is `bytes` (the files are the same), `values` (all rows agree within the tolerance) or `some` (the same model
    run again: `equal` of the `rows` compared agree, at least half of them).
    """

    first: Path
    second: Path
    kind: Literal["bytes", "values", "some"]
    equal: int
    rows: int


def duplicates(tables: Mapping[Path, Sequence[Fill]], tolerance: float = TOLERANCE) -> list[Duplicate]:
    """Find every two files that agree, by sentence and condition or, whatever their rows are named, by position."""
    digests = {path: sha256(path) for path in tables}
    found = []
    for first, second in combinations(tables, 2):
        rows = min(len(tables[first]), len(tables[second]))
        equal = _agreeing(tables[first], tables[second], tolerance)
        if digests[first] == digests[second]:
            found.append(Duplicate(first, second, "bytes", equal, rows))
        elif rows and equal == rows == max(len(tables[first]), len(tables[second])):
            found.append(Duplicate(first, second, "values", equal, rows))
        elif rows and 2 * equal >= rows:
            found.append(Duplicate(first, second, "some", equal, rows))
    return found


def wrong_name(path: Path) -> str | None:
    """Describe what a released file holds where it is known to be another model's; else None."""
    model, truth = WRONG_NAMES.get(sha256(path), ("", ""))
    return truth if truth and model not in path.name.lower() else None


def _agreeing(first: Sequence[Fill], second: Sequence[Fill], tolerance: float) -> int:
    """Count the rows that agree: by key or by position, whichever gives more."""
    by_key = {fill.key: fill for fill in second}
    keyed = [(fill, by_key[fill.key]) for fill in first if fill.key in by_key]
    placed = list(zip(first, second, strict=False))
    return max(sum(_same(one, other, tolerance) for one, other in pairs) for pairs in (keyed, placed))


def _same(one: Fill, other: Fill, tolerance: float) -> bool:
    return all(abs(getattr(one, share) - getattr(other, share)) <= tolerance for share in SHARES)


def lin_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute tables 3 to 6, as `lin/<table>/roberta/…`."""
    wordings = Wordings(load_library(data / "sentences"))
    fills = [fill for name in RQ1.values() for fill in read_rq1(folder / "lin2022" / name, wordings)]
    fills += [fill for name in RQ2.values() for fill in read_rq2(folder / "lin2022" / name, wordings)]
    effects: dict[tuple[str, str], dict[str, Effect]] = {}
    for row in stigma_effects(fills, Measure()):
        effects.setdefault((row.family, row.group), {})[row.measure] = row
    figures: dict[str, float] = {}
    for (family, group), measures in effects.items():
        question, kind = family.split("_")
        table, differences = PLACES[question]
        if kind == "difference":
            figures |= {f"lin/{differences}/{MODEL}/{group}/{name}": value for name, value in _between(measures)}
        else:
            place = f"{MODEL}/{SETS[kind]}/{group}"
            figures |= {f"lin/{table}/{place}/{name}": value for name, value in _within(measures)}
            if (gap := measures["disparity"].estimate) is not None:
                figures[f"lin/{differences}/{MODEL}/{group}/{SETS[kind]}"] = gap
    return figures


def recursion_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compare the released paths, summed as published, with the released results, as `recursion/<set>/…`."""
    library = load_library(data / "sentences")
    wordings, nouns = Wordings(library), noun_lexicon(library.words.nouns)
    figures: dict[str, float] = {}
    for kind, name in STEPS.items():
        ours = read_steps(folder / "lin2022_steps" / name, wordings, nouns, "legacy")
        theirs = read_rq2(folder / "lin2022" / RQ2[kind], wordings)
        figures |= {f"recursion/{kind}/{measure}": value for measure, value in _compared(ours, theirs)}
    return figures


def token_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compare the logged predictions, summed with first names, with the released results, as `tokens/…`."""
    library = load_library(data / "sentences")
    wordings = Wordings(library)
    names = {gender: _listed(folder / "lin2022" / name) for gender, name in FIRST_NAMES.items()}
    lexicon = short_lexicon(library.words.short, names)
    ours = read_tokens(folder / "lin2022_tokens/output_roberta.txt", wordings, lexicon)
    theirs = read_rq1(folder / "lin2022_tokens/roberta_all_df.csv", wordings)
    again = read_rq1(folder / "lin2022" / RQ1["mental"], wordings)
    figures = {f"tokens/same_run/{measure}": value for measure, value in _compared(ours, theirs)}
    return figures | {f"tokens/run_again/{measure}": value for measure, value in _compared(ours, again)}


def _within(measures: dict[str, Effect]) -> Iterator[tuple[str, float]]:
    """Give a cell of tables 3 and 5: n, shares, the paired t test of female and male, and both kinds of d."""
    yield "n", measures["disparity"].n
    yield from _estimates(measures, {**dict(zip(SHARES, SHARES, strict=True)), "d_pooled": "cohens_d_pooled"})
    yield from _estimates(measures, {"d_z": "d_z"})
    yield from _p(measures["disparity"])
    if "d_z" in measures and (d := measures["d_z"].estimate) is not None:
        yield "t", d * math.sqrt(measures["disparity"].n)  # t of paired values is d_z times the root of n


def _between(measures: dict[str, Effect]) -> Iterator[tuple[str, float]]:
    """Give a cell of tables 4 and 6 beside the two disparities: the independent t test between them, and d."""
    yield from _estimates(measures, {"d_pooled": "cohens_d"})
    yield from _p(measures["disparity"])
    if (d := measures["d_pooled"].estimate) is not None:
        half = measures["disparity"].n / 2
        yield "t", d * math.sqrt(half / 2)  # t of two equal samples is d times the root of half their size


def _estimates(measures: dict[str, Effect], names: dict[str, str]) -> Iterator[tuple[str, float]]:
    for ours, published in names.items():
        if ours in measures and (value := measures[ours].estimate) is not None:
            yield published, value


def _p(effect: Effect) -> Iterator[tuple[str, float]]:
    if effect.neg_log10_p is not None:
        yield "p", float(10.0**-effect.neg_log10_p)


def _compared(ours: Sequence[Fill], theirs: Sequence[Fill]) -> Iterator[tuple[str, float]]:
    """Count the sentences that both have, each with one condition, and give the largest difference of any share."""
    known = {fill.key: fill for fill in theirs}
    both = [(fill, known[fill.key]) for fill in ours if fill.key in known]
    yield "sentences", len(both)
    yield (
        "largest_difference",
        max(
            (abs(float(getattr(one, share)) - float(getattr(other, share))) for one, other in both for share in SHARES),
            default=math.inf,
        ),
    )


def _listed(path: Path) -> tuple[str, ...]:
    return tuple(name.strip() for name in read_text(path).split("\n") if name.strip())


def stigma_metrics(effects: Sequence[Effect]) -> Nested:
    """Nest the study's effects by family, group and measure."""
    together = tested_together(effects)
    adjusted = {
        "bonferroni": adjusted_by_family(together, "bonferroni", FAMILIES),
        "bh": adjusted_by_family(together, "fdr_bh", FAMILIES),
    }
    families: dict[str, dict[str, dict[str, Effect]]] = {}
    for row in effects:
        families.setdefault(row.family, {}).setdefault(row.group, {})[row.measure] = row
    nested: Nested = {}
    for family in FAMILIES:
        members = families.get(family, {})
        tables: Nested = {name: _group(members[name], adjusted) for name in sorted(members, key=_all_last)}
        if tables:
            nested[family] = tables
    return nested


def _group(rows: Mapping[str, Effect], adjusted: Mapping[str, Mapping[str, float]]) -> Nested:
    table: Nested = {}
    for measure in MEASURES:
        if measure in rows:
            table[measure] = {
                **figures_of(rows[measure], adjusted),
                **_figure("minimum_detectable_effect", rows.get(f"{measure}{DETECTABLE}")),
                **(_sizes(rows) if measure == "disparity" else {}),
            }
    return table


def _sizes(rows: Mapping[str, Effect]) -> Nested:
    """Lay out what accompanies the published disparity: both sizes of effect, and Welch's test."""
    welch = rows.get("disparity_welch")
    p = {} if welch is None or welch.neg_log10_p is None else {"neg_log10_p_welch": rounded(welch.neg_log10_p)}
    return {**_figure("d_pooled", rows.get("d_pooled")), **_figure("d_z", rows.get("d_z")), **p}


def _figure(name: str, row: Effect | None) -> Nested:
    return {} if row is None or row.estimate is None else {name: rounded(row.estimate)}


def _all_last(name: str) -> tuple[bool, str]:
    return name == ALL, name
