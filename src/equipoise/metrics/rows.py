"""Everything that figures are made from: the rows of a run, read and found to belong together."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from equipoise.cases.rows import Case, CaseJudgement
from equipoise.core import records
from equipoise.exam.rows import Sampled
from equipoise.metrics.complete import FILES, Asked, asked, require_answered, require_whole
from equipoise.metrics.noted import Noted, note
from equipoise.openr1.rows import Agreement
from equipoise.questions.asked import EXAM
from equipoise.questions.cities import City, load_cities
from equipoise.questions.rows import Attempt, Variant
from equipoise.stigma.rows import Fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from equipoise.core.records import Judgement, Response, Study, Vignette

V = TypeVar("V", Variant, Attempt)
LETTERED = frozenset({"adversarial", "medmcqa"})
"""Studies whose answer is a letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a run asked and made, and the cities that it speaks of; `saved` are the outputs to cases, texts and all."""

    vignettes: Sequence[Vignette]
    judgements: Sequence[Judgement]
    variants: Sequence[Variant]
    attempts: Sequence[Attempt]
    sampled: Sequence[Sampled]
    responses: Sequence[Noted]
    saved: Sequence[Response] = ()
    fills: Sequence[Fill]
    agreements: Sequence[Agreement]
    cases: Sequence[Case] = ()
    case_judgements: Sequence[CaseJudgement] = ()
    asked: Sequence[Asked] = ()
    cities: Mapping[str, City]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hold off the search for cycles, of which rows have none: among a million of them it takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@_uncollected()
def read_rows(data: Path, cities: Path, answers: Callable[[Study], bool]) -> Rows:
    """Read a run's rows in `data`, and the cities; `answers` says which studies the model answers.

    EquipoiseError where a file or a row is faulty, or where responses and fills are not those of what was asked.
    """
    prompts = [
        one
        for path in (data / f"{name}.jsonl" for name in FILES)
        for one in asked(path, records.each(path, records.Prompt))
    ]
    variants = _without_texts(data / "variants.jsonl", Variant)
    sampled = records.read(data / "subsets.jsonl", Sampled)
    options = {one.key: one.options for one in variants} | {f"{one.item}{EXAM}": one.options for one in sampled}
    responses, saved = [], []
    for one in records.each(data / "responses.jsonl", records.Response):
        responses.append(note(one, options.get(one.key, {}) if one.study in LETTERED else None))
        if one.study == "cases":
            saved.append(one)
    require_answered(prompts, responses, answers, data / "responses.jsonl")
    fills = records.read(data / "fills.jsonl", Fill)
    require_whole(fills, data / "fills.jsonl")
    return Rows(
        vignettes=records.read(data / "vignettes.jsonl", records.Vignette),
        judgements=records.read(data / "judgements.jsonl", records.Judgement),
        variants=variants,
        attempts=_without_texts(data / "attempts.jsonl", Attempt),
        sampled=sampled,
        responses=responses,
        saved=saved,
        fills=fills,
        agreements=records.read(data / "agreements.jsonl", Agreement),
        cases=records.read(data / "cases.jsonl", Case),
        case_judgements=records.read(data / "case_judgements.jsonl", CaseJudgement),
        asked=prompts,
        cities=load_cities(cities),
    )


def _without_texts(path: Path, kind: type[V]) -> list[V]:
    """Read variants or attempts without their texts, which are most of their bytes, and no part of any figure."""
    return [row.model_copy(update={"background": "", "text": ""}) for row in records.each(path, kind)]
