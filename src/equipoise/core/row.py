"""The base of every row: a key, the name of its study, and fields that cannot be changed."""

import unicodedata
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

Text = Annotated[str, Field(min_length=1)]


def printable(key: str) -> str:
    """Refuse a text that would break a line, a table or a terminal: one with control or formatting characters."""
    if not key.isprintable() and (
        strange := next(
            (character for character in key if not character.isprintable() and unicodedata.category(character) != "Zs"),
            None,
        )
    ):
        raise ValueError(f"holds the character U+{ord(strange):04X}, which is not printable: write it on one line")
    return key


Key = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(printable)]
"""The key of a row: printable, on one line."""
Line = Key
"""A text of one line that others may have written: a name, a title, a source."""


StudyName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
"""The name of a study: that of its folder in `equipoise.studies`."""


class Frozen(BaseModel):
    """Values that cannot be changed; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class Sparse(Frozen):
    """Values whose `rare` fields are not written where they are empty: neither files nor cache keys depend on them."""

    rare: ClassVar[tuple[str, ...]]

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        row: dict[str, Any] = serialise(self)
        return {name: value for name, value in row.items() if value or name not in self.rare}


class Row(Frozen):
    """One row of a data file."""

    key: Key
    study: StudyName
