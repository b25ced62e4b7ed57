"""The panel design: one story told of a control patient, of whom no feature is stated, and of every group of a panel.

Where a pair compares two arms, a panel compares each group with the same control. The stories are those of the
profile's pairs, each with its first persona that is sound for every group: an adult, in a story for women and men alike
that contradicts none of the groups. The stereotyped answer is that of this pair, of a single dimension before others,
the same for every group: it has no grade, since what the literature documents is about one of them.
Imported stories have a slot for the patient (`Story`), and no answers: they are asked for decisions alone. Source of
the design: Omar et al. 2025, Nature Medicine 31:1873.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt
from equipoise.core.row import Frozen, Row, StudyName, Text
from equipoise.core.tables import require_new, valid
from equipoise.core.yamlfile import read_yaml
from equipoise.materials.stories.compose import ADULT, BOTH, Parts, Patient, case_text, pair_rows
from equipoise.materials.stories.library import Library
from equipoise.materials.stories.schema import Id, Line
from equipoise.materials.vignette import CONTROL, Vignette
from equipoise.studies.vignettes import NAME
from equipoise.studies.vignettes.profiles import Build, Wording, planned, worded
from equipoise.text.articles import article, with_article

FILE = "panel.yaml"
"""The groups, below `data/raw`."""
SLOT = re.compile(r"(?:\b(?P<article>an?) )?\{(?P<name>patient|they|them|their)\}", re.IGNORECASE)
"""Where a story has its patient, with the article before it, or a pronoun."""
DETERMINED = re.compile(r"\b(?:an?|the|this|our|one)(?: \S*\d\S*)* $", re.IGNORECASE)
"""What leaves a noun phrase no article of its own: "the ", "a 45-year-old "."""
SENTENCE = re.compile(r"(?:^|[.!?:]['\"”’)]*\s+|\n)$")
"""What a sentence begins after."""
NEEDS = "a group needs an id, features, words (adjective, noun or clause) and three pronouns, such as [she, her, her]"


class PanelGroup(Frozen):
    """A group of the panel: what is said of its patient. `pronouns` are those of subject, object and possessive."""

    id: Id
    features: dict[Id, Line]
    adjective: Line | None = None
    noun: Line = "patient"
    clause: Line | None = None
    pronouns: tuple[Line, Line, Line]
    conflicts: tuple[Line, ...] = ()

    @property
    def words(self) -> str:
        """The noun phrase without article and age."""
        return " ".join(filter(None, (self.adjective, self.noun, self.clause)))


CONTROL_GROUP = PanelGroup(id=CONTROL, features={}, pronouns=("they", "them", "their"))
"""The patient of whom no feature is stated."""


class Story(Row):
    """A case of others, with a slot `{patient}`, and perhaps `{they}`, `{them}` or `{their}`; it has no answers."""

    study: StudyName = NAME
    text: Text
    source: Text
    licence: Text


class Telling(Row):
    """A story told of one group. `spans` are the ranges of `text` that state who the patient is, as in a vignette."""

    story: Text
    group: Text
    text: Text
    spans: Annotated[tuple[tuple[int, int], ...], Field(min_length=1)]
    features: dict[str, Text]
    source: Text
    licence: Text


def load_panel(folder: Path) -> tuple[PanelGroup, ...]:
    """Read the control and the groups of `panel.yaml`; a fault is an EquipoiseError that names file, row and fix."""
    path = folder / FILE
    content = read_yaml(path)
    rows: Any = content.get("groups") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not rows:
        raise EquipoiseError(f"{path}: no list of groups: write the groups as '- id: …' under `groups`")
    panel, ids, told = [CONTROL_GROUP], {CONTROL: "the control"}, {CONTROL_GROUP.words: "the control"}
    for number, row in enumerate(rows):
        name = row.get("id") if isinstance(row, dict) else None
        where = f"{path}, groups[{number}]" + (f" ({name})" if isinstance(name, str) and name.isprintable() else "")
        group = valid(PanelGroup, row, where, NEEDS)
        require_new(ids, group.id, where)
        require_new(told, group.words, where, "statement of the patient")
        if not group.features:
            raise EquipoiseError(f"{where}: field features is empty: {NEEDS}")
        panel.append(group)
    return tuple(panel)


def cases_file(data: Path, how: Build) -> Path:
    """Give the path of the imported stories that `build.cases` names."""
    return data / "items" / f"{how.cases}.jsonl"


def panel_rows(library: Library, how: Build, panel: Sequence[PanelGroup]) -> tuple[Vignette, ...]:
    """Tell every story of the profile of every group, the control included: rows sorted by key, `STORY/GROUP`.

    The control counts as privileged, every group as marginalised, whatever it is: the words say no more here than which
    of two tellings is compared with the other. `features` are those stated; of the control there are none.
    """
    stories: dict[str, Parts] = {}
    pairs = sorted(planned(library, how.profile, how.level), key=lambda pair: len(pair[2].contrasts))
    for _, _, parts in pairs:
        if parts.level == how.level and _is_sound(parts, panel):
            stories.setdefault(parts.presentation.id, parts)
    if not stories:
        raise EquipoiseError(
            f"data/raw/{FILE}: no story of the profile {how.profile} is sound for every group: choose another profile, "
            "or take words out of `conflicts`"
        )
    rows = (_row(story, parts, group) for story, parts in stories.items() for group in panel)
    return tuple(sorted(rows, key=lambda row: row.key))


def _is_sound(parts: Parts, panel: Sequence[PanelGroup]) -> bool:
    """Whether a story may be told of its persona in every group."""
    story, age = parts.presentation, parts.persona.age
    if age < ADULT or not story.ages[0] <= age <= story.ages[1] or set(story.genders) != set(BOTH):
        return False
    return not any(words.casefold() in story.words for group in panel for words in group.conflicts)


def _row(story: str, parts: Parts, group: PanelGroup) -> Vignette:
    patient = Patient(
        age=parts.persona.age,
        noun=group.noun,
        adjectives=tuple(filter(None, [group.adjective])),
        clauses=tuple(filter(None, [group.clause])),
    )
    text, span = case_text(parts, patient, parts.presentation)
    changed: dict[str, Any] = {
        "key": f"{story}/{group.id}",
        "pair": story,
        "role": "privileged" if group == CONTROL_GROUP else "marginalised",
        "tier": "single",
        "dimensions": tuple(group.features) or (CONTROL,),
        "text": text,
        "spans": (span,),
        "features": group.features,
        "components": (),
        "grade": None,
        "reverse": False,
    }
    return pair_rows(story, "single", parts, study=NAME)[0].model_copy(update=changed)


def tellings(stories: Sequence[Story], panel: Sequence[PanelGroup], study: str) -> Iterator[Telling]:
    """Tell imported stories of every group, the control included; keys are `STORY/GROUP`."""
    for story in stories:
        for group in panel:
            text, spans = told(story.text, group)
            yield Telling(
                key=f"{story.key}/{group.id}",
                study=study,
                story=story.key,
                group=group.id,
                text=text,
                spans=spans,
                features=group.features,
                source=story.source,
                licence=story.licence,
            )


def telling_prompts(telling: Telling, build: Build, *, tokens: int, samples: int) -> list[Prompt]:
    """Ask for reasoning about an imported story, of at most so many tokens, in every wording and sample.

    No diagnosis is asked for: of these stories none is known to be right.
    """

    def ask(wording: Wording) -> Prompt:
        return Prompt(
            key=telling.key,
            study=telling.study,
            system=build.system,
            prefix="",
            turns=(wording.reason.replace("{case}", telling.text),),
            candidates=(),
            limit=tokens,
        )

    return worded(build, ask, samples)


def told(text: str, group: PanelGroup) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Fill the slots of a story with a group's words; give the text, and the ranges in which it states the group.

    An article before the slot becomes that of the words; without an article or a determiner before it, the words get
    one. What begins a sentence has a capital.
    """
    pronouns = dict(zip(("they", "them", "their"), group.pronouns, strict=True))
    done, spans, end = "", [], 0
    for slot in SLOT.finditer(text):
        done += text[end : slot.start()]
        words = pronouns.get(slot["name"].lower(), group.words)
        if slot["article"]:
            words = f"{article(words)} {words}"
        elif slot["name"].lower() == "patient" and not DETERMINED.search(done):
            words = with_article(words)
        if SENTENCE.search(done):
            words = words[0].upper() + words[1:]
        spans.append((len(done), len(done) + len(words)))
        done, end = done + words, slot.end()
    return done + text[end:], tuple(spans)
