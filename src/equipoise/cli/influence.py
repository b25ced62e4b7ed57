"""`equipoise score influence`: answers to counterfactual questions, and what explanations say of them."""

from pathlib import Path
from typing import Annotated

import typer

from equipoise.core.printing import plain_table, print_json, show, with_interval
from equipoise.core.progress import progress
from equipoise.core.visible import line
from equipoise.published import influence
from equipoise.published.influence import DEMOGRAPHIC, read_influence


def score_influence(
    answers: Annotated[Path, typer.Option(help="Answer counts, one row per arm of an example (JSONL).")],
    implied: Annotated[Path, typer.Option(help="The concepts that each explanation implies (JSONL).")],
    concepts: Annotated[Path, typer.Option(help="The concepts of each example, with their categories (JSONL).")],
    *,
    demographic: Annotated[
        list[str] | None,
        typer.Option(
            help="Coarse category of demographic concepts; repeat for several.", show_default=" and ".join(DEMOGRAPHIC)
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON list with one object per data set and model.")
    ] = False,
) -> None:
    """Score answers to counterfactual questions: how much demographic influence do explanations leave out?

    The faithfulness slope of Matton et al. (2025) over all concepts is printed too. docs/metrics/influence.md describes
    the file formats.
    """
    with progress("score"):
        released = read_influence(answers, implied, concepts)
        scored = influence.score_influence(released, demographic or DEMOGRAPHIC)
    for dataset, example in released.without_concepts:
        typer.echo(f"left out: example {line(example)} of {line(dataset)} has no row in {concepts}", err=True)
    if as_json:
        print_json(scored)
        return
    columns = ("data set", "model", "interventions", "moved", "silent", "slope", "90 % CI")
    table = plain_table("Influence of demographic concepts, and faithfulness slope", columns, left=2)
    for row in scored:
        names = (str(row[name]) for name in ("dataset", "llm", "interventions", "moved", "silent"))
        table.add_row(*names, *with_interval(row, "slope", ".3f"))
    show(table)
