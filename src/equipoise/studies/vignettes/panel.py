"""The panel design: versions of one story for a control patient without stated features and for every group of a panel.

A pair compares two arms; a panel compares each group with the same control. The stories are those of the profile's
pairs, each with the first persona that is sound for every group: an adult, in a story for women and men alike that
contradicts none of the groups. The stereotyped answer is that of this pair (single-dimension pairs first) and the same
for every group. It has no grade and no log ratio, since the documented evidence is about one of the groups only.
Imported stories have a slot for the patient (`Story`) and no answers: only decisions are asked for. Source of the
design: Omar et al. 2025, Nature Medicine 31:1873.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from equipoise.studies.vignettes.profiles import Build, Wording, profile_pairs, wording_prompts
from equipoise.text.articles import article, with_article

FILE = "panel.yaml"
"""The groups, below `data/raw`."""
SLOT = re.compile(r"(?:\b(?P<article>an?) )?\{(?P<name>patient|they|them|their)\}", re.IGNORECASE)
"""A slot for the patient, with the article before it, or for a pronoun."""
DETERMINED = re.compile(r"\b(?:an?|the|this|our|one)(?: \S*\d\S*)* $", re.IGNORECASE)
"""A determiner that replaces the article of a noun phrase: "the ", "a 45-year-old "."""
SENTENCE = re.compile(r"(?:^|[.!?:]['\"”’)]*\s+|\n)$")
"""The text before the beginning of a sentence."""
NEEDS = "a group needs an id, features, words (adjective, noun or clause) and three pronouns, such as [she, her, her]"


class PanelGroup(Frozen):
    """A group of the panel, and the words for its patient. `pronouns` are subject, object and possessive."""

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
"""The control: a patient without stated features."""


class Story(Row):
    """An imported case with a slot `{patient}`, and perhaps `{they}`, `{them}` or `{their}`; it has no answers."""

    study: StudyName = NAME
    text: Text
    source: Text
    licence: Text


class StoryVersion(Row):
    """The version of a story for one group. `spans` are the ranges of `text` that describe the patient."""

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
    panel, ids, words = [CONTROL_GROUP], {CONTROL: "the control"}, {CONTROL_GROUP.words: "the control"}
    for number, row in enumerate(rows):
        name = row.get("id") if isinstance(row, dict) else None
        where = f"{path}, groups[{number}]" + (f" ({name})" if isinstance(name, str) and name.isprintable() else "")
        group = valid(PanelGroup, row, where, NEEDS)
        require_new(ids, group.id, where)
        require_new(words, group.words, where, "statement of the patient")
        if not group.features:
            raise EquipoiseError(f"{where}: field features is empty: {NEEDS}")
        panel.append(group)
    return tuple(panel)


def cases_file(data: Path, build: Build) -> Path:
    """Give the path of the imported stories that `build.cases` names."""
    return data / "items" / f"{build.cases}.jsonl"


def panel_rows(library: Library, build: Build, panel: Sequence[PanelGroup]) -> tuple[Vignette, ...]:
    """Compose every story of the profile for every group, the control included: rows sorted by key, `STORY/GROUP`.

    The control has the role `privileged` and every group the role `marginalised`, whichever it is: in a panel the roles
    only state which version is compared with which. `features` are the stated ones; the control has none.
    """
    stories: dict[str, Parts] = {}
    chosen = profile_pairs(library, build.profile, build.level, stories=build.stories)
    pairs = sorted(chosen, key=lambda pair: len(pair[2].contrasts))
    for _, _, parts in pairs:
        if parts.level == build.level and _is_sound(parts, panel):
            # A social history would state features of some groups in all versions.
            stories.setdefault(parts.presentation.id, replace(parts, social=False))
    if not stories:
        raise EquipoiseError(
            f"data/raw/{FILE}: no story of the profile {build.profile} is sound for every group: choose another "
            "profile, or take words out of `conflicts`"
        )
    rows = (_row(story, parts, group) for story, parts in stories.items() for group in panel)
    return tuple(sorted(rows, key=lambda row: row.key))


def _is_sound(parts: Parts, panel: Sequence[PanelGroup]) -> bool:
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
        "log_ratio": None,
        "reverse": False,
    }
    return pair_rows(story, "single", parts, study=NAME)[0].model_copy(update=changed)


def story_versions(stories: Sequence[Story], panel: Sequence[PanelGroup], study: str) -> Iterator[StoryVersion]:
    """Compose imported stories for every group, the control included; keys are `STORY/GROUP`."""
    for story in stories:
        for group in panel:
            text, spans = fill_slots(story.text, group)
            yield StoryVersion(
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


def version_prompts(version: StoryVersion, build: Build, *, tokens: int, samples: int) -> list[Prompt]:
    """Ask for reasoning of at most `tokens` about an imported story, in every wording and sample.

    The prompts ask for no diagnosis, since the right one is unknown.
    """

    def ask(wording: Wording) -> Prompt:
        return Prompt(
            key=version.key,
            study=version.study,
            system=build.system,
            prefix="",
            turns=(wording.reason.replace("{case}", version.text),),
            candidates=(),
            limit=tokens,
        )

    return wording_prompts(build, ask, samples)


def fill_slots(text: str, group: PanelGroup) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Fill the slots of a story with a group's words; give the text, and the ranges that were filled.

    An article before the slot is adapted to the words; without an article or a determiner before it, the words get one.
    Words that begin a sentence are capitalised.
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
