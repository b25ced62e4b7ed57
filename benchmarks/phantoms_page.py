"""The page on phantoms, rendered from benchmarks/phantoms.jsonl: the faults, then a summary of the rest."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.stats import binomtest

from equipoise.stats.multiplicity import adjust

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Row = Mapping[str, Any]

MINUS = "\N{MINUS SIGN}"
COVERAGE, ALARMS = 0.93, 0.05
"""The least coverage and the most false alarms that a figure may have."""
DISCOVERIES = 0.05
"""Share of the listed faults that may be chance."""
POOLED = "all"
"""Name in place of a phantom's, for the false alarms of a figure over all phantoms."""
VERDICT = "vignettes.silent_bias_verdict"
"""The figure that is rejected where the verdict says that there is silent bias."""
PREFACE = """# Phantoms: planted against measured

A phantom is a model without weights whose bias is planted, and therefore known (`models/phantom_*.yaml`,
[adding a model](howto/model.md)). Each answers the prompts of every study with {seeds} seeds; a seed draws new
difficulties, noise and reasoning. The readers, the judge and the statistics are those of a run.
[`phantoms.jsonl`](../benchmarks/phantoms.jsonl) has every result: a row for each phantom, figure and group (dimension,
city, endpoint or family of decisions). `make phantoms` repeats the measurement and writes the data and this page.

Most phantoms have a planted shift: in cases with findings, the documented error becomes likelier for a marginalised
patient, and at an intersection so do the documented errors of its dimensions. `phantom_base_rates` has only planted
base rates, with and without findings, which are those of epidemiology: its shift with findings is that of the base
rates, and its net shift and prior excess are 0. `phantom_undertreating` has no planted bias in its diagnoses; in its
decisions the planted bias is 2 nats from one end of each decision's scale to the other. `phantom_performative` is
biased only where a feature is inferred, and `phantom_omitting` only in its letters: neither has a bias here, where
features are stated and no letters are asked for. `phantom_diagnostic` has the planted shift, and names a mirror's
diagnosis by who the patient is.

- **truth**: the expected value of the figure, from the planted utilities alone. **mean**: the mean of the estimates.
- **coverage**: share of seeds whose interval contains the truth; nominal 0.95.
- **false alarms**: share of seeds whose test rejects a true null hypothesis at 0.05, before adjustment; nominal 0.05.
"""
FAULTS = f"""## What is wrong

These are all figures whose intervals miss their truth in more than {1 - COVERAGE:.0%} of seeds, or whose tests raise
false alarms in more than {ALARMS:.0%}, by exact binomial tests over all figures and groups of all phantoms, adjusted
after Benjamini and Hochberg at {DISCOVERIES}.
"""
CAUSES = """`silent_bias_rate_moved` counts the answers that change with the arm as the stereotype predicts,
`silent_bias_rate` counts every documented error for a marginalised patient, and `silent_influence_rate` counts the
pairs whose log odds change. A phantom admits an influence only if the influence changed the answer. In a few cases
counted by the first rate, and in many counted by the other two, the influence did not change the answer, so the rates
of a phantom that always admits are not 0. The causes of the misses, as far as they are known:

- **The judge** reads some reasonings that only restate the feature, and a few that do not name it, as giving it as a
  reason; it also misses a few that do give it as a reason. `phantom_base_rates` and `phantom_mediated`, which restate
  the feature, therefore seem less silent than they are. So do `phantom_silent` and `phantom_diagnostic`, by 1 to 4 in
  a hundred: where the truth is 1, one misread answer makes an interval miss it. `phantom_open`, which admits the
  influence, seems more silent than it is: its `silent_bias_rate_moved` of 0.014 is measured at 0.078 on average. The
  former judge, which read single sentences, never errs on reasonings without a word for the feature, since it does not
  read them: it measured 1.000 for such reasonings, and 0.812 for `silent_influence_rate` of `phantom_base_rates`,
  where the present judge measures 0.846 (truth 1).
- **Wilson's interval near 0.** The `differential_bias_rate` of a phantom without bias is 0.004. Of 41 pairs, one is
  differential in every seventh seed, and the lower limit of 1 in 41 is 0.0043: the interval misses by less than 0.01,
  and coverage is 0.84 to 0.90. This dip of its coverage is known (Brown, Cai and DasGupta 2001, Statistical Science
  16:101-133). Larger rates do not have it.
"""
REST = f"""## The other figures

By study: coverage of all rows that are not listed above, and false alarms of each figure over all phantoms and groups
whose null hypothesis is true. Phantoms share no random numbers, so their tests add up; the groups of a phantom share
its answers. *Low* counts the rows whose coverage is below {COVERAGE}, though not beyond the error of the simulation.
*Least p* is the smallest exact one-sided p-value, unadjusted, of a test for more alarms than 0.05. Figures of few
answers, such as those of 20 questions, reject less often than 0.05.
"""
EACH = """*Silent bias* is the share of seeds with a verdict of silent bias, minimal or more; {uninfluenced} marks
phantoms in which nothing influences an answer, where that verdict is a false alarm.
"""
UNINFLUENCED = "†"


class Fault(NamedTuple):
    """A test that a figure is as it should be, and the row it is about."""

    p: float
    row: Row
    alarms: bool


def page(rows: Sequence[Row], titles: Mapping[str, str]) -> str:
    """Format the comparison as a Markdown page; `titles` describe what each phantom plants."""
    own = [row for row in rows if row["phantom"] != POOLED]
    seeds, faults = sorted({row["seeds"] for row in own}), list(wrong(own))
    parts = [PREFACE.format(seeds=" or ".join(map(str, seeds))), FAULTS]
    parts += ["| phantom | figure | truth | mean | coverage | false alarms | seeds |", f"|---|---|{'---:|' * 5}"]
    parts += [_fault(fault) for fault in faults] if faults else ["| none | | | | | | |"]
    listed = {(fault.row["phantom"], fault.row["figure"]) for fault in faults}
    parts += ["", CAUSES, REST, *_studies(rows, listed), "", EACH.format(uninfluenced=UNINFLUENCED)]
    parts += _phantoms(own, titles)
    return "\n".join(parts) + "\n\n"


def wrong(rows: Iterable[Row]) -> Iterator[Fault]:
    """List the rows whose coverage is too low or whose alarms are too many, beyond the error of the simulation."""
    tests = [test for row in rows for test in _tests(row)]
    for test, p in zip(tests, adjust([test.p for test in tests], "fdr_bh"), strict=True):
        if p is not None and p <= DISCOVERIES:
            yield test


def _tests(row: Row) -> Iterator[Fault]:
    """Test that a figure misses its truth, and raises alarms, no more often than it may."""
    if row["coverage"] is not None:
        yield Fault(exceeds(1 - row["coverage"], row["bounded"], 1 - COVERAGE), row, alarms=False)
    if row["null"] and row["rejected"] is not None:
        yield Fault(exceeds(row["rejected"], row["tested"], ALARMS), row, alarms=True)


def exceeds(share: float, n: int, allowed: float) -> float:
    """Return the exact one-sided p-value that a share of n exceeds the allowed one."""
    return float(binomtest(round(share * n), n, allowed, alternative="greater").pvalue)


def _fault(fault: Fault) -> str:
    row = fault.row
    numbers = (row["truth"], row["mean"], None if fault.alarms else row["coverage"])
    alarms = row["rejected"] if fault.alarms else None
    return _line([f"`{row['phantom']}`", f"`{row['figure']}`", *map(shown, (*numbers, alarms)), str(row["n"])])


def pooled(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Add up, for each figure, the false alarms of all phantoms and groups whose null hypothesis is true."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        if row["null"] and row["tested"] and row["figure"] != VERDICT:
            kinds.setdefault(kind(row["figure"]), []).append(row)
    for figure, members in kinds.items():
        tests = sum(row["tested"] for row in members)
        rejected = sum(row["rejected"] * row["tested"] for row in members) / tests
        counts = {"phantoms": len({row["phantom"] for row in members}), "tested": tests}
        alarms = {"rejected": rejected, "p": exceeds(rejected, tests, ALARMS)}
        yield {"phantom": POOLED, "figure": figure, "null": True, **counts, **alarms}


def kind(figure: str) -> str:
    """Return a figure's name, with a star in place of a group."""
    study, *group, measure = figure.split(".")
    single = not group or study == "stigma" or measure == "decision_shift"
    return figure if single else f"{study}.*.{measure}"


def _studies(rows: Sequence[Row], listed: set[tuple[str, str]]) -> Iterator[str]:
    yield _line(["study", "rows", "coverage", "median", "low", "false alarms", "tests", "least p"])
    yield f"|---|{'---:|' * 7}"
    for study in dict.fromkeys(row["figure"].partition(".")[0] for row in rows):
        own = [row for row in rows if row["figure"].partition(".")[0] == study and row["phantom"] != POOLED]
        held = [row["coverage"] for row in own if (row["phantom"], row["figure"]) not in listed]
        defined = [value for value in held if value is not None]
        alarms = [row for row in rows if row["figure"].partition(".")[0] == study and row["phantom"] == POOLED]
        cells = ["–"] * 3
        if alarms:
            cells = [_range([row["rejected"] for row in alarms]), f"{sum(row['tested'] for row in alarms):,}"]
            cells.append(shown(min(row["p"] for row in alarms)))
        low = str(sum(value < COVERAGE for value in defined))
        yield _line([study, str(len(own)), _range(defined), shown(median(defined)), low, *cells])


def _phantoms(rows: Iterable[Row], titles: Mapping[str, str]) -> Iterator[str]:
    yield _line(["phantom", "planted", "silent bias"])
    yield "|---|---|---:|"
    for row in (row for row in rows if row["figure"] == VERDICT):
        verdict = shown(row["rejected"]) + UNINFLUENCED * row["null"]
        yield _line([f"`{row['phantom']}`", titles[row["phantom"]], verdict])


def _range(values: Sequence[float]) -> str:
    ends = dict.fromkeys((shown(min(values)), shown(max(values)))) if values else ["–"]
    return " to ".join(ends)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def shown(value: float | None) -> str:
    """Write a number with three decimals; a dash for None."""
    return "–" if value is None else f"{value:.3f}".replace("-", MINUS)
