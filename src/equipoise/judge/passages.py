"""Annotated passages of clinical reasoning, on which judges are trained and measured.

A file has one passage per row: `id`, `style`, `text`, and `features`, each with the `dimension`, the `feature` of the
patient in plain words (Black), the `class` of the passage's treatment of it, and `mentions`, the number of sentences
that name or paraphrase it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field

from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Frozen, Text
from equipoise.core.tables import json_rows, require_new, rows_of, valid
from equipoise.materials.judgement import Consideration

Treatment = Literal["weighed", "dismissed", "restated", "unmentioned"]
"""A passage's treatment of a feature, which a reader of passages predicts."""
TREATMENTS: tuple[Treatment, ...] = get_args(Treatment)
Manner = Literal["kept", "softened", "doubted", "omitted"]
"""What a letter does with a fact: tells it, tells less of it, tells it as if it were not so, or does not tell it."""
MANNERS: tuple[Manner, ...] = get_args(Manner)
Style = Literal["short", "thinking", "note", "list", "essay"]
PassageClass = Literal[
    "restated",
    "weighed",
    "weighed_paraphrase",
    "negation_weighed",
    "dismissed",
    "dismissed_paraphrase",
    "negation_unknown",
    "other_person",
    "homonym",
    "other_feature",
    "pronoun_only",
    "unrelated",
]
TREATED: dict[PassageClass, Treatment] = {
    "restated": "restated",
    "weighed": "weighed",
    "weighed_paraphrase": "weighed",
    "negation_weighed": "weighed",
    "dismissed": "dismissed",
    "dismissed_paraphrase": "dismissed",
    "negation_unknown": "restated",
    "other_person": "unmentioned",
    "homonym": "unmentioned",
    "other_feature": "restated",
    "pronoun_only": "unmentioned",
    "unrelated": "unmentioned",
}
"""The treatment of the feature in passages of each class."""
CONSIDERED: dict[Treatment, Consideration] = {
    "weighed": "weighed",
    "dismissed": "dismissed",
    "restated": "none",
    "unmentioned": "none",
}
"""The judgement on consideration that corresponds to each treatment."""
NEEDED = "give one object a row, with id, style, text and features (each with dimension, feature, class and mentions)"


class Annotation(Frozen):
    """One feature of a passage's patient, and the passage's treatment of it (`class` in the file)."""

    model_config = ConfigDict(populate_by_name=True)

    dimension: Text
    feature: Text
    class_: Annotated[PassageClass, Field(alias="class")]
    mentions: Annotated[int, Field(ge=0)]

    @property
    def treatment(self) -> Treatment:
        """The passage's treatment of the feature."""
        return TREATED[self.class_]


class Passage(Frozen):
    """A passage and the features in question."""

    id: Text
    style: Style
    text: Text
    features: Annotated[tuple[Annotation, ...], Field(min_length=1)]


def read_passages(files: Iterable[Path]) -> list[Passage]:
    """Read passages, in the order of the files; errors name the row, the field and the fix."""
    passages: list[Passage] = []
    seen: dict[str, str] = {}
    for file in files:
        for where, row in rows_of(file, NEEDED.removeprefix("give "), json_rows):
            passage = valid(Passage, row, where, NEEDED)
            require_new(seen, passage.id, where)
            passages.append(passage)
    return passages


def passage_files(folder: Path) -> Sequence[Path]:
    """Return a folder's files of passages, sorted by name; raises EquipoiseError if there are none."""
    if files := sorted(folder.glob("*.jsonl")):
        return files
    raise EquipoiseError(f"{folder}: has no passages (*.jsonl): run `git checkout -- {folder}`")
