"""`equipoise treat`: what may make a model less biased, tried on every pair of the profile and its mirror."""

from typing import Annotated, Any

import typer
from rich.table import Table

from equipoise.api.running import FIRST, measured
from equipoise.cli import completing
from equipoise.core import params, printing
from equipoise.figures.study import Rows
from equipoise.pipeline.steps import part
from equipoise.studies.registry import STUDIES

ALONE = {"mirrors": True, "controls": False, "stubs": False, "awareness": False, "rereadings": [], "cues": []}
"""The settings of `build` that ask for treatments, and what they are compared with, alone."""


def treat(
    model: Annotated[
        str | None,
        typer.Argument(
            help="Name of a model in models/.", show_default="that of params.yaml", autocompletion=completing.models
        ),
    ] = None,
    *,
    profile: Annotated[str | None, typer.Option(help="Case profile.", show_default="that of params.yaml")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: the changes by treatment.")] = False,
) -> None:
    """Try every treatment of a model's bias, without DVC, and print whether each helps, harms or is undecided.

    Treatments are blinding, an instruction, criteria in the prompt, reasoning first, and a review.
    """
    own: Any = part(FIRST, "treatments")
    name = params.load().model if model is None else model
    build = {**ALONE, "treatments": list(own.TREATMENTS), **({} if profile is None else {"profile": profile})}
    found = measured(name, FIRST, {"build": build})
    rows = {row.place: row for row in found.effects}
    told = own.sentences(rows)
    if as_json:
        effects = [row.model_dump() for row in rows.values() if row.family == own.FAMILY]
        printing.print_json({"model": name, "outcomes": told, "effects": effects})
        return
    printing.show(f"Model: {name}, {STUDIES[FIRST].title.lower()}", _table(own, rows), "", *told.values(), own.NOTE)


def _table(own: Any, rows: Rows) -> Table:  # noqa: ANN401  (a module)
    """Lay out the treatments that were tried, a line each: the changes, the adjusted p-values and the outcome."""
    columns = ("treatment", "pairs", *own.TITLES.values(), "p helps", "p harms", "outcome")
    made = printing.plain_table("Treatments", columns, gap=2)
    for treatment in own.sentences(rows):
        found = own.of_treatment(rows, treatment)
        claims = {name: found[name] for name in ("helps", "harms")}
        outcome = next((name for name, row in claims.items() if row.estimate), "undecided")
        tests = [printing.cell(10 ** -(row.neg_log10_p_holm or 0.0)) for row in claims.values()]
        changes = [own.change(found[measure]) for measure in own.TITLES]
        made.add_row(treatment, str(found[own.BIAS].n), *changes, *tests, outcome)
    return made
