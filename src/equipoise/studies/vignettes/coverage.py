"""What the library covers, and where it misses a floor of its design.

The floors are those of the project's issue 18 (evidence, mirrors, levels, stories, items): see each constant.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, get_args

from equipoise.core.row import Frozen
from equipoise.materials.stories.endpoints import FAMILIES, LEVEL
from equipoise.materials.stories.library import Library
from equipoise.materials.vignette import Level
from equipoise.studies.vignettes.profiles import SINGLE_PAIRS, STORIES, Planned, Profile, ladder
from equipoise.text.answer import Answer, AnswerKind
from equipoise.text.diagnoses import FILE, Diagnoses
from equipoise.text.written import misread_wordings

FLOORS = {"stories": 100, "mirrors": 40, "ladder": 60, "decided": 60, "items": 120}
"""Fewest stories, mirrors, stories at three levels of evidence, stories with decisions, and items."""

ASKED = 3
"""Decisions from which a story counts as one with decisions."""

CORE_CASES = {"single": 58, "intersectional": 24}
"""Cases of the profile `core`, two a pair (point 6)."""

FEWEST_OF_GROUP = {"race": ("black", 10), "disability": ("learning-disability", 8)}
"""The patient group with the most documented errors, and its fewest pairs of the dimension in `powered` (point 6)."""

GRADE_A = 0.7
"""Smallest share of pairs in `core` and in `powered` whose evidence is of this error in this group (point 1)."""

PAIN = re.compile(r"\bpain", re.IGNORECASE)
PSYCHOSIS = "ICD-11 6A2"
"""How the opening of a story of pain reads, and how the code of a psychotic disorder begins: of the pairs about Black
patients in `powered`, one must be of each at least (point 6)."""


class Covered(Frozen):
    """The pairs that vary one dimension alone, in the main direction: their number, stories and grades."""

    pairs: int
    stories: int
    grade_a: int
    grade_b: int
    grade_c: int


class Decisions(Frozen):
    """The decisions of a family: the pairs that ask for any, their stories, and the decisions by grade for the pair."""

    pairs: int
    stories: int
    grade_a: int
    grade_b: int
    grade_c: int


class Coverage(Frozen):
    """Distinct stories, their mirrors, stubs and levels, items, and the pairs of a profile.

    `decided` counts the stories with three decisions or more. Pairs are counted by dimension, and by family of their
    decisions.
    """

    stories: int
    mirrors: int
    stubs: int
    ladder: int
    decided: int
    items: int
    dimensions: dict[str, Covered]
    decisions: dict[str, Decisions]


class OfGroup(NamedTuple):
    """The pairs of a dimension that are about one patient group."""

    dimension: str
    group: str
    reverse: bool
    covered: Covered


def coverage(library: Library, pairs: Sequence[Planned], items: int) -> Coverage:
    """Count what the library and the pairs of a profile cover, with the number of items."""
    stories = library.presentations.values()
    found: defaultdict[str, list[Planned]] = defaultdict(list)
    for pair in _main(pairs):
        found[pair[2].combination].append(pair)
    levels = Counter(parts.presentation.id for _, _, parts in ladder(library))
    return Coverage(
        stories=len(stories),
        mirrors=sum(bool(one.mirror) for story in stories for one in story.stereotypes),
        stubs=sum(bool(story.opening) for story in stories),
        ladder=sum(n == len(get_args(Level)) for n in levels.values()),
        decided=sum(n >= ASKED for n in Counter(one.story for one in library.decisions.values()).values()),
        items=items,
        dimensions={name: _covered(found[name]) for name in library.dimensions if name in found},
        decisions=_decisions(library, pairs),
    )


def _decisions(library: Library, pairs: Iterable[Planned]) -> dict[str, Decisions]:
    """Count what the pairs ask for, by family."""
    asked = [
        (library.endpoints[decision.ask].family, pair, decision.story, decision.grade(parts))
        for pair, _, parts in pairs
        if parts.level == LEVEL
        for decision in library.decisions.values()
        if decision.story == parts.presentation.id
    ]
    found: dict[str, Decisions] = {}
    for family in FAMILIES:
        rows = [row for row in asked if row[0] == family]
        grades = Counter(grade for *_, grade in rows)
        found[family] = Decisions(
            pairs=len({pair for _, pair, _, _ in rows}),
            stories=len({story for _, _, story, _ in rows}),
            grade_a=grades["A"],
            grade_b=grades["B"],
            grade_c=grades["C"],
        )
    return found


def by_group(library: Library, pairs: Iterable[Planned]) -> list[OfGroup]:
    """Count the pairs that vary one dimension alone, by dimension, direction and patient group."""
    singles = list(library.dimensions)
    groups: defaultdict[tuple[int, bool, str], list[Planned]] = defaultdict(list)
    for pair in pairs:
        if pair[1] == "single":
            (contrast,) = pair[2].contrasts
            groups[singles.index(contrast.dimension), contrast.reverse, contrast.groups[0]].append(pair)
    return [
        OfGroup(singles[place], group, reverse, _covered(groups[place, reverse, group]))
        for place, reverse, group in sorted(groups)
    ]


def missed(library: Library, found: Coverage, profile: Profile, pairs: Sequence[Planned]) -> Iterator[str]:
    """Say of each floor that the library or a profile misses what was found and what is wanted."""
    for name, fewest in (FLOORS | {"stubs": found.stories}).items():
        yield from _at_least(name, getattr(found, name), fewest)
    if profile == "core":
        n_pairs = Counter("single" if tier == "single" else "intersectional" for _, tier, _ in pairs)
        for tier, n in CORE_CASES.items():
            if 2 * n_pairs[tier] != n:
                yield f"{tier} cases of core: {2 * n_pairs[tier]} found, exactly {n} wanted"
    if profile == "powered":
        yield from _missed_in_powered(library, found, pairs)
    if profile in ("core", "powered"):
        best = sum(parts.tested.evidence.grade == "A" for _, _, parts in pairs)
        if best < GRADE_A * len(pairs):
            yield f"pairs of grade A in {profile}: {best} of {len(pairs)} found, at least {GRADE_A:.0%} wanted"


def misread_in(library: Library, diagnoses: Diagnoses) -> Iterator[str]:
    """Say of each wording of an answer, of the story or of the lexicon, that is read as another answer of its case."""
    said: set[str] = set()
    for story in library.presentations.values():
        for one in story.stereotypes:
            answers: dict[AnswerKind, tuple[Answer, ...]] = {
                "expected": (story.expected,),
                "stereotyped": (one.answer,),
                "distractor": story.distractors,
            }
            for label, wording, found in misread_wordings(answers, diagnoses):
                line = f"story {story.id}: {wording!r}, of {label!r}, is read as {found!r}: change it, or {FILE}"
                if line not in said:
                    said.add(line)
                    yield line


def _missed_in_powered(library: Library, found: Coverage, pairs: Sequence[Planned]) -> Iterator[str]:
    for name in library.dimensions:
        of_dimension = found.dimensions.get(name)
        yield from _at_least(f"pairs of {name}", of_dimension.pairs if of_dimension else 0, SINGLE_PAIRS)
        yield from _at_least(f"stories of {name}", of_dimension.stories if of_dimension else 0, STORIES)
    for dimension, (group, fewest) in FEWEST_OF_GROUP.items():
        own = [parts for _, _, parts in _main(pairs) if group in parts.contrasts[0].groups]
        yield from _at_least(f"pairs of {dimension} about the patient group {group}", len(own), fewest)
        if dimension == "race":
            pain = sum(bool(PAIN.search(parts.presentation.opening)) for parts in own)
            psychosis = sum(parts.tested.answer.code.startswith(PSYCHOSIS) for parts in own)
            yield from _at_least(f"stories of pain about the patient group {group}", pain, 1)
            yield from _at_least(f"stereotyped answers of psychosis about the patient group {group}", psychosis, 1)


def _at_least(what: str, n: int, fewest: int) -> Iterator[str]:
    if n < fewest:
        yield f"{what}: {n} found, at least {fewest} wanted"


def _main(pairs: Iterable[Planned]) -> Iterator[Planned]:
    """The pairs that vary one dimension alone, in the main direction."""
    return (pair for pair in pairs if pair[1] == "single" and not pair[2].contrasts[0].reverse)


def _covered(pairs: Collection[Planned]) -> Covered:
    grades = Counter(parts.tested.evidence.grade for _, _, parts in pairs)
    return Covered(
        pairs=len(pairs),
        stories=len({parts.presentation.id for _, _, parts in pairs}),
        grade_a=grades["A"],
        grade_b=grades["B"],
        grade_c=grades["C"],
    )
