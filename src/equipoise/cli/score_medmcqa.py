"""`equipoise score medmcqa`: the figures of released answers to city question sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.printing import print_json
from equipoise.core.progress import progress
from equipoise.exam import diseases
from equipoise.metrics.classification import ACCURACY, MACRO, Resampling
from equipoise.metrics.medmcqa import WEIGHTED, score_cities
from equipoise.published.medmcqa import read_questions, read_responses, released_form, set_of, tabulate_released
from equipoise.questions import cities as towns

if TYPE_CHECKING:
    from rich.table import Table

NOT_DEFINED = "-"
ALPHA = 0.05
MACRO_TITLES = ("precision", "recall", "F1")


def score_medmcqa(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Responses with id, answer and response (parquet, CSV or JSONL).",
            metavar="RESPONSES…",
            show_default=False,
        ),
    ],
    *,
    questions: Annotated[
        list[Path] | None,
        typer.Option(help="A city's question set (city, disease and right answer by id); may be given again."),
    ] = None,
    cities: Annotated[Path, typer.Option(help="The cities (YAML).")] = towns.FILE,
    mapping: Annotated[
        Path, typer.Option(help="Which disease a topic is about, where no file says it.")
    ] = diseases.FILE,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    resamples: Annotated[int, typer.Option(min=20, help="Resamples of the questions behind each interval.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a city.")] = False,
) -> None:
    """Score answers by city and disease: accuracy, macro precision, recall and F1, prevalence-weighted accuracy."""
    weights = {name: city.disease_weights() for name, city in towns.load_cities(cities).items() if city.diseases}
    rules = diseases.load_diseases(mapping)
    sets = {path: read_questions(path) for path in questions or ()}
    scored: list[dict[str, Any]] = []
    with progress("score") as move:
        for number, path in enumerate(files, start=1):
            responses = read_responses(path)
            chosen = set_of(path, [row.id for row, _ in responses], sets) if sets else None
            asked = None if chosen is None else sets[chosen]
            source = {
                "file": str(path),
                "questions": None if chosen is None else str(chosen),
                "n_questions": None if asked is None else len(asked),
            }
            answers = tabulate_released(path, responses, asked, rules, list(weights))
            found = score_cities(answers, weights, Resampling(ALPHA, seed, resamples))
            scored += [source | released_form(city, one) for city, one in found.items()]
            move(number, len(files))
    if as_json:
        for one in scored:
            print_json(one)
        return
    from rich.console import Console

    console = Console()
    for one in scored:
        console.print(_heading(one), soft_wrap=True, markup=False, highlight=False)
        console.print(_table(one))


def _heading(scored: dict[str, Any]) -> str:
    """Say what was answered, what is left out, and the prevalence-weighted accuracy in per cent."""
    aggregate = scored["aggregate"]
    of = "" if scored["n_questions"] is None else f" of the {scored['n_questions']} questions in {scored['questions']}"
    heading = (
        f"{scored['city']}, {scored['file']}\n{scored['n_samples']} answers{of}; {aggregate['n_invalid']} without a "
        f"letter are left out\nweighted by prevalence: {_cell(aggregate[WEIGHTED], 100)} % right "
        f"({_interval(aggregate, WEIGHTED, 100)})"
    )
    if aggregate["n_without_disease"]:
        heading += f"\n{aggregate['n_without_disease']} answers about none of the diseases count in the first row alone"
    return heading


def _table(scored: dict[str, Any]) -> Table:
    """Lay out one city, a disease a row; accuracy and weights in per cent."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for place, name in enumerate(("", "weight", "n", "right, %", "95 % CI", *MACRO_TITLES, "95 % CI")):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    for name, figures in {"all": scored["aggregate"], **scored["per_disease"]}.items():
        table.add_row(
            name,
            _cell(figures.get("composition"), 100),
            str(figures["n_valid"]),
            _cell(figures[ACCURACY], 100),
            _interval(figures, ACCURACY, 100),
            *(_cell(figures[measure]) for measure in MACRO),
            _interval(figures, MACRO[-1]),
        )
    return table


def _interval(figures: dict[str, Any], measure: str, scale: float = 1) -> str:
    """Write the limits of an interval, which are both defined or neither."""
    low, high = (_cell(figures[f"{measure}_ci_{end}"], scale) for end in ("low", "high"))
    return low if low == high == NOT_DEFINED else f"{low} {high}"


def _cell(value: float | None, scale: float = 1) -> str:
    return NOT_DEFINED if value is None else f"{scale * value:.{1 if scale > 1 else 3}f}"
