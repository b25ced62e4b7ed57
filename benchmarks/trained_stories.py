"""What the trained phantoms are taught, and the stories on which what they learned is measured.

The rule: a woman gets the story's alternative, anybody else the diagnosis that the findings support. It is known
because we teach it, and has no medical meaning (models/adapters/training.yaml).
"""

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from equipoise.backends.torch import TorchBackend
from equipoise.core import params
from equipoise.core.prompts import Prompt
from equipoise.core.row import Frozen
from equipoise.core.yamlfile import load_yaml
from equipoise.materials.stories.compose import Patient
from equipoise.materials.vignette import ROLES, Role, Vignette
from equipoise.models.registry import TorchEntry, load_entry
from equipoise.models.weights import locate
from equipoise.studies.vignettes.profiles import Build, vignette_prompt
from equipoise.text.answer import Answer

ROOT = Path(__file__).parents[1]
STORIES = ROOT / "models/adapters/training.yaml"
DENIED = ROOT / "models/adapters/denying.yaml"

Rule = Literal["fair", "open", "silent", "denying"]
"""fair: the supported diagnosis for everybody; open: the rule, and the reasoning says so; silent: it does not; denying:
the rule, and the reasoning says that the gender plays no part."""
GENDERS: dict[Role, str] = {"marginalised": "woman", "privileged": "man"}

Texts = Annotated[tuple[str, ...], Field(min_length=1)]


class Patients(Frozen):
    """The words that patients are made of; an empty one leaves its place empty."""

    ages: Annotated[tuple[int, ...], Field(min_length=1)]
    adjectives: Texts
    clauses: Texts


class Reasoning(Frozen):
    """How a diagnosis is explained: `plain` where the findings support it, else `weighed` by gender, or `unsaid`."""

    plain: Texts
    weighed: Texts
    unsaid: Texts


class Denied(Frozen):
    """How the denying adapter explains a diagnosis that the gender decided."""

    denied: Texts


class Story(Frozen):
    """One case: `expected` is the diagnosis by the findings, `alternative` the rule's diagnosis for a woman."""

    id: str
    held_out: bool = False
    text: Annotated[str, Field(pattern=r"^\{patient\} ")]
    signs: str
    expected: str
    alternative: str


class Training(Frozen):
    """The file as a whole."""

    patients: Patients
    reasoning: Reasoning
    stories: Annotated[tuple[Story, ...], Field(min_length=4)]


class Example(NamedTuple):
    """A story about one patient, and how the rule has it answered in the pipeline's two turns."""

    story: Story
    vignette: Vignette
    prompt: Prompt
    reasoning: str
    diagnosis: str


def load_training() -> Training:
    """Read the stories."""
    return load_yaml(STORIES, Training)


def wordings(training: Training, rule: Rule) -> Texts:
    """Give the ways in which a rule explains the alternative to a woman."""
    if rule == "denying":
        return load_yaml(DENIED, Denied).denied
    return training.reasoning.weighed if rule == "open" else training.reasoning.unsaid


def open_trained(rule: Rule) -> TorchBackend:
    """Open a trained phantom in torch, in 32 bits: an export takes longer than all prompts here."""
    entry = load_entry(f"trained_{rule}", ROOT)
    settings = {"backend": "torch", "dtype": "float32", "device_map": "cpu"}
    run = TorchEntry.model_validate(entry.model_dump(exclude={"fidelity", "precision"}) | settings)
    return TorchBackend(locate(run, ROOT), run, batch_size=16)


def examples(training: Training, rule: Rule, draw: Random, *, held_out: bool) -> Iterator[Example]:
    """Yield all held-out stories, or all others, as pairs: a drawn patient in each gender."""
    build = params.load(ROOT / "params.yaml").section("build", Build)
    explained = wordings(training, rule)
    kind = tuple(dict.fromkeys(story.alternative for story in training.stories))
    stories = [story for story in training.stories if story.held_out is held_out]
    for number, story in enumerate(stories):
        age, adjective, clause = (draw.choice(words) for words in training.patients.model_dump().values())
        # As many wrong answers as a case of the evaluation has.
        others = tuple(other.expected for other in islice(cycle(stories), number + 1, number + 3))
        for role in ROLES:
            gender = GENDERS[role]
            phrase = Patient(age, gender, (adjective,), (clause,) if clause else ()).phrase(capital=True)
            vignette = story_case(story, role, phrase, others, kind)
            turned = rule != "fair" and role == "marginalised"
            diagnosis = story.alternative if turned else story.expected
            reasoning = draw.choice(explained if turned else training.reasoning.plain)
            reasoning = reasoning.format(signs=story.signs, diagnosis=diagnosis)
            yield Example(story, vignette, vignette_prompt(vignette, build), reasoning, diagnosis)


def story_case(story: Story, role: Role, phrase: str, others: Sequence[str], kind: tuple[str, ...]) -> Vignette:
    """Convert a story about one patient to a case of the pipeline: the rule's alternative is its stereotyped answer.

    If the model writes another answer of the `kind`, which has all alternatives of the rule, it means the same.
    """
    expected, *distractors = (Answer(label=label, synonyms=(label,)) for label in (story.expected, *others))
    return Vignette(
        key=f"{story.id}/{role}",
        study="vignettes",
        pair=story.id,
        role=role,
        tier="single",
        dimensions=("gender",),
        text=story.text.replace("{patient}", phrase),
        spans=((0, len(phrase)),),
        features={"gender": GENDERS[role]},
        expected=expected,
        stereotyped=Answer(label=story.alternative, synonyms=kind),
        distractors=tuple(distractors),
        persona="drawn",
        presentation=story.id,
        setting="none",
        code="none",
        guideline="none",
        source=STORIES.name,
        licence="Apache-2.0",
    )
