"""The commands of the study: answers scored by city and disease, and MedMCQA's questions imported."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from equipoise.core import jsonl
from equipoise.core.overwriting import Force, require_own, rows_of_kind
from equipoise.core.params import items_named
from equipoise.core.printing import (
    AsJson,
    cell,
    interval,
    plain_table,
    remark,
    report,
    show_each,
    with_interval,
    written,
)
from equipoise.core.progress import progress
from equipoise.core.shipped import shipped
from equipoise.figures.options import Measure
from equipoise.materials import cities as towns
from equipoise.materials.orders import ONE_ORDER, in_one_order
from equipoise.materials.questions import Item
from equipoise.studies.exam import medmcqa
from equipoise.studies.exam.effects import ACCURACY, MACRO, WEIGHTED, score_cities


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
        typer.Option(
            help="Question set of a city (city, disease and correct answer by id); repeat for several cities."
        ),
    ] = None,
    cities: Annotated[Path, typer.Option(help="File of cities, YAML.")] = towns.FILE,
    mapping: Annotated[
        Path, typer.Option(help="Rules that assign a disease to a topic, where no file states it.")
    ] = medmcqa.DISEASES,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the bootstrap.")] = 0,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples for each interval.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per city.")] = False,
) -> None:
    """Score answers by city and disease: accuracy, macro precision, recall and F1, prevalence-weighted accuracy."""
    weights = {
        name: city.disease_weights() for name, city in towns.load_cities(shipped(cities)).items() if city.diseases
    }
    rules = medmcqa.load_diseases(shipped(mapping))
    sets = {path: medmcqa.read_questions(path) for path in questions or ()}
    scored: list[dict[str, Any]] = []
    with progress("score") as move:
        for number, path in enumerate(files, start=1):
            responses = medmcqa.read_responses(path)
            chosen = medmcqa.set_of(path, [row.id for row, _ in responses], sets) if sets else None
            question_set = None if chosen is None else sets[chosen]
            source = {
                "file": str(path),
                "questions": None if chosen is None else str(chosen),
                "n_questions": None if question_set is None else len(question_set),
            }
            answers = medmcqa.tabulate_released(path, responses, question_set, rules, list(weights))
            by_city = score_cities(answers, weights, Measure(seed=seed, n_bootstrap=resamples))
            scored += [source | medmcqa.released_form(city, scores) for city, scores in by_city.items()]
            move(number, len(files))
    show_each(scored, lambda city: [_heading(city), _medmcqa_table(city)], as_json=as_json)


def import_medmcqa(
    sources: Annotated[
        list[str],
        typer.Argument(
            help=f"A hub id with its commit ({medmcqa.HUB_ID}@…), or parquet, CSV or JSONL files.",
            metavar="SOURCE…",
            show_default=False,
        ),
    ],
    *,
    mapping: Annotated[Path, typer.Option(help="Rules that assign a disease to each topic.")] = medmcqa.DISEASES,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("data/items/medmcqa.jsonl"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import MedMCQA's questions; `-S sample.items=medmcqa` then asks each city's subset of them."""
    require_own(out, rows_of_kind(Item, medmcqa.KEY), force=force)
    with progress("import"):
        imported = medmcqa.import_items(sources, medmcqa.load_diseases(shipped(mapping)))
        jsonl.write(out, imported.items)
    counts = Counter(item.disease for item in imported.items)
    diseases = {disease: n for disease, n in counts.most_common() if disease is not None}
    kinds = ("withheld", "empty", "alike", "repeated")
    left_out = {kind: len(getattr(imported, kind)) for kind in kinds}
    one_order = [item.key for item in imported.items if in_one_order(item.options)]
    named = ", ".join(f"{disease} {n}" for disease, n in diseases.items()) or "no disease"
    report(
        written(
            {out: len(imported.items)},
            diseases=diseases,
            without_disease=counts[None],
            left_out=left_out,
            same_text=len(imported.same_text),
            one_order=len(one_order),
        ),
        f"{out}: {len(imported.items)} items; {named}; {counts[None]} about none of these",
        remark("left out, their answer is withheld", imported.withheld),
        remark("left out, the question or an option is empty", imported.empty),
        remark("left out, two options have the same text", imported.alike),
        remark("rows repeat a question, kept once", imported.repeated),
        remark("have the text and options of an earlier question, kept", imported.same_text),
        remark(ONE_ORDER, one_order),
        f"run them with: dvc exp run {items_named(out, 'sample.items')}",
        as_json=as_json,
    )


def _heading(scored: dict[str, Any]) -> str:
    """Write the number of answers, of those left out, and the prevalence-weighted accuracy in per cent."""
    aggregate = scored["aggregate"]
    of = "" if scored["n_questions"] is None else f" of the {scored['n_questions']} questions in {scored['questions']}"
    share, interval = with_interval(aggregate, WEIGHTED, ".1f", 100)
    heading = (
        f"{scored['city']}, {scored['file']}\n{scored['n_samples']} answers{of}; {aggregate['n_invalid']} without a "
        f"letter are left out\nweighted by prevalence: {share} % right ({interval})"
    )
    if aggregate["n_without_disease"]:
        heading += f"\n{aggregate['n_without_disease']} answers about none of the diseases count in the first row alone"
    return heading


def _medmcqa_table(scored: dict[str, Any]) -> Table:
    """Lay out one city with a row for each disease; accuracy and weights in per cent."""
    table = plain_table(None, ("", "weight", "n", "right, %", "95 % CI", "precision", "recall", "F1", "95 % CI"))
    for name, figures in {"all": scored["aggregate"], **scored["per_disease"]}.items():
        table.add_row(
            name,
            cell(figures.get("composition"), ".1f", 100),
            str(figures["n_valid"]),
            *with_interval(figures, ACCURACY, ".1f", 100),
            *(cell(figures[measure]) for measure in MACRO),
            interval(figures, MACRO[-1], ".3f"),
        )
    return table
