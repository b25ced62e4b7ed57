"""Responses without their texts, the check that they match the prompts, and the search for duplicates among them.

A response is noted as its counts and as digests by which equal results are found: the texts are most of a run's bytes,
and no figure is computed from them. A run stops unless every prompt has exactly one response and every response a
prompt: a figure over some of the prompts would not be what its name says. Two responses to one prompt are refused when
the rows are read (`equipoise.core.jsonl.read`).

A duplicate result may come from a copied row, a cache that mixed up two questions, or a model that gives everyone the
same answer. Results are compared by content, but never those of prompts that are the same word for word, which have
equal answers, nor those of one case, whose arms differ in a word or two.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import unnumbered
from equipoise.core.prompts import Prompt, Response
from equipoise.text.reasoning import remove_tags

LONG = 50
"""Words from which equal replies are not due to chance."""


class Noted(NamedTuple):
    """One response without its texts.

    `finished`, `prompt_tokens` and `generated_tokens` are the response's. `empty` says whether a reply has no words
    outside its tags. `wording` is a digest of free text; `sure` has digests of what two prompts never share by chance:
    likelihoods and long replies.
    """

    key: str
    study: str
    finished: tuple[bool, ...]
    prompt_tokens: int
    generated_tokens: int
    empty: bool
    wording: bytes | None
    sure: tuple[bytes, ...]


def note(response: Response, *, free_text: bool) -> Noted:
    """Note a response; `free_text` says whether the model answers the study in sentences of its own."""
    words = sum(len(reply.split()) for reply in response.replies)
    return Noted(
        key=response.key,
        study=response.study,
        finished=response.finished,
        prompt_tokens=response.prompt_tokens,
        generated_tokens=response.generated_tokens,
        empty=not all(remove_tags(reply).strip() for reply in response.replies),
        wording=_digest(response.replies) if free_text and words else None,
        sure=tuple(_sure(response, words)),
    )


def _sure(response: Response, words: int) -> Iterator[bytes]:
    if len(response.log_likelihood) > 1:
        yield _digest(tuple(sorted(response.log_likelihood.items())))
    if words >= LONG:
        yield _digest(response.replies)


def _digest(content: Hashable) -> bytes:
    return hashlib.sha256(repr(content).encode(errors="surrogatepass")).digest()


class Asked(NamedTuple):
    """One prompt without its text: its place in the file, and a digest of all that the model is given."""

    file: Path
    row: int
    study: str
    key: str
    content: bytes


def note_prompts(file: Path, prompts: Iterable[Prompt]) -> list[Asked]:
    """Note the prompts of a file, in file order."""
    return [Asked(file, row, prompt.study, prompt.key, _content(prompt)) for row, prompt in enumerate(prompts, start=1)]


def require_answered(prompts: Sequence[Asked], responses: Sequence[Noted], file: Path) -> None:
    """Require exactly one response for each prompt, and no other.

    `responses` are in the order of their `file`. Raises EquipoiseError that names the file and the row of the first
    fault.
    """
    wanted = {prompt.key for prompt in prompts}
    given = {response.key for response in responses}
    for row, response in enumerate(responses, start=1):
        if response.key not in wanted:
            raise EquipoiseError(
                f"{file}, row {row}: a response to {response.key!r}, which is not among the prompts of the study: "
                f"delete the row, or run `dvc repro infer@{response.study}`"
            )
    if missing := [prompt for prompt in prompts if prompt.key not in given]:
        first = missing[0]
        raise EquipoiseError(
            f"{file}: {len(missing)} of {len(wanted)} prompts have no response, first {first.key!r} ({first.file}, row "
            f"{first.row}): run `dvc repro infer@{first.study}`, which asks what is missing"
        )


def _content(prompt: Prompt) -> bytes:
    """Digest all that the model is given; the beginning that prompts share is in the turns."""
    content = (prompt.system, prompt.prefix, prompt.turns, prompt.given, prompt.candidates, prompt.reply, prompt.limit)
    return hashlib.sha256(repr(content).encode(errors="surrogatepass")).digest()


COMPARED = 5
"""The fewest cases on which two arms are compared: with fewer, equal replies may be chance."""


class Result(NamedTuple):
    """The result of one prompt.

    `case` is what the text is about (a presentation, a question, a message), `unit` what the arm is an arm of, `prompt`
    represents the prompt's words. `wording` and `sure` are those of `Noted`.
    """

    case: Hashable
    unit: str
    arm: str
    prompt: Hashable
    wording: Hashable | None
    sure: tuple[Hashable, ...]


def results(
    responses: Iterable[Noted], presentations: Mapping[str, str], contents: Mapping[str, Hashable], *, arms: bool = True
) -> list[Result]:
    """List the results of responses, given the vignettes' `presentations` and the prompts' `contents`, both by key.

    An unknown prompt counts as different from all others. A key is the unit followed by the arm; without `arms` the
    whole key is the unit.
    """
    rows = []
    for response in responses:
        unit, _, arm = response.key.partition("/") if arms else (response.key, "", "")
        case = presentations.get(unnumbered(response.key), unit)
        content = contents.get(response.key, response.key)
        rows.append(Result(case, unit, arm, content, response.wording, response.sure))
    return rows


def copied(rows: Sequence[Result]) -> tuple[int, int]:
    """Count the results that two prompts never share by chance, and those that a prompt on another case shares."""
    elsewhere = _Holders((row, content) for row in rows for content in row.sure)
    shared = sum(any(elsewhere(row, content) for content in row.sure) for row in rows)
    return sum(bool(row.sure) for row in rows), shared


def repeated(rows: Sequence[Result]) -> tuple[int, int]:
    """Count the replies in free text, and those that equal a reply to another case word for word."""
    written = [row for row in rows if row.wording is not None]
    elsewhere = _Holders((row, row.wording) for row in written)
    return len(written), sum(elsewhere(row, row.wording) for row in written)


def identical_arms(rows: Sequence[Result]) -> tuple[int, int]:
    """Count the pairs of arms compared, and those that agree in all results though their prompts differ.

    Two arms are compared on the units where both have a `wording` or something `sure`, at least `COMPARED`.
    """
    arms: dict[str, dict[str, tuple[Hashable, Hashable]]] = defaultdict(dict)
    for row in rows:
        if row.wording is not None or row.sure:
            arms[row.arm][row.unit] = (row.prompt, (row.wording, row.sure))
    return agreeing(arms)


def agreeing(arms: Mapping[str, Mapping[str, tuple[Hashable, Hashable]]]) -> tuple[int, int]:
    """Count the pairs of arms that can be compared, and those that agree; an arm has (prompt, result) by unit."""
    compared = same = 0
    for first, second in combinations(sorted(arms), 2):
        n, alike = 0, True
        for unit, (prompt, result) in arms[first].items():
            other = arms[second].get(unit)
            if other is not None and other[0] != prompt:
                n += 1
                alike = alike and other[1] == result
            if n >= COMPARED and not alike:
                break  # one difference is enough, and arms nearly always have one
        compared += n >= COMPARED
        same += n >= COMPARED and alike
    return compared, same


class _Holders:
    """The results with each content; called with one, it says whether a different prompt on another case has it."""

    def __init__(self, held: Iterable[tuple[Result, Hashable]]) -> None:
        rows = list(held)
        counts = Counter(content for _, content in rows)
        # Nearly every content appears once; only the others are indexed.
        self._all = {content: count for content, count in counts.items() if count > 1}
        twice = [(row, content) for row, content in rows if content in self._all]
        self._case = Counter((content, row.case) for row, content in twice)
        self._prompt = Counter((content, row.prompt) for row, content in twice)
        self._both = Counter((content, row.case, row.prompt) for row, content in twice)

    def __call__(self, row: Result, content: Hashable) -> bool:
        if content not in self._all:
            return False
        alike = self._case[content, row.case] + self._prompt[content, row.prompt]
        return self._all[content] > alike - self._both[content, row.case, row.prompt]
