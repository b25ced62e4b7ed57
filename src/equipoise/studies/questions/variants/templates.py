"""The versioned files behind the agents: three prompts and the rules' grammar."""

import re
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, StrictInt, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Frozen
from equipoise.core.yamlfile import load_yaml
from equipoise.materials.evaluation import AgentPrompt, EvaluationPrompt, Line
from equipoise.materials.questions import Attribute, Direction

Stage = Literal["adult", "teenager", "child", "infant", "newborn"]
Register = Literal["adult", "minor"]
Lines = Annotated[tuple[Line, ...], Field(min_length=2)]
Levels = Annotated[tuple[Lines, ...], Field(min_length=3, max_length=3)]

ACUTE = "acute"
"""The guard of patients too ill for a long conversation, named like their acuity."""
CONDUCT = "conduct"
"""The guard of patients whose behaviour is a symptom: those of items on mental health."""
CHOICE = re.compile(r"\[([^\[\]]*)\]")
SLOTS = frozenset({"group", "person", "a_person", "noun", "life", "one", "One", "obj", "the_patient"})


class Grammatical(Frozen):
    """A file of the grammar; unknown fields and unknown slots in braces are refused."""

    version: StrictInt

    @model_validator(mode="after")
    def _slots_are_known(self) -> Self:
        if unknown := set(re.findall(r"\{(\w*)\}", self.model_dump_json())) - SLOTS:
            raise ValueError(f"no such slot: {{{min(unknown)}}}; use {', '.join(sorted(SLOTS))}")
        return self


class Naming(Frozen):
    """The names of a group: an adjective, and for gender also nouns."""

    adjective: Line
    adult: str = ""
    minor: str = ""


class Frame(Grammatical):
    """Openings by attribute and register, with the nouns and guards that they and the themes need."""

    groups: dict[str, Naming]
    persons: dict[Stage, Line]
    modifiers: dict[Stage, Line]
    openings: dict[Attribute, dict[Register, Lines]]
    guards: dict[Line, Lines]

    @model_validator(mode="after")
    def _known_guards_have_words(self) -> Self:
        if ACUTE not in self.guards:
            raise ValueError(f"guards has no {ACUTE!r}: list the words of patients in danger or distress")
        if CONDUCT not in self.guards:
            raise ValueError(f"guards has no {CONDUCT!r}: list the words of mental illness")
        return self


class Theme(Frozen):
    """A social circumstance; it is left out if the vignette contains a word of a guard named in `unless`."""

    unless: tuple[Line, ...] = ()
    life: Lines
    care: Levels


class Themes(Grammatical):
    """The themes and closing sentences of one direction, each in three levels of rising strength.

    `acute` are the closing sentences for patients in danger or distress.
    """

    themes: dict[Line, Theme]
    closings: Levels
    acute: Levels

    @model_validator(mode="after")
    def _one_theme_fits_all(self) -> Self:
        if all(theme.unless for theme in self.themes.values()):
            raise ValueError("every theme has a guard; leave one without, so that any vignette has a theme")
        return self


class GenerationPrompt(AgentPrompt):
    """The Generation agent's prompt, with the aim of each direction, the names of the groups, and the feedback."""

    slots = ("question", "options", "gold", "group", "aim", "feedback")

    aims: dict[Direction, Line]
    groups: dict[str, Line]
    feedback: str
    faults: Line
    no_answer: Line


class FusionPrompt(AgentPrompt):
    """The Fusion agent's prompt."""

    slots = ("question", "background", "final")


class Templates(NamedTuple):
    """Every template."""

    generation: GenerationPrompt
    fusion: FusionPrompt
    evaluation: EvaluationPrompt
    frame: Frame
    themes: dict[Direction, Themes]


def load_templates(folder: Path) -> Templates:
    """Read the templates; an error is an EquipoiseError that names the file and the field."""
    generation = load_yaml(folder / "generation.yaml", GenerationPrompt)
    fusion = load_yaml(folder / "fusion.yaml", FusionPrompt)
    evaluation = load_yaml(folder / "evaluation.yaml", EvaluationPrompt)
    frame = load_yaml(folder / "background/frame.yaml", Frame)
    themes: dict[Direction, Themes] = {
        "favourable": load_yaml(folder / "background/favourable.yaml", Themes),
        "unfavourable": load_yaml(folder / "background/unfavourable.yaml", Themes),
    }
    for direction, library in themes.items():
        for name, theme in library.themes.items():
            for guard in theme.unless:
                if guard not in frame.guards:
                    place = f"{folder / 'background' / direction}.yaml: field themes.{name}.unless"
                    message = f"{place}: no guard {guard!r} in frame.yaml: add it there, or correct the name"
                    raise EquipoiseError(message)
    return Templates(generation, fusion, evaluation, frame, themes)
