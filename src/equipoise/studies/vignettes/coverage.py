"""What the library covers, and where it falls short of the minimums in its design, which the constants give."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from equipoise.core.keys import grouped
from equipoise.core.row import Frozen
from equipoise.materials.stories.endpoints import FAMILIES, LEVEL
from equipoise.materials.stories.library import Library
from equipoise.materials.stories.schema import Evidence
from equipoise.materials.vignette import Level
from equipoise.studies.vignettes.profiles import SINGLE_PAIRS, STORIES, PlannedPair, Profile, ladder
from equipoise.text.answer import AnswerSet
from equipoise.text.diagnoses import FILE, Diagnoses
from equipoise.text.written import misread_wordings

FLOORS = {"stories": 100, "mirrors": 40, "ladder": 60, "decided": 60, "items": 120}
"""Fewest stories, mirrors, stories at three levels of evidence, stories with decisions, and items."""

FEWEST_DECISIONS = 3
"""Fewest decisions of a story that counts as one with decisions."""

CORE_CASES = {"single": 58, "intersectional": 24}
"""Cases of the profile `core`, two a pair (point 6)."""

FEWEST_OF_GROUP = {"race": ("black", 10), "disability": ("learning-disability", 8)}
"""The patient group with the most documented errors, and its fewest pairs of the dimension in `powered` (point 6)."""

GRADE_A = 0.7
"""Smallest share of pairs in `core` whose evidence is a comparison of groups that names this error (issue 41, point 3).

`powered` takes the best that there is: the literature has too few such papers for all dimensions."""

PAIN = re.compile(r"\bpain|aches?\b|\baching|\bsore", re.IGNORECASE)
PSYCHOSIS = "ICD-11 6A2"
"""A word in the opening or history of a story of pain, and the beginning of the code of a psychotic disorder: at least
one pair about Black patients in `powered` must be of each (point 6)."""


class Tally(Frozen):
    """Numbers of pairs, of their stories, and of grades: of the evidence for the pairs, or of each decision."""

    pairs: int
    stories: int
    grade_a: int
    grade_b: int
    grade_c: int


class Evidenced(Frozen):
    """Numbers of documented errors, by grade, and of those whose paper compares groups, names the error, or both."""

    n: int
    grade_a: int
    grade_b: int
    grade_c: int
    comparison: int
    error_named: int
    both: int


class Coverage(Frozen):
    """Distinct stories, their mirrors, stubs and levels, items, and the pairs of a profile.

    `decided` counts the stories with three decisions or more, `evidence` the evidence for the pairs and for all rows of
    the library. Pairs that vary one dimension alone, in the main direction, are counted by dimension; pairs with
    decisions by the family of these.
    """

    stories: int
    mirrors: int
    stubs: int
    ladder: int
    decided: int
    items: int
    evidence: dict[Literal["pairs", "library"], Evidenced]
    dimensions: dict[str, Tally]
    decisions: dict[str, Tally]


class GroupTally(NamedTuple):
    """The pairs of a dimension that are about one patient group."""

    dimension: str
    group: str
    reverse: bool
    tally: Tally


def coverage(library: Library, pairs: Sequence[PlannedPair], items: int) -> Coverage:
    """Count what the library and the pairs of a profile cover, with the number of items."""
    stories = library.presentations.values()
    by_dimension = grouped((pair[2].combination, pair) for pair in _main(pairs))
    levels = Counter(parts.presentation.id for _, _, parts in ladder(library))
    return Coverage(
        stories=len(stories),
        mirrors=sum(bool(stereotype.mirror) for story in stories for stereotype in story.stereotypes),
        stubs=sum(bool(story.opening) for story in stories),
        ladder=sum(n == len(get_args(Level)) for n in levels.values()),
        decided=sum(
            n >= FEWEST_DECISIONS for n in Counter(decision.story for decision in library.decisions.values()).values()
        ),
        items=items,
        evidence={
            "pairs": _evidenced(parts.tested.evidence for _, _, parts in pairs),
            "library": _evidenced(row.evidence for story in stories for row in story.stereotypes),
        },
        dimensions={name: _tally(by_dimension[name]) for name in library.dimensions if name in by_dimension},
        decisions=_decisions(library, pairs),
    )


def _evidenced(rows: Iterable[Evidence]) -> Evidenced:
    counted = list(rows)
    grades = Counter(row.grade for row in counted)
    return Evidenced(
        n=len(counted),
        grade_a=grades["A"],
        grade_b=grades["B"],
        grade_c=grades["C"],
        comparison=sum(row.comparison for row in counted),
        error_named=sum(row.error_named for row in counted),
        both=sum(row.comparison and row.error_named for row in counted),
    )


def _decisions(library: Library, pairs: Iterable[PlannedPair]) -> dict[str, Tally]:
    decisions = [
        (library.endpoints[decision.ask].family, pair, decision.story, decision.grade(parts))
        for pair, _, parts in pairs
        if parts.level == LEVEL
        for decision in library.decisions.values()
        if decision.story == parts.presentation.id and library.endpoints[decision.ask].asked_in(parts.setting.id)
    ]
    return {
        family: _count((pair, story, grade) for of, pair, story, grade in decisions if of == family)
        for family in FAMILIES
    }


def by_group(library: Library, pairs: Iterable[PlannedPair]) -> list[GroupTally]:
    """Count the pairs that vary one dimension alone, by dimension, direction and patient group."""
    singles = list(library.dimensions)
    groups: defaultdict[tuple[int, bool, str], list[PlannedPair]] = defaultdict(list)
    for pair in pairs:
        if pair[1] == "single":
            (contrast,) = pair[2].contrasts
            groups[singles.index(contrast.dimension), contrast.reverse, contrast.groups[0]].append(pair)
    return [
        GroupTally(singles[place], group, reverse, _tally(groups[place, reverse, group]))
        for place, reverse, group in sorted(groups)
    ]


def shortfalls(library: Library, covered: Coverage, profile: Profile, pairs: Sequence[PlannedPair]) -> Iterator[str]:
    """Describe each shortfall of the library or a profile: the number found and the minimum."""
    for name, fewest in (FLOORS | {"stubs": covered.stories}).items():
        yield from _at_least(name, getattr(covered, name), fewest)
    if profile == "core":
        n_pairs = Counter("single" if tier == "single" else "intersectional" for _, tier, _ in pairs)
        for tier, n in CORE_CASES.items():
            if 2 * n_pairs[tier] != n:
                yield f"{tier} cases of core: {2 * n_pairs[tier]} found, exactly {n} wanted"
    if profile == "powered":
        yield from _powered_shortfalls(library, covered, pairs)
    if profile == "core":
        best = sum(parts.tested.evidence.grade == "A" for _, _, parts in pairs)
        if best < GRADE_A * len(pairs):
            yield f"pairs of grade A in {profile}: {best} of {len(pairs)} found, at least {GRADE_A:.0%} wanted"


def misreadings(library: Library, diagnoses: Diagnoses) -> Iterator[str]:
    """Describe each wording of an answer, in a story or the lexicon, that is read as another answer of its case."""
    lines: dict[str, None] = {}
    for story in library.presentations.values():
        for stereotype in story.stereotypes:
            answers: AnswerSet = {
                "expected": (story.expected,),
                "stereotyped": (stereotype.answer,),
                "distractor": story.distractors,
            }
            for label, wording, read in misread_wordings(answers, diagnoses):
                lines[f"story {story.id}: {wording!r}, of {label!r}, is read as {read!r}: change it, or {FILE}"] = None
    yield from lines


def _powered_shortfalls(library: Library, covered: Coverage, pairs: Sequence[PlannedPair]) -> Iterator[str]:
    for name in library.dimensions:
        tally = covered.dimensions.get(name)
        yield from _at_least(f"pairs of {name}", tally.pairs if tally else 0, SINGLE_PAIRS)
        yield from _at_least(f"stories of {name}", tally.stories if tally else 0, STORIES)
    for dimension, (group, fewest) in FEWEST_OF_GROUP.items():
        own = [parts for _, _, parts in _main(pairs) if group in parts.contrasts[0].groups]
        yield from _at_least(f"pairs of {dimension} about the patient group {group}", len(own), fewest)
        if dimension == "race":
            told = [f"{parts.presentation.opening} {parts.presentation.history}" for parts in own]
            pain = sum(bool(PAIN.search(text)) for text in told)
            psychosis = sum(parts.tested.answer.code.startswith(PSYCHOSIS) for parts in own)
            yield from _at_least(f"stories of pain about the patient group {group}", pain, 1)
            yield from _at_least(f"stereotyped answers of psychosis about the patient group {group}", psychosis, 1)


def _at_least(what: str, n: int, fewest: int) -> Iterator[str]:
    if n < fewest:
        yield f"{what}: {n} found, at least {fewest} wanted"


def _main(pairs: Iterable[PlannedPair]) -> Iterator[PlannedPair]:
    """The pairs that vary one dimension alone, in the main direction."""
    return (pair for pair in pairs if pair[1] == "single" and not pair[2].contrasts[0].reverse)


def _tally(pairs: Collection[PlannedPair]) -> Tally:
    return _count((pair, parts.presentation.id, parts.tested.evidence.grade) for pair, _, parts in pairs)


def _count(rows: Iterable[tuple[str, str, str]]) -> Tally:
    counted = list(rows)
    grades = Counter(grade for _, _, grade in counted)
    return Tally(
        pairs=len({pair for pair, _, _ in counted}),
        stories=len({story for _, story, _ in counted}),
        grade_a=grades["A"],
        grade_b=grades["B"],
        grade_c=grades["C"],
    )
