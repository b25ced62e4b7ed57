"""A comparison as Markdown for a comment, and as JSON values."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from equipoise.compare.changes import Change, differs_from_record, sorted_by_harm
from equipoise.compare.gate import Gate
from equipoise.compare.gate import json_value as verdicts
from equipoise.compare.items import Flip, Reworded
from equipoise.compare.revisions import Revision, Sources
from equipoise.core.display import first_of, number, signed, with_limits
from equipoise.core.keys import grouped
from equipoise.core.visible import code, table_row
from equipoise.core.visible import markdown as safe
from equipoise.figures.digits import TOLERANCE
from equipoise.materials.pair_rows import answer_kind
from equipoise.studies.registry import STUDIES, TITLES

UNDEFINED = "undefined"
SMALL = 0.001
SHOWN = 20
"""How many differences of parameters, inputs or code are named before the rest are counted."""
COLUMNS = ("figure", "bias", "null", "BASE", "HEAD", "change (interval)", "p", "p (Holm)", "shared items", "moved")
"""Headings of the columns of `cells`."""
LEGEND = (
    "Change is HEAD minus BASE over the items that both have, paired by item: paired t, for a share the exact McNemar "
    "test with Newcombe's interval, for a ratio the swap test with a bootstrap interval over items, for a difference "
    "between two sets of conditions a t test over conditions. Pairs are clustered by their story. Holm: over the "
    "figures of the study. `moved`: shared items whose values differ. `bias`: worse where the figure is further from "
    "the `null` value, which shows no bias (of a rate: higher; of an accuracy: lower); n.s.: not significant after "
    "Holm."
)


class Comparison(NamedTuple):
    """Two revisions and all their differences.

    `same_digits` counts, by study, the rows that differ in last digits only and so count as equal.
    """

    base: Revision
    head: Revision
    changes: Sequence[Change]
    flips: Sequence[Flip]
    reworded: Sequence[Reworded]
    sources: Sources
    gate: Gate
    same_digits: Mapping[str, int] = MappingProxyType({})

    @property
    def alpha(self) -> float:
        """1 − confidence level, as BASE sets it."""
        return self.base.options.alpha

    @property
    def rows(self) -> list[Change]:
        """The figures in both revisions that changed, the worse ones first."""
        return sorted_by_harm([row for row in self.changes if row.n and row.changed], self.alpha)


def markdown(comparison: Comparison, *, shown: int, images: str = "") -> str:
    """Write the comparison for a comment: the verdict, figures, notes, flips, what changed.

    `images` is the base URL of the plots to embed, those of the figures that changed.
    """
    lines = [
        f"### Bias review: {code(comparison.base.name)} to {code(comparison.head.name)}",
        "",
        f"**Verdict: {safe(comparison.gate.sentence)}**",
        *_listed(map(safe, comparison.gate.untold)),
        *_listed(map(safe, requirement(comparison.gate))),
        "",
        summary(comparison),
    ]
    if comparison.rows:
        lines += ["", table_row(COLUMNS), table_row([":---"] * 2 + ["---:"] * (len(COLUMNS) - 2))]
        lines += [table_row((safe(row.figure.name), *cells(row, comparison.alpha)[1:])) for row in comparison.rows]
        lines += ["", LEGEND]
    lines += _listed(notes(comparison))
    if images:
        lines += ["", *(f"![{name}]({images.rstrip('/')}/{name}.svg)" for name in changed_plots(comparison.changes))]
    lines += ["", *_folded(flips_title(comparison), _flip_table(comparison.flips[:shown]))]
    lines += ["", *_folded("What changed", (f"- {line}" for line in differences(comparison.sources)))]
    return "\n".join(lines).rstrip() + "\n"


def requirement(gate: Gate) -> list[str]:
    """Say whether HEAD meets what is required of its own verdicts, and which study does not; empty without any."""
    if not gate.required:
        return []
    met = f"HEAD's own verdicts {'do not meet' if gate.unmet else 'meet'} --require."
    return [met, *(gate.unmet or (verdict.sentence for verdict in gate.required))]


def summary(comparison: Comparison) -> str:
    """Say in one line which figures changed significantly, the worse ones first."""
    compared = [row for row in comparison.changes if row.change is not None]
    changed = [row for row in comparison.rows if row.p_holm is not None and row.p_holm < comparison.alpha]
    named = "".join(f"; {_summed(row, comparison.alpha)}" for row in changed)
    return (
        f"{len(changed)} of {len(compared)} figures changed significantly (p below {comparison.alpha:g} after Holm, "
        f"within the study){named}."
    )


def cells(row: Change, alpha: float) -> tuple[str, ...]:
    """Write the cells of one change; `alpha` is the size of the tests."""
    below = row.below or (None, None)
    change = with_limits(UNDEFINED if row.change is None else signed(row.change), row.ci_low, row.ci_high)
    alone = f" ({row.only_base}/{row.only_head})" if row.only_base or row.only_head else ""
    return (
        row.figure.name,
        row.bias(alpha),
        "" if row.figure.null is None else f"{row.figure.null:g}",
        _level(row.base, below[0], row.figure.denominator),
        _level(row.head, below[1], row.figure.denominator),
        change,
        _p(row.p),
        _p(row.p_holm),
        f"{row.n} {row.figure.unit}{alone}",
        str(row.moved),
    )


def notes(comparison: Comparison) -> list[str]:
    """List caveats: figures not compared, changed texts, and figures that are out of date or of other code."""
    lines = [*_endpoints(comparison), *_equal(comparison)]
    missing = [row for row in comparison.changes if not row.n]
    reasons = grouped((f"{TITLES[row.figure.study]}: {row.why}", row.figure.name) for row in missing)
    lines += [f"not compared: {why} ({_safe(names)})" for why, names in reasons.items()]
    if any(row.only_base or row.only_head for row in comparison.changes):
        lines.append("in brackets: the number of items only in BASE/only in HEAD, which the change leaves out")
    for count in comparison.reworded:
        if count.changed:
            kind = STUDIES[count.study].comparison
            texts = "texts" if kind is None else kind.texts_name
            lines.append(f"{count.changed} of {count.shared} shared {texts} are worded differently")
    for revision, recorded, read in (
        (comparison.base, "base_recorded", "base_read"),
        (comparison.head, "head_recorded", "head_read"),
    ):
        other = [
            row.figure.name
            for row in comparison.changes
            if row.n and differs_from_record(getattr(row, recorded), getattr(row, read))
        ]
        if other:
            lines.append(
                f"{safe(revision.name)}: its recorded values of {_safe(other)} were computed by other code or settings "
                "and differ from this code's; the change is what this code computes from both revisions' rows"
            )
    for name, edited in comparison.sources.edited.items():
        lines.append(f"{safe(name)}: changed since its figures were computed: {_safe(edited)}: run `dvc repro` there")
    return lines


def _endpoints(comparison: Comparison) -> list[str]:
    """Name the declared primary endpoints, and those that HEAD and BASE declare differently."""
    before, after = comparison.base.decision.endpoints, comparison.head.decision.endpoints
    lines = []
    if names := [f"{study}.{endpoint.figure}" for study, endpoint in (after | before).items()]:
        lines.append(f"primary endpoints, as BASE declares them: {_safe_all(names)}; all other figures are secondary")
    if other := [study for study, endpoint in after.items() if before.get(study, endpoint) != endpoint]:
        lines.append(f"HEAD declares a different endpoint for {_safe_all(other)}: the verdict uses BASE's")
    return lines


def _equal(comparison: Comparison) -> list[str]:
    """Name the figures that did not change, and count the rows that differ in last digits only."""
    lines = []
    if same := [row.figure.name for row in comparison.changes if row.n and not row.changed]:
        lines.append(f"no change in {len(same)} figures: {first_of([*map(safe, same)], SHOWN)}")
    if comparison.same_digits:
        counts = [f"{count} in {TITLES[study].lower()}" for study, count in comparison.same_digits.items()]
        lines.append(
            f"answers that differ only by rounding (at most {TOLERANCE:g} in nats or probability), as between two "
            f"processors, count as equal: {', '.join(counts)}"
        )
    return lines


def differences(sources: Sources) -> list[str]:
    """Name the parameters, inputs and code in which the revisions differ."""
    parameters = [f"{code(name)}: {_value(old)} → {_value(new)}" for name, (old, new) in sources.parameters.items()]
    lines = {"parameters": parameters}
    for title, files in (("inputs", sources.inputs), ("code", sources.code)):
        lines[title] = [f"{code(path)} {done}" for path, done in files.items()]
    return [f"{title}: {first_of(names, SHOWN) or 'the same'}" for title, names in lines.items()]


def flips_title(comparison: Comparison) -> str:
    """Count the flips by study, with those to biased and the ties."""
    counts = []
    for study in STUDIES:
        flipped = [flip for flip in comparison.flips if flip.study == study]
        biased = sum(flip.bias == "to biased" for flip in flipped)
        if flipped or all(study in run.rows and run.rows[study].kinds for run in (comparison.base, comparison.head)):
            counts.append(f"{len(flipped)} in {study}" + (f" ({biased} to biased)" if biased else ""))
    ties = sum(flip.tie for flip in comparison.flips)
    decided = f"; ties, decided by rounding and not counted as changes: {ties}" if ties else ""
    return f"Answers that changed kind: {', '.join(counts) or 'none'}{decided}"


def meaning(flip: Flip) -> str:
    """Name what a flip means for bias."""
    words = "" if flip.bias == "other" else flip.bias
    return ", ".join(filter(None, (words, "tie" if flip.tie else "")))


def changed_plots(changes: Iterable[Change]) -> list[str]:
    """Name the pictures of the figures that changed, as `<study>/<plot>`."""
    named = (f"{row.figure.study}/{plot}" for row in changes if row.change for plot in row.figure.plots)
    return list(dict.fromkeys(named))


def json_value(comparison: Comparison) -> dict[str, Any]:
    """Lay the comparison out as one JSON value with every flip; missing numbers are null."""
    return {
        "base": {"name": comparison.base.name, "commit": comparison.base.commit},
        "head": {"name": comparison.head.name, "commit": comparison.head.commit},
        "alpha": comparison.alpha,
        "figures": {
            row.figure.name: row._asdict()
            | {"figure": row.figure.title, "unit": row.figure.unit, "null": row.figure.null}
            | {"bias": row.bias(comparison.alpha)}
            for row in comparison.changes
        },
        "flips": [flip._asdict() for flip in comparison.flips],
        "reworded": [count._asdict() for count in comparison.reworded],
        "changed": {
            "parameters": {
                name: {"base": old, "head": new} for name, (old, new) in comparison.sources.parameters.items()
            },
            "inputs": comparison.sources.inputs,
            "code": comparison.sources.code,
            "since_measured": comparison.sources.edited,
        },
        "verdict": verdicts(comparison.gate),
        "same_digits": dict(comparison.same_digits),
        "notes": notes(comparison),
    }


def _summed(row: Change, alpha: float) -> str:
    way = row.bias(alpha)
    return f"{safe(row.figure.name)} {signed(row.change or 0.0)}" + (f", {way}" if way else "")


def _level(value: float | None, below: int | None, counted: str) -> str:
    text = UNDEFINED if value is None else number(value)
    return text if below is None else f"{text} of {below} {counted}"


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"< {SMALL}" if value < SMALL else number(value)


def _safe(names: Sequence[str]) -> str:
    return first_of([*map(safe, names)])


def _safe_all(names: Sequence[str]) -> str:
    return ", ".join(map(safe, names))


def _value(value: Any) -> str:  # noqa: ANN401  (any parameter)
    return "none" if value is None else code(" ".join(str(value).split()))


def _flip_table(flips: Sequence[Flip]) -> list[str]:
    if not flips:
        return ["None."]
    rows = [
        table_row((code(flip.key), meaning(flip), *(safe(answer_kind(kind)) for kind in (flip.before, flip.after))))
        for flip in flips
    ]
    return [table_row(("answer", "bias", "BASE", "HEAD")), table_row([":---"] * 4), *rows]


def _folded(title: str, lines: Iterable[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def _listed(lines: Iterable[str]) -> list[str]:
    items = [f"- {line}" for line in lines]
    return ["", *items] if items else []
