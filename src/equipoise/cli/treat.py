"""`equipoise treat`: what may make a model less biased, tried on every pair of the profile and its mirror."""

from typing import Annotated

import typer

from equipoise.api.running import FIRST, measured
from equipoise.cli import completing
from equipoise.core import params, printing
from equipoise.core.errors import EquipoiseError
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
    own = part(FIRST, "treatments")
    name = model or params.load().model
    build = {**ALONE, "treatments": list(own.TREATMENTS), **({"profile": profile} if profile else {})}
    found = measured(name, FIRST, {"build": build})
    rows = found.defined
    told = own.sentences(rows)
    if not told:
        raise EquipoiseError(f"model {name!r} gives no likelihoods, by which the answers under treatments are read")
    if as_json:
        effects = [row.model_dump() for row in rows.values() if row.family == own.FAMILY]
        printing.print_json({"model": name, "outcomes": told, "effects": effects})
        return
    printing.show(f"Model: {name}, {STUDIES[FIRST].title.lower()}", own.table(rows), "", *told.values(), own.NOTE)
