"""`equipoise score amqa`, `equity` and `medmcqa`: the figures of files of released answers to questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from equipoise.cli.printing import cell, plain_table, print_json, show
from equipoise.core.progress import progress
from equipoise.metrics.exam import ACCURACY, MACRO, WEIGHTED, score_cities
from equipoise.metrics.guards import label_skew
from equipoise.metrics.options import Measure
from equipoise.metrics.questions import Answered, arms_of
from equipoise.published import amqa
from equipoise.published.amqa import CONTROL, score_released
from equipoise.published.equilens import GROUP_NAMES, read_results, score_equity_released
from equipoise.published.medmcqa import (
    DISEASES,
    load_diseases,
    read_questions,
    read_responses,
    released_form,
    set_of,
    tabulate_released,
)
from equipoise.questions import cities as towns
from equipoise.questions.cities import City

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a file.")]
TITLES = {"race": "white black", "ses": "high low income", "gender": "male female", CONTROL: "original neutral"}
CAPTIONS = {
    "expected": "Mean over all partitions. CI: other questions of the same kind.",
    "seeded": "One partition, drawn. CI: other questions of the same kind.",
}
ALPHA = 0.05
"""1 − confidence level of the intervals."""


def score_amqa(
    files: Annotated[list[Path], typer.Argument(help="Released answers, JSONL.", metavar="FILE…", show_default=False)],
    *,
    as_json: AsJson = False,
    items: Annotated[
        str | None, typer.Option(help="Items (JSONL or parquet) whose ids the files must have, in place of 0 to 800.")
    ] = None,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score each file over the questions that it has.")
    ] = False,
) -> None:
    """Score answers in AMQA's or FairMedPrompt's released form, every file over the same questions."""
    tables = {str(path): amqa.read_answers(path) for path in files}
    if allow_incomplete:
        amqa.require_same_gold(tables)
    else:
        wanted = [amqa.question_id(item.key) for item in amqa.read_items(items)] if items else amqa.complete_ids()
        amqa.require_same_questions(tables, wanted)
    with progress("score"):
        scored = score_released(tables, amqa.released_name)

    def laid_out(one: dict[str, Any]) -> Iterable[Table | str]:
        yield _amqa_table(one)
        if skewed := _skews(tables[one["file"]]):
            yield f"label skew: {skewed} of the answers would have to change their letter: look at the parsing"

    _print(scored, laid_out, as_json=as_json)


def _skews(table: list[Answered]) -> str:
    """Name every arm whose letters are spread as no careful reading would spread them, and how far."""
    gold = [row.gold for row in table]
    skews = {arm: label_skew([row.letters[arm] for row in table], gold) for arm in arms_of(table)}
    return ", ".join(f"{amqa.released_name(arm)} {skew.distance:.0%}" for arm, skew in skews.items() if skew.alarm)


def score_equity(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="AMQA's released answers (JSONL), or EquiLens' results (parquet).", metavar="FILE…", show_default=False
        ),
    ],
    *,
    cities: Annotated[Path, typer.Option(help="The cities (YAML).")] = towns.FILE,
    partition: Annotated[
        Literal["expected", "seeded"],
        typer.Option(help="Over all partitions of the questions between the groups, or for one that is drawn."),
    ] = "expected",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the partition that is drawn.")] = 42,
    resamples: Annotated[int, typer.Option(min=100, help="Resamples of the questions behind each interval.")] = 2000,
    as_json: AsJson = False,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score each JSONL file over the questions that it has.")
    ] = False,
) -> None:
    """Score answers for the population of each city: accuracy, accuracy ratio and consistency ratio."""
    places = {name: city for name, city in towns.load_cities(cities).items() if city.composition}
    results = {str(path): read_results(path) for path in files if path.suffix == ".parquet"}
    answers = {str(path): amqa.read_answers(path) for path in files if path.suffix != ".parquet"}
    if not allow_incomplete:
        amqa.require_same_questions(answers, amqa.complete_ids())
    tables = results | answers
    amqa.require_same_gold(tables)
    options = Measure(partition=partition, partition_seed=seed, n_bootstrap=resamples)
    scored = []
    with progress("score") as move:
        for name in map(str, files):
            called = GROUP_NAMES.__getitem__ if name in results else amqa.released_name
            scored.append(score_equity_released(name, tables[name], places, options, called))
            move(len(scored), len(files))
    _print(scored, lambda one: [_equity_table(one, places)], as_json=as_json)


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
    mapping: Annotated[Path, typer.Option(help="Which disease a topic is about, where no file says it.")] = DISEASES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    resamples: Annotated[int, typer.Option(min=100, help="Resamples of the questions behind each interval.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a city.")] = False,
) -> None:
    """Score answers by city and disease: accuracy, macro precision, recall and F1, prevalence-weighted accuracy."""
    weights = {name: city.disease_weights() for name, city in towns.load_cities(cities).items() if city.diseases}
    rules = load_diseases(mapping)
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
            found = score_cities(answers, weights, Measure(alpha=ALPHA, seed=seed, n_bootstrap=resamples))
            scored += [source | released_form(city, one) for city, one in found.items()]
            move(number, len(files))
    _print(scored, lambda one: [_heading(one), _medmcqa_table(one)], as_json=as_json)


def _amqa_table(scored: dict[str, Any]) -> Table:
    """Lay out one file, a pair a row; shares and differences in per cent of the questions."""
    n, unparsed = scored["n"], sum(scored["unparsed"].values())
    title = f"{scored['file']}\n{n} questions, {unparsed} of {n * 8} answers unparsed (counted as wrong)"
    table = plain_table(title, ("pair", "right, %", "gap", "95 % CI", "alone", "p exact", "p Holm", "differ"))
    for name, pair in scored["pairs"].items():
        first, second = pair["both"] + pair["only_privileged"], pair["both"] + pair["only_unprivileged"]
        table.add_row(
            TITLES[name],
            f"{100 * first / n:.1f} {100 * second / n:.1f}",
            f"{100 * pair['gap']:+.1f}",
            f"{100 * pair['ci_low']:+.1f} {100 * pair['ci_high']:+.1f}",
            f"{pair['only_privileged']} {pair['only_unprivileged']}",
            f"{pair['p_exact']:.1e}",
            f"{pair['p_holm']:.1e}",
            f"{100 * pair['letters_differ'] / n:.1f}",
        )
    return table


def _equity_table(scored: dict[str, Any], cities: Mapping[str, City]) -> Table:
    """Lay out one file, a city and attribute a row; accuracy in per cent, ratios as they are."""
    n, unparsed = scored["n"], sum(scored["unparsed"].values())
    asked = n * len(scored["unparsed"])
    title = (
        f"{scored['file']}\n{n} questions, baseline accuracy {100 * scored['baseline_accuracy']:.1f} %, {unparsed} of "
        f"{asked} answers unparsed (counted as wrong)\n{CAPTIONS[scored['partition']]}"
    )
    # 80 columns at most, so that no terminal cuts it: the sizes of the groups and the sd are in --json.
    columns = ("city", "", "right, %", "95 % CI", "ratio", "95 % CI", "p Holm", "kept", "95 % CI")
    table = plain_table(title, columns, left=2)
    for name, attributes in scored["cities"].items():
        for attribute, figures in attributes.items():
            table.add_row(
                cities[name].title,
                attribute,
                *_with_interval(figures, "city_accuracy", ".1f", 100),
                *_with_interval(figures, "accuracy_ratio", ".3f"),
                cell(figures["p_holm"], ".1e"),
                *_with_interval(figures, "consistency_ratio", ".2f"),
            )
    return table


def _heading(scored: dict[str, Any]) -> str:
    """Say what was answered, what is left out, and the prevalence-weighted accuracy in per cent."""
    aggregate = scored["aggregate"]
    of = "" if scored["n_questions"] is None else f" of the {scored['n_questions']} questions in {scored['questions']}"
    share, interval = _with_interval(aggregate, WEIGHTED, ".1f", 100)
    heading = (
        f"{scored['city']}, {scored['file']}\n{scored['n_samples']} answers{of}; {aggregate['n_invalid']} without a "
        f"letter are left out\nweighted by prevalence: {share} % right ({interval})"
    )
    if aggregate["n_without_disease"]:
        heading += f"\n{aggregate['n_without_disease']} answers about none of the diseases count in the first row alone"
    return heading


def _medmcqa_table(scored: dict[str, Any]) -> Table:
    """Lay out one city, a disease a row; accuracy and weights in per cent."""
    table = plain_table(None, ("", "weight", "n", "right, %", "95 % CI", "precision", "recall", "F1", "95 % CI"))
    for name, figures in {"all": scored["aggregate"], **scored["per_disease"]}.items():
        table.add_row(
            name,
            cell(figures.get("composition"), ".1f", 100),
            str(figures["n_valid"]),
            *_with_interval(figures, ACCURACY, ".1f", 100),
            *(cell(figures[measure]) for measure in MACRO),
            _interval(figures, MACRO[-1], ".3f"),
        )
    return table


def _with_interval(figures: Mapping[str, Any], measure: str, form: str, scale: float = 1) -> tuple[str, str]:
    """Write a figure and its interval."""
    return cell(figures[measure], form, scale), _interval(figures, measure, form, scale)


def _interval(figures: Mapping[str, Any], measure: str, form: str, scale: float = 1) -> str:
    """Write the limits of an interval, which are both defined or neither."""
    low, high = (cell(figures[f"{measure}_ci_{end}"], form, scale) for end in ("low", "high"))
    return low if low == high == cell(None) else f"{low} {high}"


def _print(
    scored: Sequence[dict[str, Any]], parts: Callable[[dict[str, Any]], Iterable[Table | str]], *, as_json: bool
) -> None:
    """Print what was scored, as JSON or in the parts that each is laid out in."""
    for one in scored:
        if as_json:
            print_json(one)
        else:
            show(*parts(one))
