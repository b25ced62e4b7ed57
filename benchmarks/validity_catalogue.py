"""The simulations of the validity study, and explanations of the figures that deviate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import validity_simulations as small
import validity_studies as whole
from validity_attacks import attacks
from validity_detection import detection
from validity_labels import labels_of_the_run
from validity_release import release
from validity_section import (
    BOOTSTRAPPED,
    COUNTED,
    FAMILIES,
    LARGE,
    POWER,
    SIZE,
    TESTED,
    Row,
    Section,
    Study,
    coverage,
    type_one,
)
from validity_sequential import sequential
from validity_stories import stories

from equipoise.stats import power

if TYPE_CHECKING:
    from collections.abc import Iterator

    from validity_simulations import Shape

SEED = 20_260_101
NOTES = {
    "skewed": "The t statistic of few skewed differences is itself skewed; with 100 of them no deviation is seen.",
    "symmetry": "The null hypothesis of this test is symmetry about 0. Exponential differences have mean 0 but are not "
    "symmetric: the test rejects correctly, and more often with more pairs.",
    "pooled": "Student's test assumes equal variances; here the smaller sample has the larger one. Welch's test, "
    "reported alongside, does not assume this.",
    "sentences": "The published test treats sentences about one condition as independent. The test by condition "
    "(`disparity_clustered`) is the primary one.",
    "wilson": "Counts are discrete, so the coverage of Wilson's interval oscillates around 95 % with the rate, most "
    "strongly if few successes are expected. Averaged over all rates it is 95 %.",
    "macro": "With about three correct answers in the rarest class, resamples vary less than new samples do (by 6 to "
    "11 %) and have lower averages than the sample, so the truth mostly lies above the interval. With 50 questions per "
    "stratum no undercoverage is seen.",
    "spread": "The standard deviation of a small sample is uncertain; if it is underestimated, so is the minimum "
    "detectable shift. With a known standard deviation the power is nominal.",
}
"""Explanations of deviations, by cause."""


def _proportions() -> Iterator[Study]:
    for n, p in ((10, 0.1), (40, 0.05), (40, 0.5), (150, 0.1), (40, None)):
        title = "rate drawn uniformly each time" if p is None else f"rate {p}"
        rows = {"interval": coverage("Wilson", NOTES["wilson"])}
        yield Study(f"wilson/{n}/{p}", f"n = {n}, {title}", COUNTED, small.one_rate(n, p), rows)
    for n, gap, discordance in (
        *((15, 0.0, 0.2), (30, 0.0, 0.2), (30, 0.2, 0.3), (66, 0.0, 0.12), (66, 0.1, 0.12)),
        *((100, 0.0, 0.1), (100, 0.1, 0.3)),
    ):
        rows = {"interval": coverage("paired difference (Newcombe)")}
        if gap == 0:
            rows["mid_p"] = type_one("mid-p McNemar")
            rows["mcnemar"] = type_one("exact McNemar")
        title = f"{n} pairs, gap {gap:g}, {discordance} discordant"
        yield Study(f"paired/{n}/{gap}/{discordance}", title, COUNTED, small.paired_rates(n, gap, discordance), rows)
    for n in (10, 40):
        parts = [(0.534, n, 0.3), (0.22, n, 0.5), (0.246, n, 0.8)]
        title = f"3 parts of {n}, weights 0.53, 0.22, 0.25, rates 0.3, 0.5, 0.8"
        yield Study(f"mover/{n}", title, TESTED, small.weighted(parts), {"interval": coverage("weighted sum (MOVER)")})
    for n, truth, labels, right in ((10, 0.5, 20, 0.8), (30, 0.3, 40, 0.9), (100, 0.1, 200, 0.9), (30, 0.0, 40, 0.9)):
        title = f"n = {n}, truth {truth:g}, {labels} labels of either kind, sensitivity and specificity {right}"
        rows = {"interval": coverage("corrected rate (Lang-Reiczigel)")}
        run = small.corrected(n, truth, labels, right, right)
        yield Study(f"corrected/{n}/{truth}/{labels}", title, COUNTED, run, rows)


def _means() -> Iterator[Study]:
    settings: tuple[tuple[int, Shape], ...] = ((15, "normal"), (15, "heavy"), (15, "skewed"), (100, "skewed"))
    for n, shape in settings:
        skewed = shape == "skewed"
        rows = {
            "interval": coverage("paired t", NOTES["skewed"] if skewed else ""),
            "t": type_one("paired t", NOTES["skewed"] if skewed else ""),
            "wilcoxon": type_one("Wilcoxon", NOTES["symmetry"] if skewed else ""),
        }
        yield Study(f"mean/{n}/{shape}", f"{n} {shape} differences", TESTED, small.differences(n, shape), rows)
    for sizes, spreads in (((30, 30), (1.0, 1.0)), ((10, 40), (3.0, 1.0))):
        title = f"n = {sizes[0]} and {sizes[1]}, sd {spreads[0]:g} and {spreads[1]:g}"
        note = "" if spreads[0] == spreads[1] else NOTES["pooled"]
        rows = {
            "student": type_one("Student's t", note),
            "student_interval": coverage("Student's t", note),
            "welch": type_one("Welch's t"),
            "welch_interval": coverage("Welch's t"),
        }
        yield Study(f"two/{sizes[0]}/{sizes[1]}", title, TESTED, small.two_samples(sizes, spreads), rows)


def _clusters() -> Iterator[Study]:
    for name, sizes in (("even", [17] * 11), ("uneven", [2, 2, 3, 4, 5, 8, 12, 17, 25, 40, 60])):
        title = (
            f"11 conditions of {sizes[0]} to {sizes[-1]} sentences"
            if name == "uneven"
            else (f"11 conditions of {sizes[0]} sentences")
        )
        rows = {
            "interval": coverage("t by condition"),
            "t": type_one("t by condition"),
            "difference": type_one("t by condition, two samples"),
            "by_sentence": type_one("t by sentence, as published", NOTES["sentences"]),
        }
        yield Study(f"clusters/{name}", title, TESTED, small.clustered(sizes), rows)


def _sparse() -> Iterator[Study]:
    rows = {"interval": coverage("group effect")}
    for n, moved, one_way in ((66, 0.01, True), (66, 0.03, True), (66, 0.03, False), (66, 0.1, False)):
        title = f"{n} questions, {moved} of which move by half, {'all one way' if one_way else 'either way alike'}"
        tested = {} if one_way else {"t": type_one("group effect, paired t")}
        key = f"contrast/{n}/{moved}/{'one' if one_way else 'both'}"
        yield Study(key, title, COUNTED, small.contrasts(n, moved, one_way), rows | tested)
    for crossed, single, rate, factor in (
        *((15, 15, 0.25, 1.6), (60, 60, 0.25, 1.6)),
        *((24, 14, 0.05, 1.0), (24, 14, 0.05, 2.0), (24, 14, 0.1, 1.0), (24, 14, 0.1, 3.0), (60, 60, 0.05, 1.0)),
    ):
        title = f"{crossed} intersectional pairs at {rate * factor:g}, {single} of each of two components at {rate}"
        rows = {kind: coverage(f"amplification, {kind}") for kind in ("matched", "pooled")}
        run = whole.amplification(crossed, single, rate * factor, (rate, rate))
        yield Study(f"amplification/{crossed}/{rate}/{factor}", title, TESTED, run, rows)
    names = {
        "city_accuracy": "city accuracy",
        "accuracy_ratio": "accuracy ratio",
        "consistency_ratio": "consistency ratio",
    }
    for n, right, consistency in (
        *((40, 0.6, (0.9, 0.75)), (150, 0.6, (0.9, 0.75))),
        *((66, 0.6, (0.97, 0.95)), (150, 0.6, (0.97, 0.95)), (66, 0.25, (0.97, 0.95)), (66, 0.9, (0.99, 0.97))),
    ):
        title = f"{n} questions, accuracy {right} at baseline, consistency {consistency[0]} and {consistency[1]}"
        rows = {name: coverage(title) for name, title in names.items()}
        key = f"city/{n}/{right}/{consistency[0]}"
        yield Study(key, title, TESTED, whole.city(n, right, consistency), rows)


def _bootstraps() -> Iterator[Study]:
    consistency = (0.9, 0.75)
    promised, run = whole.partitions(60, 0.6, consistency)
    rows = {}
    for name, moments in promised.items():
        title = name.replace("_", " ")
        rows[f"{name}_mean"] = Row(f"{title} over partitions: mean", "mean", moments.mean or 0.0)
        rows[f"{name}_sd"] = Row(f"{title} over partitions: sd", "sd", moments.sd or 0.0)
    yield Study("partitions/60", "60 fixed questions, partitioned at random", COUNTED, run, rows)
    for size, draws in ((10, BOOTSTRAPPED), (50, LARGE)):
        title = f"3 strata of {size} questions, accuracy 0.4, 0.6 and 0.8"
        rows = {
            name: coverage(f"macro {name.split('_')[0]} (bootstrap)".replace("f1", "F1"), NOTES["macro"])
            for name in ("precision_macro", "recall_macro", "f1_macro")
        }
        rows["accuracy"] = coverage("accuracy of strata (Wilson)")
        yield Study(f"exam/{size}", title, draws, whole.exam([size] * 3, [0.4, 0.6, 0.8]), rows)


def _families() -> Iterator[Study]:
    for nulls, planted, correlation in ((10, 0, 0.0), (10, 0, 0.5), (5, 5, 0.0)):
        title = f"10 paired t tests of 15 pairs, {planted} with an effect of 1 sd, correlation {correlation:g}"
        rows = {
            "holm": Row("Holm: family-wise error rate", "error", SIZE),
            "bh": Row("Benjamini-Hochberg: false discovery rate", "error", SIZE),
        }
        run = small.family(nulls, planted, correlation)
        yield Study(f"family/{planted}/{correlation}", title, FAMILIES, run, rows)
    rows = {"holm": Row("Holm: family-wise error rate", "error", SIZE)}
    run = small.mcnemar_family(10, 30, 0.3)
    yield Study("family/mcnemar", "10 mid-p McNemar tests of 30 pairs, 0.3 discordant, no effect", TESTED, run, rows)


def _power() -> Iterator[Study]:
    for n in (15, 30, 60, 120):
        gap = power.minimum_detectable_gap(n, 0.2) or 1.0
        title = f"{n} pairs, 0.2 discordant, gap {gap:.3f}, the minimum detectable"
        rows = {"power": Row("mid-p McNemar: power", "power", POWER)}
        yield Study(f"power/mcnemar/{n}", title, COUNTED, small.mcnemar_power(n, gap, 0.2), rows)
    for n in (15, 30, 60, 120):
        rows = {"power": Row("mid-p McNemar: power", "power", power.mcnemar_power(n, 0.2, 0.3))}
        title = f"{n} pairs, 0.3 discordant, gap 0.2; nominal is `mcnemar_power`"
        yield Study(f"power/curve/{n}", title, COUNTED, small.mcnemar_power(n, 0.2, 0.3), rows)
    rows = {"power": Row("mid-p McNemar: power", "power", POWER)}
    title = "30 pairs, the minimum detectable gap given the discordance of an earlier sample (truth 0.2)"
    yield Study("power/mcnemar/observed", title, COUNTED, small.mcnemar_power_observed(30, 0.2), rows)
    for n in (5, 11, 30, 100):
        shift = power.minimum_detectable_shift(1.0, n) or 0.0
        rows = {"power": Row("paired t: power", "power", POWER)}
        title = f"{n} pairs, shift {shift:.3f} sd, the minimum detectable"
        yield Study(f"power/t/{n}", title, TESTED, small.t_power(n), rows)
    rows = {"power": Row("paired t: power", "power", POWER, NOTES["spread"])}
    title = "11 pairs, the minimum detectable shift given the sd of an earlier sample"
    yield Study("power/t/observed", title, TESTED, small.t_power(11, spread_known=False), rows)


SECTIONS: dict[str, Section] = {
    "Proportions": _proportions,
    "Means": _means,
    "Clusters": _clusters,
    "Pairs that share a story": stories,
    "Labels of the run": labels_of_the_run,
    "Signal detection": detection,
    "Sparse figures": _sparse,
    "Partitions and averages": _bootstraps,
    "Texts chosen by answers": attacks,
    "Families of tests": _families,
    "Power": _power,
    "Verdicts": release,
    "Verdicts of studies that stop early": sequential,
}
"""The sections of the page, in its order."""


def catalogue() -> list[Study]:
    """List every simulation, in the order of the tables."""
    return [study for section in SECTIONS.values() for study in section()]
