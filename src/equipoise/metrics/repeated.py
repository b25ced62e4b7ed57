"""Duplicate results: a copied row, a cache that mixed up two questions, a model that says one thing to all.

What a prompt got is compared with what other prompts got, by content. Prompts that are the same word for word are
never compared: equal questions have equal answers. Nor are texts on one case, whose arms differ in a word or two.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from equipoise.metrics.noted import Noted
    from equipoise.stigma.rows import Fill

COMPARED = 5
"""Fewest cases on which two arms are compared: below, equal replies may be chance."""


class Result(NamedTuple):
    """What one prompt got.

    `case` is what the text is about (a presentation, a question, a message), `unit` what its arms are arms of, `asked`
    stands for the prompt's words. `said` and `sure` are those of `equipoise.metrics.noted`.
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
        case = presentations.get(response.key, unit) if response.study == "vignettes" else unit
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
    return _agreeing(arms)


def identical_fills(fills: Sequence[Fill]) -> tuple[int, int]:
    """Count the pairs of conditions, and of templates of a question, and those pairs whose probabilities all agree.

    Sentences in which no word of either gender was found tell nothing, and are left out.
    """
    conditions: dict[str, dict[str, tuple[Hashable, Hashable]]] = defaultdict(dict)
    templates: dict[str, dict[str, dict[str, tuple[Hashable, Hashable]]]] = defaultdict(lambda: defaultdict(dict))
    for fill in fills:
        if fill.female + fill.male > 0:
            value = (fill.key, (fill.female, fill.male, fill.unspecified))
            conditions[fill.condition][f"{fill.question}/{fill.template}"] = value
            templates[fill.question][fill.template][fill.condition] = value
    counts = [_agreeing(table) for table in (conditions, *templates.values())]
    return sum(compared for compared, _ in counts), sum(same for _, same in counts)


def _agreeing(arms: Mapping[str, Mapping[str, tuple[Hashable, Hashable]]]) -> tuple[int, int]:
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
        # Nearly every content stands once: only the others are looked into.
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
    """Cut a key into the unit and its arm: `<pair>/<role>`, `<item>/<arm>`; a saved output stands alone."""
    if response.study == "cases":
        return response.key, ""
    if response.study == "vignettes":
        pair, _, role = response.key.rpartition("/")
        return pair, role
    unit, _, arm = response.key.partition("/")
    return unit, arm
