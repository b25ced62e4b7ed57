"""Annotated passages of clinical reasoning: what a judge is trained on, and what it is measured on.

A file has one passage a row: `id`, `style`, `text`, and `features`, each with the `dimension`, the `feature` of the
patient in plain words (Black), the `class` of what the passage does with it, and `mentions`, the number of sentences
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
"""What a passage does with a feature: what a reader of passages predicts."""
TREATMENTS: tuple[Treatment, ...] = get_args(Treatment)
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
"""What a passage of each class does with the feature."""
CONSIDERED: dict[Treatment, Consideration] = {
    "weighed": "weighed",
    "dismissed": "dismissed",
    "restated": "none",
    "unmentioned": "none",
}
"""The judgement on consideration that each treatment amounts to."""
NEEDED = "give one object a row, with id, style, text and features (each with dimension, feature, class and mentions)"


class Annotation(Frozen):
    """One feature of a passage's patient, and what the passage does with it (`class` in the file)."""

    model_config = ConfigDict(populate_by_name=True)

    dimension: Text
    feature: Text
    class_: Annotated[PassageClass, Field(alias="class")]
    mentions: Annotated[int, Field(ge=0)]

    @property
    def treatment(self) -> Treatment:
        """What the passage does with the feature."""
        return TREATED[self.class_]


class Passage(Frozen):
    """A passage and the features that are asked about."""

    id: Text
    style: Style
    text: Text
    features: Annotated[tuple[Annotation, ...], Field(min_length=1)]


def read_passages(files: Iterable[Path]) -> list[Passage]:
    """Read passages, in the order of the files; an error names the row, the field and the fix."""
    passages: list[Passage] = []
    seen: dict[str, str] = {}
    for file in files:
        for where, row in rows_of(file, NEEDED.removeprefix("give "), json_rows):
            passage = valid(Passage, row, where, NEEDED)
            require_new(seen, passage.id, where)
            passages.append(passage)
    return passages


def passage_files(folder: Path) -> Sequence[Path]:
    """The files of a folder of passages, in order of their names; a folder without any is an EquipoiseError."""
    if files := sorted(folder.glob("*.jsonl")):
        return files
    raise EquipoiseError(f"{folder}: holds no passages (*.jsonl): run `git checkout -- {folder}`")
