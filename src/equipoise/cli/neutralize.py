"""`equipoise neutralize`: the neutral form of the questions in any JSONL file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from equipoise.cli.printing import print_json
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.core.tables import json_rows
from equipoise.questions.neutral.lexicon import Lexicon, load_lexicon
from equipoise.questions.neutral.neutralise import Neutral, neutralise
from equipoise.questions.neutral.selection import select

OPTION = "option_"
"""Keys of options that are not gathered in one object: option_A, option_B, as in AMQA's files."""


class Question(NamedTuple):
    """One row's question and its options, if the row has any."""

    text: str
    options: dict[str, str]


class Outcome(NamedTuple):
    """One row's neutral form and the rule that excludes it, if any."""

    neutral: Neutral
    excluded: str | None


def neutralize(
    file: Annotated[Path, typer.Argument(help="JSONL file, one question a row.")],
    field: Annotated[str, typer.Option(help="The key that holds the question.")] = "question",
    lexicon: Annotated[Path, typer.Option(help="Folder of the word lists.")] = Path("data/lexicon"),
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row.")] = False,
) -> None:
    """Take race, gender and socioeconomic terms out of questions, and name the rule that excludes a question.

    Options are read from `options` (an object of texts by letter) or from `option_A`, `option_B` and so on; a row may
    have none.
    """
    questions = read_questions(file, field)
    words = load_lexicon(lexicon)
    outcomes = []
    with progress("neutralize") as move:
        for number, question in enumerate(questions, start=1):
            outcomes.append(_outcome(question, words))
            move(number, len(questions))
    if json:
        for outcome in outcomes:
            print_json(_row(outcome))
    else:
        _show(file, outcomes)


def read_questions(file: Path, field: str) -> list[Question]:
    """Read the questions of a JSONL file in order; blank lines are passed over.

    A malformed row, or one without the field, is an EquipoiseError that names file and row.
    """
    return [_question(f"{file}, row {number}", row, field) for number, row in json_rows(file)]


def _question(where: str, row: dict[str, Any], field: str) -> Question:
    if not isinstance(row.get(field), str):
        fault = "is not a text" if field in row else "is missing"
        message = f"{where}: field {field!r} {fault}: name the question's key with --field (the row has {_names(row)})"
        raise EquipoiseError(message)
    return Question(row[field], _options(where, row))


def _names(row: dict[str, Any]) -> str:
    return ", ".join(row) or "none"


def _options(where: str, row: dict[str, Any]) -> dict[str, str]:
    options = row.get("options")
    if options is None:
        options = {key.removeprefix(OPTION): value for key, value in row.items() if key.startswith(OPTION)}
    if isinstance(options, list):
        options = {str(place): value for place, value in enumerate(options, start=1)}
    if not isinstance(options, dict) or not all(isinstance(value, str) for value in options.values()):
        message = f"{where}: field 'options' must hold one text for each option: mend the row"
        raise EquipoiseError(message)
    return options


def _outcome(question: Question, lexicon: Lexicon) -> Outcome:
    return Outcome(neutralise(question.text, lexicon), select(question.text, question.options, lexicon))


def _row(outcome: Outcome) -> dict[str, Any]:
    return {
        "neutral_question": outcome.neutral.text,
        "excluded": outcome.excluded,
        "changes": [change.model_dump() for change in outcome.neutral.changes],
    }


def _show(file: Path, outcomes: list[Outcome]) -> None:
    """Print one line for each row, then the totals."""
    from rich.console import Console
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
    console = Console()
    console.print(table)
    excluded_by = "".join(f", {count} {rule}" for rule, count in sorted(rules.items()))
    console.print(Text(f"{len(outcomes)} questions: {kept} kept{excluded_by}"), soft_wrap=True)
