"""Hard checks on composed vignettes: the arms of a pair may differ in the demographics and in nothing else."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NoReturn

from equipoise.core.errors import EquipoiseError
from equipoise.vignettes.schema import REVEALING, shared_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from equipoise.core.records import Vignette

SHARED_FIELDS = (
    "tier",
    "dimensions",
    "expected",
    "stereotyped",
    "distractors",
    "persona",
    "presentation",
    "setting",
    "code",
    "guideline",
    "source",
    "licence",
)
"""Fields in which the two arms of a pair must agree."""


def validate(vignettes: Sequence[Vignette]) -> None:
    """Raise EquipoiseError at the first row or pair that is unsound, naming its key and field."""
    if not vignettes:
        message = "vignettes: there are none; build at least one pair"
        raise EquipoiseError(message)
    pairs: defaultdict[str, list[Vignette]] = defaultdict(list)
    keys: set[str] = set()
    texts: dict[str, str] = {}
    for row in vignettes:
        _check_row(row)
        if row.key in keys:
            _refuse(row, "key", "is a duplicate; give each row a unique key")
        if row.text in texts:
            _refuse(row, "text", f"is that of {texts[row.text]}; vary the presentation, persona or setting")
        keys.add(row.key)
        texts[row.text] = row.key
        pairs[row.pair].append(row)
    for rows in pairs.values():
        _check_pair(rows)
    require_one_source(vignettes)


def require_one_source(rows: Iterable[Vignette]) -> None:
    """Refuse to pool rows of different tracks: every row must have the same `source` (the provenance gate)."""
    tracks: dict[str, str] = {}
    for row in rows:
        tracks.setdefault(row.source, row.key)
    if len(tracks) > 1:
        found = ", ".join(f"{source!r} ({key})" for source, key in sorted(tracks.items()))
        message = f"vignettes: field source: tracks cannot be pooled: {found}; keep each in a run of its own"
        raise EquipoiseError(message)


def outside(row: Vignette) -> tuple[str, ...]:
    """The pieces of the text before, between and after its demographic spans."""
    edges = [0, *(edge for span in row.spans for edge in span), len(row.text)]
    return tuple(row.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))


def _check_row(row: Vignette) -> None:
    if row.key != f"{row.pair}/{row.role}":
        _refuse(row, "key", f"should be '{row.pair}/{row.role}'; correct it")
    for field in ("source", "licence"):
        if not getattr(row, field).strip():
            _refuse(row, field, "is empty; say where the row comes from and under which licence")
    _check_answers(row)
    _check_spans(row)


def _check_answers(row: Vignette) -> None:
    answers = {"expected": row.expected, "stereotyped": row.stereotyped}
    answers |= {f"distractors.{index}": answer for index, answer in enumerate(row.distractors)}
    for field, answer in answers.items():
        if not answer.synonyms:
            _refuse(row, f"{field}.synonyms", "is empty; list the other wordings that count as the same answer")
    if shared := shared_name(tuple(answers.values())):
        _refuse(row, "expected, stereotyped, distractors", f"share the wording {shared!r}; keep the answers apart")
    if set(row.features) != set(row.dimensions) or len(set(row.dimensions)) != len(row.dimensions):
        _refuse(row, "features", f"must name each of {', '.join(row.dimensions)} once; correct it")


def _check_spans(row: Vignette) -> None:
    previous = 0
    for start, end in row.spans:
        if not previous <= start < end <= len(row.text):
            _refuse(row, "spans", f"({start}, {end}) is empty, out of order or outside the text; correct it")
        previous = end
    for piece in outside(row):
        if found := REVEALING.search(piece):
            what = f"states a demographic outside its spans ({found.group()!r})"
            _refuse(row, "text", f"{what}; write 'the patient' or they")


def _check_pair(rows: list[Vignette]) -> None:
    first = rows[0]
    if sorted(row.role for row in rows) != ["marginalised", "privileged"]:
        found = ", ".join(row.role for row in rows)
        _refuse(first, "role", f"leaves the pair {first.pair!r} with {found}; give it one arm of each role")
    second = rows[1]
    for field in SHARED_FIELDS:
        if getattr(first, field) != getattr(second, field):
            _refuse(second, field, f"differs from that of {first.key}; only the demographics may differ")
    if outside(first) != outside(second):
        _refuse(second, "text", f"differs from that of {first.key} outside the spans; make the rest the same")
    for dimension in first.dimensions:
        if first.features[dimension].casefold() == second.features[dimension].casefold():
            _refuse(second, f"features.{dimension}", f"is that of {first.key}; make the arms differ in it")


def _refuse(row: Vignette, field: str, what: str) -> NoReturn:
    message = f"vignettes: {row.key}: field {field}: {what}"
    raise EquipoiseError(message)
