"""`equipoise neutralize`, `parse` and `judge`: what the pipeline does with a text, for the rows of any JSONL file."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli import completing
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import DECIMALS
from equipoise.core.printing import print_json, show
from equipoise.core.progress import progress
from equipoise.core.shipped import shipped
from equipoise.core.tables import JSON_LINES, READABLE, json_rows, rows_of
from equipoise.core.visible import line
from equipoise.judge.lexicon import FOLDER
from equipoise.judge.loaded import load_judge
from equipoise.judge.rows import Asked, Judged, judge_rows, read_rows, unlisted
from equipoise.text.letters import LetterReading, read_letter
from equipoise.text.neutral.lexicon import load_lexicon as load_words
from equipoise.text.neutral.neutralize import Neutral, select
from equipoise.text.neutral.neutralize import neutralize as neutral_form

OPTION = "option_"
"""Keys of options that are not gathered in one object: option_A, option_B, as in AMQA's files."""


def neutralize(
    file: Annotated[Path, typer.Argument(help="JSONL file with one question per row.")],
    field: Annotated[str, typer.Option(help="Name of the field with the question.")] = "question",
    lexicon: Annotated[Path, typer.Option(help="Folder of the word lists.")] = Path("data/lexicon"),
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> None:
    """Remove race, gender and socioeconomic terms from questions; report why a question was excluded.

    Answer options are read from `options` (an object of texts by letter), or from `option_A`, `option_B` and so on. A
    row may have none.
    """
    rows = list(rows_of(_json_lines(file), "one question a row", json_rows))
    questions = [(_question(where, row, field), _options(where, row)) for where, row in rows]
    words = load_words(shipped(lexicon))
    outcomes: list[tuple[Neutral, str | None]] = []
    with progress("neutralize") as move:
        for question, options in questions:
            outcomes.append((neutral_form(question, words), select(question, options, words)))
            move(len(outcomes), len(questions))
    if not json:
        _show_neutral(file, outcomes)
        return
    for neutral, excluded in outcomes:
        changes = [change.model_dump() for change in neutral.changes]
        print_json({"neutral_question": neutral.text, "excluded": excluded, "changes": changes})


def _json_lines(file: Path) -> Path:
    """Refuse a table by its extension, of which JSON's own error would only say that the first row is malformed."""
    ending = file.suffix.lower()
    if ending in READABLE and ending not in {*JSON_LINES, ".txt"}:
        fix = 'convert it, with pandas: to_json("rows.jsonl", orient="records", lines=True)'
        raise EquipoiseError(f"{file}: a {ending} file, not JSONL: {fix}")
    return file


def _question(where: str, row: dict[str, Any], field: str) -> str:
    question = row.get(field)
    if not isinstance(question, str):
        fault = "is not a text" if field in row else "is missing"
        keys = ", ".join(row) or "none"
        message = f"{where}: field {field!r} {fault}: name the question's key with --field (the row has {keys})"
        raise EquipoiseError(message)
    return question


def _options(where: str, row: dict[str, Any]) -> dict[str, str]:
    options = row.get("options")
    if options is None:
        options = {key.removeprefix(OPTION): value for key, value in row.items() if key.startswith(OPTION)}
    if isinstance(options, list):
        options = {str(place): value for place, value in enumerate(options, start=1)}
    if not isinstance(options, dict) or not all(isinstance(value, str) for value in options.values()):
        raise EquipoiseError(f"{where}: field 'options' must hold one text for each option: correct the row")
    return options


def _show_neutral(file: Path, outcomes: list[tuple[Neutral, str | None]]) -> None:
    """Print one line for each row, then the totals."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=str(file), title_justify="left", expand=True)
    for name in ("row", "excluded", "changes"):
        table.add_column(name, no_wrap=True)
    # The one column that gives way: a question is cut to the line.
    table.add_column("neutral question", no_wrap=True, overflow="ellipsis", ratio=1)
    for number, (neutral, excluded) in enumerate(outcomes, start=1):
        table.add_row(str(number), excluded or "", str(len(neutral.changes)), Text(" ".join(neutral.text.split())))
    rules = Counter(excluded for _, excluded in outcomes if excluded)
    kept = len(outcomes) - rules.total()
    excluded_by = "".join(f", {count} {rule}" for rule, count in sorted(rules.items()))
    show(table, f"{len(outcomes)} questions: {kept} kept{excluded_by}")


def parse(
    file: Annotated[
        Path, typer.Argument(help="JSONL of {options: {A: …}, response}.", metavar="FILE", show_default=False)
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row, in order.")] = False,
) -> None:
    """Read the letter that each response gives; null where it gives none."""
    rows = list(rows_of(_json_lines(file), "one response a row, with its options", json_rows))
    readings = []
    with progress("parse") as move:
        for where, row in rows:
            readings.append(_read(row, where))
            move(len(readings), len(rows))
    if as_json:
        for reading in readings:
            print_json(reading._asdict())
        return
    from rich.table import Table

    table = Table(title=f"{file}: {len(readings)} responses", title_justify="left")
    for name in ("rule", "responses", "letters"):
        table.add_column(name, justify="right" if name == "responses" else "left")
    for rule, count in Counter(reading.rule for reading in readings).most_common():
        letters = Counter(reading.letter for reading in readings if reading.rule == rule and reading.letter)
        table.add_row(rule, str(count), ", ".join(f"{letter} {times}" for letter, times in sorted(letters.items())))
    show(table)


def _read(row: dict[str, Any], where: str) -> LetterReading:
    options, response = row.get("options"), row.get("response")
    if not isinstance(options, dict) or not options:
        message = f"{where}: field options: give an object that maps letters to texts, such as {{'A': …, 'B': …}}"
        raise EquipoiseError(message)
    if "response" not in row or not isinstance(response, str | None):
        raise EquipoiseError(f"{where}: field response: give the model's text, or null where it gave none")
    return read_letter(response or "", {str(letter): str(words) for letter, words in options.items()})


def judge(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="JSONL of {id, feature, text}: a model's whole output, and a feature of the patient in plain words.",
            metavar="[FILE]",
            show_default=False,
        ),
    ] = None,
    *,
    benchmark: Annotated[
        str | None,
        typer.Option(
            help="Compare the judge with annotated passages: those in judge/benchmark/ (passages), or another file.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Number of passages, drawn with a fixed seed (with --benchmark).", show_default="all"),
    ] = None,
    judge_name: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="A judge in models/judges/; with --benchmark also keyword or count.",
            show_default="that of params.yaml",
            autocompletion=completing.judges,
        ),
    ] = None,
    features: Annotated[Path, typer.Option(help="Folder of the word lists for each feature.")] = Path(FOLDER),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row, in order.")] = False,
) -> None:
    """Judge whether the reasoning in each output mentions the feature, and whether it weighs or dismisses it.

    A row may also have `dimension` (race), for a feature whose words do not determine it. `probability` is the judge's
    probability of the judgement it made: that the feature is considered (weighed or dismissed), or that it is not. With
    --benchmark the judge is compared with annotated passages instead, and one JSON object is printed.
    """
    if (file is None) is (benchmark is None):
        raise EquipoiseError("give either a FILE of outputs or --benchmark NAME")
    if limit is not None and benchmark is None:
        raise EquipoiseError("--limit needs --benchmark: leave it out, or give a file with fewer rows")
    if benchmark is not None:
        from equipoise.cli.benchmark import benchmark as compare

        compare(benchmark, judge_name, features, limit, as_json=as_json)
    elif file is not None:
        _judge_file(file, judge_name, features, as_json=as_json)


def _judge_file(file: Path, judge_name: str | None, features: Path, *, as_json: bool) -> None:
    rows = read_rows(_json_lines(file))
    loaded = load_judge(judge_name, features=features)
    if unknown := unlisted(rows, loaded.lexicon):
        typer.echo(f"note: not in {features}, so matched by their own words only: {', '.join(unknown)}", err=True)
    with progress("judge") as move:
        judged = judge_rows(
            rows, lexicon=loaded.lexicon, probabilities=loaded.probabilities, settings=loaded.settings, progress=move
        )
        if as_json:
            for reading in judged:
                print_json(reading._asdict() | {"probability": round(reading.probability, DECIMALS)})
            return
        readings = list(judged)
    _show_judged(file, rows, readings, loaded.name)


def _show_judged(file: Path, rows: Sequence[Asked], judged: Sequence[Judged], name: str) -> None:
    """Print one line for each row, then the totals."""
    from rich.table import Table

    table = Table(title=str(file), title_justify="left", box=None, padding=(0, 1, 0, 0), expand=True)
    for column in ("id", "feature"):
        table.add_column(column, no_wrap=True, overflow="ellipsis", max_width=24)
    for column in ("mentioned", "considered", "p"):
        table.add_column(column, no_wrap=True, justify="right" if column == "p" else "left")
    # The one column that gives way: a sentence is cut to the line.
    table.add_column("evidence", no_wrap=True, overflow="ellipsis", ratio=1)
    for row, reading in zip(rows, judged, strict=True):
        table.add_row(
            line(str(row.id)),
            line(row.feature),
            "yes" if reading.mentioned else "no",
            reading.considered,
            f"{reading.probability:.2f}",
            " ".join(reading.evidence.split()),
        )
    counts = Counter(reading.considered for reading in judged)
    restated = sum(reading.mentioned for reading in judged if reading.considered == "none")
    totals = (
        f"{len(judged)} rows: {counts['weighed']} weighed, {counts['dismissed']} dismissed, "
        f"{counts['none']} neither ({restated} of them mentioned); judge {name}"
    )
    show(table, totals)
