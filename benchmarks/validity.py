"""Validity of the statistics: planted effects, and whether intervals, tests and power keep what they promise.

    PYTHONPATH=src python benchmarks/validity.py

writes benchmarks/validity.json, simulation by simulation, and docs/validity.md. `--render` writes the page alone, from
the figures that are there. Each simulation has its own random numbers, named after it: one more changes no other.
A few minutes on one idle core.
"""

from __future__ import annotations

import gc
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

sys.path.insert(0, str(Path(__file__).parent))
from validity_catalogue import SEED, catalogue
from validity_verdict import finding

from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_text, write_json, write_text
from equipoise.stats.bootstrap import generator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from validity_catalogue import Row, Study

ROOT = Path(__file__).parents[1]
FIGURES, PAGE = ROOT / "benchmarks/validity.json", ROOT / "docs/validity.md"
MINUS = "\N{MINUS SIGN}"
PREFACE = """# Do the statistics keep their promises?

A simulation study: data are drawn with a known truth, the library's own functions are run on them, and what comes out
is held against what was promised. `make validity` repeats it; the seed is fixed. This page is generated.

**What is simulated.** Rates and pairs of yes-or-no answers; readings by a reader who errs, with labelled samples that
measure the error; differences that are normal, heavy-tailed (t with 3 degrees of freedom) or skewed (exponential), of
mean 0 and spread 1; sentences about conditions that share what is true of their condition (half of the variance);
vignette pairs with planted rates of differential bias; questions whose answers about two groups keep the one at
baseline at planted rates; exams with planted confusions; families of tests. Draws are independent unless a row says
otherwise. Some settings break an assumption on purpose, to show by how much a figure then misses.

**How to read it.** `nominal` is the promise: 0.95 for the coverage of an interval, 0.05 for the type I error of a test
(the share of true null hypotheses rejected at 0.05), for the family-wise error rate under Holm and for the false
discovery rate under Benjamini and Hochberg, the stated power for a test of a real effect, and the closed form for mean
and standard deviation over partitions. `measured` is the share of draws. `band` holds 99.9 % of what a figure exactly
as promised would measure in so many draws (binomial; for moments normal), so that among a hundred such rows one in ten
studies has a row outside by chance.

- **within**: no departure that so many draws can show.
- **conservative**: outside the band on the safe side: more coverage or power, or fewer errors, than promised.
- **deviates**: outside on the other side, with measured less nominal in brackets. Every such row is explained below.

`without` is the share of draws for which the library gives no figure; they are left out of `measured`. Bootstraps take
1,000 resamples here, while `params.yaml` asks for 10,000. A setting stands for itself: what holds for 30 pairs with a
fifth of them discordant need not hold for 12.
"""


def main(out: Path = FIGURES, page: Path = PAGE, only: str = "", render: bool = False) -> None:  # noqa: FBT001, FBT002  (an option)
    """Simulate everything, or what begins with ONLY, and write figures and page; with --render the page alone."""
    studies = catalogue()
    figures: dict[str, Any] = json.loads(read_text(out)) if (render or only) and out.exists() else {}
    for study in studies:
        if not render and study.key.startswith(only):
            # statsmodels collects garbage at every call of multipletests: what is loaded need not be gone through.
            study.run(generator(SEED, study.key), 1)
            gc.freeze()
            figures[study.key] = simulated(study, study.draws)
            write_json(out, {one.key: figures[one.key] for one in studies if one.key in figures})
            typer.echo(f"{study.key}: {[row['verdict'] for row in figures[study.key].values()]}")
    write_text(page, page_of(json.loads(read_text(out)), studies))


def simulated(study: Study, draws: int) -> dict[str, Any]:
    """Run one simulation and judge its rows."""
    found = study.run(generator(SEED, study.key), draws)
    return {name: asdict(finding(row.kind, row.nominal, found[name])) for name, row in study.rows.items()}


def page_of(figures: Mapping[str, Any], studies: Sequence[Study]) -> str:
    """Write the page; an EquipoiseError where a figure is missing, or where one deviates and nothing says why."""
    lines = ["| method | setting | nominal | measured | band | draws | without | verdict |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---|")
    reasons: dict[str, list[str]] = {}
    counts = dict.fromkeys(("within", "conservative", "deviates"), 0)
    for study in studies:
        for name, row in study.rows.items():
            place = f"{study.key}/{name}"
            if name not in figures.get(study.key, {}):
                message = f"benchmarks/validity.json: no figure {place}: simulate it with --only {study.key}"
                raise EquipoiseError(message)
            found = figures[study.key][name]
            lines.append(_line(study, row, found))
            if found["verdict"] is not None:
                counts[found["verdict"]] += 1
            if found["verdict"] == "deviates":
                if not row.note:
                    message = f"{place} deviates, and benchmarks/validity_catalogue.py does not say why: give it a note"
                    raise EquipoiseError(message)
                reasons.setdefault(row.note, []).append(f"{row.method}, {study.setting} ({_size(found)})")
    summary = f"{sum(counts.values())} rows: {', '.join(f'{n} {name}' for name, n in counts.items())}."
    explained = [f"- {'; '.join(rows)}. {note}" for note, rows in reasons.items()] or ["None."]
    parts = [PREFACE, "## Figures", "", summary, "", *lines, "", "## What deviates, and why", "", *explained]
    return "\n".join(parts) + "\n"


def _line(study: Study, row: Row, found: Mapping[str, Any]) -> str:
    verdict, measured, band = "no figure", "", ""
    if found["measured"] is not None:
        measured = _number(found["measured"])
        band = f"{_number(found['low'])} to {_number(found['high'])}"
        verdict = found["verdict"] + (f" ({_size(found)})" if found["verdict"] == "deviates" else "")
    without = _number(found["undefined"]) if found["undefined"] else ""
    cells = (row.method, study.setting, _number(found["nominal"]), measured, band, f"{found['draws']:,}", without)
    return f"| {' | '.join(cells)} | {verdict} |"


def _size(found: Mapping[str, Any]) -> str:
    return f"{found['measured'] - found['nominal']:+.3f}".replace("-", MINUS)


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", MINUS)


if __name__ == "__main__":
    stage.run(main)
