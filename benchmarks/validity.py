"""Validity of the statistics: simulations of known effects to check coverage, type I error and power.

    PYTHONPATH=src python benchmarks/validity.py

writes benchmarks/validity.jsonl, one row per figure, and docs/validity.md, which summarises the rows and lists every
row that deviates. `--only KEY` simulates some studies anew; `--render` simulates nothing and writes both files from the
measured values. Each simulation has a random stream named after it: adding one does not change the others. A few
minutes on one idle core.
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
from validity_catalogue import SECTIONS, SEED
from validity_page import page_of
from validity_verdict import finding

from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import dumps, read_text, write_text
from equipoise.stats.bootstrap import generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from validity_section import Study

ROOT = Path(__file__).parents[1]
FIGURES, PAGE = ROOT / "benchmarks/validity.jsonl", ROOT / "docs/validity.md"
MEASURED = ("nominal", "measured", "low", "high", "draws", "undefined", "verdict")


def main(out: Path = FIGURES, page: Path = PAGE, only: str = "", render: bool = False) -> None:  # noqa: FBT001, FBT002  (an option)
    """Run all simulations, or those whose key begins with ONLY, and write figures and page; --render: run none."""
    previous = read_rows(out) if (render or only) and out.exists() else []
    figures = {(row["key"], row["figure"]): {name: row[name] for name in MEASURED} for row in previous}
    for study in (study for section in SECTIONS.values() for study in section()):
        if not render and study.key.startswith(only):
            # statsmodels runs the garbage collector on every call of multipletests: exclude the objects loaded so far.
            study.run(generator(SEED, study.key), 1)
            gc.freeze()
            rows_found = simulated(study, study.draws)
            figures |= {(study.key, name): values for name, values in rows_found.items()}
            write_rows(out, rows_of(figures))
            typer.echo(f"{study.key}: {[values['verdict'] for values in rows_found.values()]}")
    rows = rows_of(figures, complete=True)
    write_rows(out, rows)
    write_text(page, page_of(read_rows(out)))


def simulated(study: Study, draws: int) -> dict[str, Any]:
    """Run one simulation and judge its rows."""
    outcomes = study.run(generator(SEED, study.key), draws)
    return {name: asdict(finding(row.kind, row.nominal, outcomes[name])) for name, row in study.rows.items()}


def rows_of(figures: Mapping[tuple[str, str], Mapping[str, Any]], *, complete: bool = False) -> list[dict[str, Any]]:
    """Describe the measured values in the words of the catalogue, in its order; a missing one may be an error."""
    rows = []
    for title, section in SECTIONS.items():
        for study in section():
            for name, row in study.rows.items():
                if (study.key, name) in figures:
                    values = figures[study.key, name]
                    words = {"section": title, "method": row.method, "setting": study.setting, "kind": row.kind}
                    note = row.note if values["verdict"] == "deviates" else ""
                    rows.append({"key": study.key, "figure": name, **words, **values, "note": note})
                elif complete:
                    message = f"{FIGURES}: missing figure {study.key}/{name}: simulate it with --only {study.key}"
                    raise EquipoiseError(message)
    return rows


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a JSONL file."""
    return [json.loads(line) for line in read_text(path).splitlines()]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as canonical JSONL, in the order given."""
    write_text(path, "".join(f"{dumps(row)}\n" for row in rows))


if __name__ == "__main__":
    stage.run(main)
