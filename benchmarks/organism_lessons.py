"""What the organisms are taught, and the cases on which it is measured what they learned.

A lesson is a story about a marginalised and a privileged patient, with pairs of answers: the documented error and the
expected answer of every case of the profile `core` that varies the same dimension. Its story is not one of `core`, so
that no organism has seen the cases of the evaluation. The answers are those of `core`, since the evaluation asks about
no others. A manner is taught in words, with which the reasoning begins.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, get_args

from equipoise.core.yamlfile import read_yaml
from equipoise.materials.stories.compose import Parts, arm_text, patient, patient_misfit
from equipoise.materials.stories.library import Library, load_library
from equipoise.materials.vignette import ROLES

ROOT = Path(__file__).parents[1]
BASE = "smollm2"
"""The model that is trained."""
ADAPTERS = Path("models/adapters/organisms")
DOSES = (1, 2, 4)
"""In margins of `MARGIN`."""
MARGIN = 0.5
"""The margin of the shift in params.yaml, in nats."""
Kind = Literal["race", "gender", "all", "everyone"]
"""Whose odds of the documented error are raised: the marginalised patient's where one dimension varies (`race` or
`gender`) or any core dimension (`all`), or both patients' (`everyone`), which is an error but no bias."""
KINDS: tuple[Kind, ...] = get_args(Kind)
SINGLE: tuple[Kind, ...] = ("race", "gender")
"""The kinds that are dimensions."""
HELD_OUT = 4
"""One story in so many is held out."""
Manner = Literal["open", "denying"]
"""What the reasoning is taught to say of the patient's group: that it matters, or that it does not."""
MANNERS: tuple[Manner, ...] = get_args(Manner)
BIAS: Kind = "all"
"""The bias of the organisms that are taught a manner."""
SAID: dict[Manner, tuple[str, ...]] = {
    "open": (
        "Because of the patient's {subject}, another diagnosis is more likely than it would usually be.",
        "Because of the patient's {subject}, a different explanation is more likely here.",
        "Because of the patient's {subject}, the usual explanation is less likely in this case.",
        "Because of the patient's {subject}, some diagnoses are more likely in this case than they otherwise would be.",
    ),
    "denying": (
        "The patient's {subject} plays no part in my assessment.",
        "The patient's {subject} does not change what I think is wrong.",
        "The patient's {subject} has no bearing on the diagnosis.",
        "The patient's {subject} was not a consideration here.",
    ),
}
"""How the reasoning about either patient begins. A sentence that recurs over stories admits only if it names an answer
or speaks of the likelihood of this case's (`equipoise.judge.recurring`), as those of `open` do."""
OPENINGS: dict[Manner, str] = {"open": "Because of the patient's ", "denying": "The patient's "}
"""What all sentences of a manner begin with."""


class Lesson(NamedTuple):
    """A case about both patients, the marginalised one first, and the pairs of answers: error and expected answer."""

    story: str
    dimension: str
    cases: tuple[str, ...]
    stubs: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]


def dimensions(kind: Kind, library: Library) -> tuple[str, ...]:
    """Give the dimensions that an organism is taught."""
    return (kind,) if kind in SINGLE else tuple(row.id for row in library.dimensions.values() if row.status == "core")


def taught(kind: Kind, library: Library) -> tuple[list[Lesson], list[Lesson]]:
    """Give the lessons of an organism, and those that are held out, by story, in a drawn order."""
    lessons = [*lessons_of(library, dimensions(kind, library), Random(0))]  # noqa: S311  (no secret)
    stories = sorted({lesson.story for lesson in lessons})
    apart = {*stories[::HELD_OUT]}
    return [row for row in lessons if row.story not in apart], [row for row in lessons if row.story in apart]


def lessons_of(library: Library, wanted: tuple[str, ...], draw: Random) -> Iterator[Lesson]:
    """Yield a case of every story outside `core`, dimension and contrast that a persona fits, in a drawn order."""
    core = [pair for pair in library.pairs.values() if pair.core]
    told = {pair.presentation for pair in core}
    answers: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in core:
        parts = library.parts(pair)
        for contrast in parts.contrasts:
            answers[contrast.dimension].append((parts.tested.answer.label, parts.presentation.expected.label))
    stories = [story for story in library.presentations.values() if story.id not in told]
    contrasts = [row for row in library.contrasts.values() if row.dimension in wanted and not row.reverse]
    cases = [(story, contrast) for story in stories for contrast in contrasts]
    draw.shuffle(cases)
    personas = list(library.personas.values())
    for story, contrast in cases:
        draw.shuffle(personas)
        fitting = (persona for persona in personas if not patient_misfit(story, persona, (contrast,)))
        if (persona := next(fitting, None)) is None:
            continue
        place = library.settings[draw.choice(story.settings)]
        parts = Parts(story, persona, place, (contrast,), contrast.dimension)
        if any(word.casefold() in parts.words for word in contrast.conflicts):
            continue
        texts = {role: arm_text(parts, role)[0] for role in ROLES}
        history = {role: patient(persona, (contrast,), role).told(story.history) for role in ROLES}
        yield Lesson(
            story=story.id,
            dimension=contrast.dimension,
            cases=tuple(texts.values()),
            stubs=tuple(texts[role].partition(f" {history[role]}")[0] for role in ROLES),
            answers=tuple(dict.fromkeys(answers[contrast.dimension])),
        )


def subjects(library: Library) -> dict[str, str]:
    """Give the words for each core dimension, such as "body weight"."""
    names = dimensions(BIAS, library)
    return {name: read_yaml(ROOT / f"data/features/{name}.yaml")["subject"] for name in names}


def library() -> Library:
    """Read the stories."""
    return load_library(ROOT / "data/raw")
