"""The generated tables of docs/findings.md: what each model with a recorded result was found to do, study by study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readme_blocks import ROOT, estimate

from equipoise.compare.record import besides, read_all
from equipoise.studies.registry import TITLES

if TYPE_CHECKING:
    from collections.abc import Mapping

VIGNETTES = {
    "documented error, after reasoning": "error_difference",
    "without reasoning": "unreasoned_error_difference",
    "as written": "written_error_difference",
    "net shift (nats)": "stereotype_shift_net",
    "without reasoning (nats)": "unreasoned_shift_net",
    "base rates beyond epidemiology (nats)": "prior_excess",
}
"""Figures of the vignettes by the heads of their columns."""


def verdicts() -> str:
    """Lay out the verdict and the primary figure of every study on every model with a recorded result."""
    rows = besides(ROOT)
    studies = [study for study in TITLES if any(study in row.studies for row in rows)]
    lines = [f"| model | {' | '.join(TITLES[study] for study in studies)} |", f"|---|{'---|' * len(studies)}"]
    for row in rows:
        cells = [_verdict(row.studies[study]) if study in row.studies else "not measured" for study in studies]
        lines.append(f"| {row.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _verdict(found: tuple[str, Any]) -> str:
    word, cell = found
    interval = {name: getattr(cell, name) for name in ("estimate", "ci_low", "ci_high")}
    return f"**{word}** {estimate(interval, 2)}"


def vignettes() -> str:
    """Lay out the figures of the vignettes, a row a model."""
    titles = {row.model: row.title for row in besides(ROOT)}
    metrics = {one.record.model.name: one.record.metrics["vignettes"] for one in read_all(ROOT)}
    lines = [f"| model | {' | '.join(VIGNETTES)} |", f"|---|{'---:|' * len(VIGNETTES)}"]
    lines += [
        f"| {title} | {' | '.join(_figure(metrics[name], key) for key in VIGNETTES.values())} |"
        for name, title in titles.items()
    ]
    return "\n".join(lines)


def _figure(metrics: Mapping[str, Any], name: str) -> str:
    return estimate(metrics.get(name, {}), 2)


def reasons() -> str:
    """List why each verdict on a real model is undecided."""
    lines = []
    for one in read_all(ROOT):
        for study, title in TITLES.items():
            verdict = one.record.metrics.get(study, {}).get("verdict", {})
            if one.record.model.backend != "phantom" and "because" in verdict:
                lines.append(f"- {one.record.model.title}, {title.lower()}: {verdict['because']}.")
    return "\n".join(lines)
