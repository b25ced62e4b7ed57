"""Reader of the logs that Lin et al. (2022) released of their runs of rq1.

Among the lines of a log are Python lists of predictions, each with `score`, `token_str` and `sequence`, the filled
sentence. Templates and conditions are known by the sentences.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_text
from equipoise.published.lin_files import fill, probability, require_complete
from equipoise.stigma.aggregate import THRESHOLD, Lexicon, Token, attribute_words

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from equipoise.published.lin_wordings import Wordings
    from equipoise.stigma.library import Template
    from equipoise.stigma.rows import Fill
    from equipoise.stigma.settings import Aggregation


def read_tokens(
    path: Path,
    wordings: Wordings,
    lexicon: Lexicon,
    aggregation: Aggregation = "words",
    *,
    threshold: float = THRESHOLD,
) -> list[Fill]:
    """Read the predictions that a run of rq1 logged, and sum them by gender."""
    fills: dict[tuple[str, str], Fill] = {}
    templates: dict[str, Template] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.startswith("[["):
            continue
        for predictions in _lists(line, f"{path}, row {number}"):
            where = f"{path}, row {number}"
            tokens = [_token(one, where) for one in predictions]
            places = {_whose(one, wordings, where) for one in predictions}
            if len(places) != 1:
                message = f"{where}: one list of predictions tells of {len(places)} sentences: give a list for each"
                raise EquipoiseError(message)
            template, condition = places.pop()
            if (template.key, condition) in fills:
                message = f"{where}: {template.text!r}, {condition} stands in an earlier list: keep one of them"
                raise EquipoiseError(message)
            shares = attribute_words(tokens, lexicon, aggregation, threshold=threshold)
            fills[template.key, condition] = fill(template, condition, wordings, shares)
            templates[template.key] = template
    if not fills:
        message = f"{path}: holds no list of predictions: give the log of a run, with its lines that begin with [["
        raise EquipoiseError(message)
    require_complete(path, fills, templates, wordings)
    return list(fills.values())


def _lists(line: str, where: str) -> list[list[Any]]:
    """Read one line's lists of predictions, however deeply they are nested."""
    try:
        value = ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        message = f"{where}: not a list of predictions: mend or delete the row"
        raise EquipoiseError(message) from error
    found: list[list[Any]] = []
    pending = [value]
    while pending:
        one = pending.pop(0)
        if isinstance(one, list) and one and not isinstance(one[0], list):
            found.append(one)
        elif isinstance(one, list):
            pending = one + pending
        else:
            message = f"{where}: {one!r} where a list of predictions was expected: mend or delete the row"
            raise EquipoiseError(message)
    return found


def _token(prediction: Any, where: str) -> Token:  # noqa: ANN401  (a value of the file)
    if not isinstance(prediction, dict) or not all(
        isinstance(prediction.get(name), str) for name in ("token_str", "sequence")
    ):
        message = f"{where}: {str(prediction)[:80]}: a prediction has score, token_str and sequence: mend the row"
        raise EquipoiseError(message)
    # The mask begins the sentence and a space follows it, so that every token there is a word of its own.
    return Token(prediction["token_str"], probability(prediction, "score", where))


def _whose(prediction: Mapping[str, Any], wordings: Wordings, where: str) -> tuple[Template, str]:
    place = wordings.place(prediction["sequence"], "rq1")
    if place is None:
        message = f"{where}: {prediction['sequence']!r} fits no template of rq1: mend it, or add it to templates.yaml"
        raise EquipoiseError(message)
    return place.template, place.condition
