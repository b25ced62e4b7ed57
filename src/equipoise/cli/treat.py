"""`equipoise treat`: what may make a model less biased, tried on every pair of the profile and its mirror."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import typer
from rich.table import Table

from equipoise.api.running import FIRST, measured
from equipoise.cli import completing
from equipoise.core import params, printing
from equipoise.figures.effects import Effect
from equipoise.figures.result import UNDECIDED
from equipoise.pipeline.steps import part

CLAIMS = ("helps", "harms")
OPEN = (
    "Undecided: neither help nor harm is shown; more pairs (--profile verdict) would decide it if there is a bias to "
    "treat, and --verbose says what is not shown."
)
Tried: TypeAlias = Mapping[str, Mapping[str, Effect]]
"""The effects of each treatment that was tried, by measure."""
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
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print also a sentence and the p-values of each treatment.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: the changes by treatment.")] = False,
) -> None:
    """Try every treatment of a model's bias, without DVC, and print whether each helps, harms or is undecided.

    Treatments are blinding, an instruction, criteria in the prompt, reasoning first, and a review.
    """
    own: Any = part(FIRST, "treatments")
    name = params.load().model if model is None else model
    build = {**ALONE, "treatments": list(own.TREATMENTS), **({} if profile is None else {"profile": profile})}
    result = measured(name, FIRST, {"build": build})
    rows = {row.place: row for row in result.effects}
    told = own.sentences(rows)
    if as_json:
        effects = [row.model_dump() for row in rows.values() if row.family == own.FAMILY]
        printing.print_json({"model": name, "outcomes": told, "effects": effects})
        return
    tried = {treatment: own.of_treatment(rows, treatment) for treatment in told}
    outcomes = {treatment: _outcome(effects) for treatment, effects in tried.items()}
    notes = [own.NOTE, *([OPEN] if UNDECIDED in outcomes.values() and not verbose else [])]
    printing.show(_table(own, name, tried, outcomes), "", *notes)
    if verbose:
        printing.show("", *told.values(), "", _tests(tried))


def _outcome(effects: Mapping[str, Effect]) -> str:
    return next((name for name in CLAIMS if effects[name].estimate), UNDECIDED)


def _table(own: Any, model: str, tried: Tried, outcomes: Mapping[str, str]) -> Table:  # noqa: ANN401  (a module)
    """Lay out the treatments that were tried, a line each: the outcome, and the changes in whole patients."""
    counts = {effects[own.BIAS].n for effects in tried.values()}
    pairs = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
    title = f"Treatments of {model}, {pairs} pairs"
    made = printing.plain_table(title, ("treatment", "outcome", *own.TITLES.values()), left=2)
    for treatment, effects in tried.items():
        changes = [own.change(effects[measure], places=0) for measure in own.TITLES]
        made.add_row(treatment, outcomes[treatment], *changes)
    return made


def _tests(tried: Tried) -> Table:
    """Lay out the adjusted p-values of both claims about each treatment."""
    made = printing.plain_table("p-values, Holm-adjusted", ("treatment", *CLAIMS), gap=2)
    for treatment, effects in tried.items():
        made.add_row(treatment, *(printing.cell(10 ** -(effects[name].neg_log10_p_holm or 0.0)) for name in CLAIMS))
    return made
