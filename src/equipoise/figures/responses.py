"""What figures and guards need of a response, and what its prompt and other responses say about it.

A response is noted as its counts, and digests by which equal results are found: the texts themselves are most of a
run's bytes, and no figure is made from them. Every prompt that the model answers has one response, and nothing else has
any, or the run stops: a figure over some of the prompts would not be the figure that its name says. Two responses to
one prompt are refused where the rows are read (`equipoise.core.jsonl.read`).

Duplicate results may be a copied row, a cache that mixed up two questions, or a model that says one thing to all. What
a prompt got is compared with what other prompts got, by content. Prompts that are the same word for word are never
compared: equal questions have equal answers. Nor are texts on one case, whose arms differ in a word or two.
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
"""Words from which two replies are never the same by chance."""
OF_PAIRS: frozenset[str] = frozenset({"vignettes", "decisions"})
"""Studies whose prompts reason about the arms of a pair first."""
FREE = frozenset({*OF_PAIRS, "openr1", "cases"})
"""Studies answered in sentences of the model's own. Elsewhere a reply is a letter, and many are rightly the same."""


class Noted(NamedTuple):
    """One response without its texts.

    `finished`, `prompt_tokens` and `generated_tokens` are the response's. `empty` says whether a reply has no words
    outside its tags. `said` is a digest of the replies where a model has many ways to word them, `sure` holds one of
    each thing that two prompts never share by chance: likelihoods, long replies.
    """

    key: str
    study: str
    finished: tuple[bool, ...]
    prompt_tokens: int
    generated_tokens: int
    empty: bool
    said: bytes | None
    sure: tuple[bytes, ...]


def note(response: Response) -> Noted:
    """Note a response."""
    words = sum(len(reply.split()) for reply in response.replies)
    return Noted(
        key=response.key,
        study=response.study,
        finished=response.finished,
        prompt_tokens=response.prompt_tokens,
        generated_tokens=response.generated_tokens,
        empty=not all(remove_tags(reply).strip() for reply in response.replies),
        said=_digest(response.replies) if response.study in FREE and words else None,
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
    """One prompt as guards need it: its place in the file, and a digest of all that the model is given."""

    file: Path
    row: int
    study: str
    key: str
    content: bytes


def asked(file: Path, prompts: Iterable[Prompt]) -> list[Asked]:
    """Note the prompts of a file, in file order."""
    return [Asked(file, row, one.study, one.key, _content(one)) for row, one in enumerate(prompts, start=1)]


def require_answered(prompts: Sequence[Asked], responses: Sequence[Noted], file: Path) -> None:
    """Refuse responses that are not those of the prompts, one each.

    `file` is that of the responses, which are in file order. EquipoiseError that names the file and the row of the
    first fault.
    """
    wanted = {one.key: one for one in prompts}
    given = {response.key for response in responses}
    for row, response in enumerate(responses, start=1):
        if response.key not in wanted:
            message = (
                f"{file}, row {row}: a response to {response.key!r}, which is not among the prompts of the study: "
                f"delete the row, or run `dvc repro infer@{response.study}`"
            )
            raise EquipoiseError(message)
    if missing := [one for one in prompts if one.key not in given]:
        first = missing[0]
        message = (
            f"{file}: {len(missing)} of {len(wanted)} prompts have no response, first {first.key!r} ({first.file}, row "
            f"{first.row}): run `dvc repro infer@{first.study}`, which asks what is missing"
        )
        raise EquipoiseError(message)


def _content(prompt: Prompt) -> bytes:
    """Digest all that the model is given: not the key, nor the beginning that prompts share, which is in the turns."""
    given = (prompt.system, prompt.prefix, prompt.turns, prompt.given, prompt.candidates, prompt.reply, prompt.limit)
    return hashlib.sha256(repr(given).encode(errors="surrogatepass")).digest()


COMPARED = 5
"""Fewest cases on which two arms are compared: below, equal replies may be chance."""


class Result(NamedTuple):
    """What one prompt got.

    `case` is what the text is about (a presentation, a question, a message), `unit` what its arms are arms of, `asked`
    represents the prompt's words. `said` and `sure` are those of `equipoise.figures.responses`.
    """

    case: Hashable
    unit: str
    arm: str
    asked: Hashable
    said: Hashable | None
    sure: tuple[Hashable, ...]


def results(
    responses: Iterable[Noted], presentations: Mapping[str, str], asked: Mapping[str, Hashable]
) -> list[Result]:
    """Note what responses hold; `presentations` are those of vignettes, `asked` the prompts' contents, both by key.

    Where a prompt is not known, it counts as one of its own.
    """
    found = []
    for response in responses:
        unit, arm = _cut(response)
        case = presentations.get(unnumbered(response.key), unit) if response.study in OF_PAIRS else unit
        key = asked.get(response.key, response.key)
        found.append(Result(case, unit, arm, key, response.said, response.sure))
    return found


def copied(found: Sequence[Result]) -> tuple[int, int]:
    """Count the results that no two prompts share by chance, and those that another case's prompt shares."""
    elsewhere = _Holders((one, content) for one in found for content in one.sure)
    shared = sum(any(elsewhere(one, content) for content in one.sure) for one in found)
    return sum(bool(one.sure) for one in found), shared


def repeated(found: Sequence[Result]) -> tuple[int, int]:
    """Count the replies in sentences, and those that a prompt on another case got word for word."""
    elsewhere = _Holders((one, one.said) for one in found if one.said is not None)
    written = [one for one in found if one.said is not None]
    return len(written), sum(elsewhere(one, one.said) for one in written)


def identical_arms(found: Sequence[Result]) -> tuple[int, int]:
    """Count the pairs of arms compared, and those that agree in all results though they were asked otherwise.

    Two arms are compared on the units where both have a result that tells (`said` or `sure`), at least five.
    """
    arms: dict[str, dict[str, tuple[Hashable, Hashable]]] = defaultdict(dict)
    for one in found:
        if one.said is not None or one.sure:
            arms[one.arm][one.unit] = (one.asked, (one.said, one.sure))
    return agreeing(arms)


def agreeing(arms: Mapping[str, Mapping[str, tuple[Hashable, Hashable]]]) -> tuple[int, int]:
    """Count the pairs of arms that can be compared, and those that agree; an arm holds (asked, result) by unit."""
    compared = same = 0
    for one, other in combinations(sorted(arms), 2):
        n, alike = 0, True
        for unit, (asked, result) in arms[one].items():
            found = arms[other].get(unit)
            if found is not None and found[0] != asked:
                n += 1
                alike = alike and found[1] == result
            if n >= COMPARED and not alike:
                break  # one difference is enough, and arms nearly always have one
        compared += n >= COMPARED
        same += n >= COMPARED and alike
    return compared, same


class _Holders:
    """Who holds each content: asked of one, it says whether a prompt of other words on another case holds it too."""

    def __init__(self, held: Iterable[tuple[Result, Hashable]]) -> None:
        rows = list(held)
        counts = Counter(content for _, content in rows)
        # Nearly every content appears once: only the others are looked into.
        self._all = {content: count for content, count in counts.items() if count > 1}
        twice = [(one, content) for one, content in rows if content in self._all]
        self._case = Counter((content, one.case) for one, content in twice)
        self._asked = Counter((content, one.asked) for one, content in twice)
        self._both = Counter((content, one.case, one.asked) for one, content in twice)

    def __call__(self, one: Result, content: Hashable) -> bool:
        if content not in self._all:
            return False
        alike = self._case[content, one.case] + self._asked[content, one.asked]
        return self._all[content] > alike - self._both[content, one.case, one.asked]


def _cut(response: Noted) -> tuple[str, str]:
    """Cut a key into the unit and its arm: `<pair>/<role>`, `<item>/<arm>`; a saved output has none."""
    if response.study == "cases":
        return response.key, ""
    if response.study in OF_PAIRS:
        pair, _, role = response.key.rpartition("/")
        return pair, role
    unit, _, arm = response.key.partition("/")
    return unit, arm
