"""OpenR1-Psy's items, as published on the hub or in the benchmark's form.

The hub's rows have `post_id` and `conversation`, a list of rounds with `patient`, `counselor_think` and
`counselor_content`; an item is the first round. The benchmark's form is `{"samples": [{id, prompt, gold_answer,
gold_reasoning}]}`, made of the same first rounds. Both are read from JSON, JSONL or parquet.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import listed_rows, require_new, rows_of, valid
from equipoise.published.fetch import PINNED, locate
from equipoise.studies.openr1.rows import LICENCE, SOURCE, OpenR1Item
from equipoise.text.sentences import sentences_of

KEY = "openr1-"
"""Beginning of an item's key; the rest is its id."""
NAMED_SOURCE = ("source", "dataset", "source_dataset")
"""Fields of a row, or of its metadata, that may state its source."""
SHAPE = "give rows with post_id and conversation, or with id, prompt and gold_answer"


class Imported(NamedTuple):
    """Items, and the ids of rows left out: without a message or a reply, or with the message of an earlier row."""

    items: list[OpenR1Item]
    empty: list[str]
    repeated: list[str]


def read_items(source: str, split: str = "test") -> Imported:
    """Read items from a file, or from the hub as `GMLHUHE/OpenR1-Psy@<commit>`; `split` selects its files by name.

    Rows of another source and other data sets of the hub are refused: the gold answers belong to the items of
    OpenR1-Psy. An error names the file, the row and the fix.
    """
    revision = None
    if match := PINNED.fullmatch(source):
        if match["repo"] != SOURCE:
            raise EquipoiseError(
                f"{source}: the track openr1 takes {SOURCE} and no other source: give {SOURCE}@<40 hex digits>"
            )
        revision = match["revision"]
    imported = Imported([], [], [])
    keys: dict[str, str] = {}
    prompts: set[str] = set()
    for path in locate(source, lambda sizes: sorted(name for name in sizes if split in name)):
        for where, row in rows_of(path, SHAPE.removeprefix("give "), partial(listed_rows, name="samples", shape=SHAPE)):
            name, prompt, answer, reasoning = _fields(row, where)
            require_new(keys, name, where)
            if not prompt or not answer:
                imported.empty.append(name)
            elif prompt in prompts:
                imported.repeated.append(name)
            else:
                prompts.add(prompt)
                item = {
                    "key": f"{KEY}{name}",
                    "prompt": prompt,
                    "gold_answer": answer,
                    "gold_reasoning": reasoning,
                    "source": SOURCE,
                    "revision": revision,
                    "licence": LICENCE,
                }
                imported.items.append(valid(OpenR1Item, item, where, "correct the row"))
    if not imported.items:
        raise EquipoiseError(f"{source}: no message with its reply: {SHAPE}")
    return imported


def _fields(row: Mapping[str, Any], where: str) -> tuple[str, str, str, tuple[str, ...]]:
    """Return a row's id, message, reply and reasoning; message and reply are empty if the row has none."""
    _refuse_other_source(row, where)
    if "conversation" in row:
        rounds = row["conversation"]
        # Parquet gives an array, whose truth value is undefined.
        rounds = [] if rounds is None or isinstance(rounds, str | dict) else rounds
        first: Any = next(iter(rounds), {}) if hasattr(rounds, "__iter__") else rounds
        if not isinstance(first, dict):
            raise EquipoiseError(f"{where}: field conversation: not a list of rounds: {SHAPE}")
        name, prompt, answer = row.get("post_id"), first.get("patient"), first.get("counselor_content")
        reasoning = _steps(first.get("counselor_think"), "counselor_think", where)
    elif {"prompt", "gold_answer"} <= row.keys():
        name, prompt, answer = row.get("id"), row["prompt"], row["gold_answer"]
        reasoning = _steps(row.get("gold_reasoning"), "gold_reasoning", where)
    else:
        raise EquipoiseError(f"{where}: neither conversation nor prompt and gold_answer: {SHAPE}")
    if name is None or isinstance(name, dict | list | bool) or not str(name).strip():
        raise EquipoiseError(
            f"{where}: field {'post_id' if 'conversation' in row else 'id'} is missing: every row needs its id"
        )
    return str(name).strip(), _text(prompt, "prompt", where), _text(answer, "gold_answer", where), tuple(reasoning)


def _refuse_other_source(row: Mapping[str, Any], where: str) -> None:
    metadata = row.get("metadata")
    for table in (row, metadata if isinstance(metadata, dict) else {}):
        for name in NAMED_SOURCE:
            if (stated := table.get(name)) is not None and not (isinstance(stated, str) and stated == SOURCE):
                raise EquipoiseError(
                    f"{where}: field {name}: {stated!r} is not {SOURCE}: the track openr1 takes no other source; take "
                    "the row out"
                )


def _steps(value: Any, name: str, where: str) -> list[str]:  # noqa: ANN401  (any value of a row)
    """Read the steps of a reasoning: a list of texts (parquet: an array), or one text, cut into sentences."""
    if value is None or isinstance(value, str):
        return sentences_of(_text(value, name, where))
    steps = list(value) if hasattr(value, "__iter__") else [value]
    return [text for step in steps if (text := _text(step, name, where))]


def _text(value: object, name: str, where: str) -> str:
    if value is not None and not isinstance(value, str):
        raise EquipoiseError(f"{where}: field {name}: {value!r} is not text: correct the row")
    return (value or "").strip()
