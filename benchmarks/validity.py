"""Validity of the statistics: simulations of known effects to check coverage, type I error and power.

    PYTHONPATH=src python benchmarks/validity.py

writes benchmarks/validity.json, simulation by simulation, and docs/validity.md. `--render` only writes the page, from
existing figures. Each simulation has a random stream named after it: adding one does not change the others.
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
from validity_catalogue import SECTIONS, SEED, catalogue
from validity_verdict import finding

from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, write_json, write_text
from equipoise.stats.bootstrap import generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from validity_section import Row, Section, Study

ROOT = Path(__file__).parents[1]
FIGURES, PAGE = ROOT / "benchmarks/validity.json", ROOT / "docs/validity.md"
MINUS = "\N{MINUS SIGN}"
HEAD = (
    "| method | setting | nominal | measured | band | draws | without | verdict |",
    "|---|---|---:|---:|---:|---:|---:|---|",
)
PREFACE = """# Validity of the statistics

A simulation study: data are simulated with known parameters, the library's own functions are applied to them, and the
results are compared with their nominal properties. `make validity` repeats it; the seed is fixed. This page is
generated.

**Simulations.** Binary rates and pairs; classifications by an imperfect classifier, with labelled samples that
estimate its error rates; differences that are normal, heavy-tailed (t with 3 degrees of freedom) or skewed
(exponential), with mean 0 and standard deviation 1; sentences clustered by condition (half of the variance);
vignette pairs with given rates of differential bias, or of hits and false alarms; questions whose answers about two
groups equal the answer at baseline with given probabilities; exams with given confusion rates; families of tests;
runs read by a judge whose errors differ between the arms and from its card's, with labels of the run itself.
Observations are independent unless a row says otherwise. Some settings violate an assumption on purpose, to show the
size of the resulting error.

**Columns.** `nominal` is 0.95 for the coverage of an interval, 0.05 for the type I error of a test (the proportion of
true null hypotheses rejected at 0.05), for the family-wise error rate under Holm and for the false discovery rate
under Benjamini and Hochberg, the stated power for a test of a real effect, the closed form for mean and standard
deviation over partitions, 0.6 for the mean share of the prompts that a study needs which stops early, and 1 for the
mean width of an interval as a share of another's. `measured` is the proportion of draws, or that mean. `band` contains
the measured value with probability 99.9 % if the true value is nominal (binomial; normal for moments), so that with a
hundred such rows one study in ten has a row outside by chance.

- **within**: no deviation detectable with this number of draws.
- **conservative**: outside the band on the safe side: more coverage or power, fewer errors or a lower cost than
  nominal.
- **deviates**: outside on the other side, with measured − nominal in brackets. Every such row is explained below.

`without` is the proportion of draws for which the figure is undefined; they are excluded from `measured`. Bootstraps
use 1,000 resamples here, and 10,000 in `params.yaml`. Results apply to their setting only: what holds for 30 pairs of
which a fifth are discordant need not hold for 12.
"""


def main(out: Path = FIGURES, page: Path = PAGE, only: str = "", render: bool = False) -> None:  # noqa: FBT001, FBT002  (an option)
    """Run all simulations, or those whose key begins with ONLY, and write figures and page; --render: only the page."""
    studies = catalogue()
    figures: dict[str, Any] = json.loads(read_text(out)) if (render or only) and out.exists() else {}
    for study in studies:
        if not render and study.key.startswith(only):
            # statsmodels runs the garbage collector on every call of multipletests: exclude the objects loaded so far.
            study.run(generator(SEED, study.key), 1)
            gc.freeze()
            figures[study.key] = simulated(study, study.draws)
            write_json(out, {one.key: figures[one.key] for one in studies if one.key in figures})
            typer.echo(f"{study.key}: {[row['verdict'] for row in figures[study.key].values()]}")
    write_text(page, page_of(json.loads(read_text(out)), SECTIONS))


def simulated(study: Study, draws: int) -> dict[str, Any]:
    """Run one simulation and judge its rows."""
    found = study.run(generator(SEED, study.key), draws)
    return {name: asdict(finding(row.kind, row.nominal, found[name])) for name, row in study.rows.items()}


def page_of(figures: Mapping[str, Any], sections: Mapping[str, Section]) -> str:
    """Write the page, a table a section; a missing figure, or an unexplained deviation, raises an EquipoiseError."""
    tables: list[str] = []
    reasons: dict[str, list[str]] = {}
    counts = dict.fromkeys(("within", "conservative", "deviates"), 0)
    for title, section in sections.items():
        tables += [f"### {title}", "", *HEAD]
        for study in section():
            for name, row in study.rows.items():
                found = _found(figures, study.key, name)
                tables.append(_line(study, row, found))
                if found["verdict"] is not None:
                    counts[found["verdict"]] += 1
                if found["verdict"] == "deviates":
                    if not row.note:
                        message = f"{study.key}/{name} deviates without an explanation: add a note to its row"
                        raise EquipoiseError(message)
                    reasons.setdefault(row.note, []).append(f"{row.method}, {study.setting} ({_size(found)})")
        tables.append("")
    summary = f"{sum(counts.values())} rows: {', '.join(f'{n} {name}' for name, n in counts.items())}."
    explained = [f"- {'; '.join(rows)}. {note}" for note, rows in reasons.items()] or ["None."]
    parts = [PREFACE, "## Figures", "", summary, "", *tables, "## What deviates, and why", "", *explained]
    return "\n".join(parts) + "\n"


def _found(figures: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    if name not in figures.get(key, {}):
        message = f"benchmarks/validity.json: missing figure {key}/{name}: simulate it with --only {key}"
        raise EquipoiseError(message)
    found: dict[str, Any] = figures[key][name]
    return found


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
