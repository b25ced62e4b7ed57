"""`equipoise run`: a registered model is asked a few cases of a study, without DVC; only the answers are kept."""

from typing import Annotated

import typer

from equipoise.api.running import FIRST, LIMIT
from equipoise.api.running import run as ask
from equipoise.cli import completing
from equipoise.core import params, printing


def run(
    model: Annotated[
        str | None,
        typer.Argument(
            help="Name of a model in models/.", show_default="that of params.yaml", autocompletion=completing.models
        ),
    ] = None,
    *,
    study: Annotated[str, typer.Option(help="Study to ask.")] = FIRST,
    limit: Annotated[
        int, typer.Option(help="Number of pairs, questions, messages, or sentences of each group; 0 asks all.", min=0)
    ] = LIMIT,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: the verdict and each figure.")
    ] = False,
) -> None:
    """Ask a model a few cases of a study and print its figures, without DVC; only the answers are kept.

    All other settings are those of params.yaml. For a server without likelihoods, first set score.answering (vignettes)
    or perturb.answering (questions) to generate there.
    """
    name = params.load().model if model is None else model
    result = ask(name, study=study, limit=limit or None)
    if as_json:
        rows = result.frame.astype(object).where(result.frame.notna(), None).to_dict("records")
        printing.print_json({"model": name, "study": study, "verdict": result.verdict, "figures": rows})
        return
    printing.show(f"Model: {name}", result.summary())
