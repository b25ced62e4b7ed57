"""params.yaml as typed settings: one section per stage, unknown names rejected.

The type of each section is defined in the package that uses it, so that changing one stage's settings does not
invalidate the results of other stages.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, write_text
from equipoise.core.row import StudyName
from equipoise.core.yamlfile import load_yaml, parsed, strictly

FILE = Path("params.yaml")
ITEMS = "data/items"
M = TypeVar("M", bound=BaseModel)
Name = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
Count = Annotated[int, Field(ge=1, le=10_000_000)]
Limit = Annotated[int, Field(ge=0, le=10_000_000)]
"""How many of something, where 0 means all of them."""
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


class Refers(NamedTuple):
    """Marks a setting, or a field of the registry, whose value is a file or names one; stages depend on that file.

    `to` is the folder of the registry that has the named entry, `data/items` for a file of items, or empty where the
    value is itself the path. `besides` are values that name no file. `models.registry.files_named` follows them.
    """

    to: str = ""
    besides: tuple[str, ...] = ()


class Params(BaseModel):
    """params.yaml as a whole: the chosen studies, model, judge and items, and every section, not yet typed.

    The sections that all studies share are fields; those of a study are further ones, which the stage `check` types.
    `intended_use` is free text on what the model is meant for, which report and exports repeat; it changes no figure.
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)

    studies: Annotated[tuple[StudyName, ...], Field(min_length=1)]
    model: Annotated[Name, Refers("models")]
    judge: Annotated[Name, Refers("models/judges")]
    items: Annotated[Name, Refers(ITEMS)]
    intended_use: str | None = None
    infer: dict[str, Any]
    score: dict[str, Any]
    measure: dict[str, Any]
    decision: dict[str, Any]

    @field_validator("studies")
    @classmethod
    def _each_once(cls, studies: tuple[str, ...]) -> tuple[str, ...]:
        if twice := [name for number, name in enumerate(studies) if name in studies[:number]]:
            raise ValueError(f"{twice[0]} is named twice: name each study once")
        return studies

    @property
    def own(self) -> dict[str, dict[str, Any]]:
        """The sections that belong to one study or another."""
        return dict(self.__pydantic_extra__)

    def values(self, name: str) -> dict[str, Any]:
        """Give the values of a section, not typed; a section that is missing is an EquipoiseError."""
        values: dict[str, Any] | None = getattr(self, name, None)
        if values is None:
            raise EquipoiseError(f"{FILE}: no section {name!r}: restore it with `git checkout -- {FILE}`")
        return values

    def section(self, name: str, kind: type[M]) -> M:
        """Validate one section as the given type; an invalid value raises an EquipoiseError that names the key."""
        return strictly(f"{FILE}, section {name}", self.values(name), kind)


def items_named(path: Path, setting: str) -> str:
    """Give the option that has a file of items asked; one in another place or of another name is to be moved first."""
    is_there = os.path.realpath(path.parent) == os.path.realpath(ITEMS)
    if is_there and re.fullmatch(r"[a-z0-9_]+\.jsonl", path.name):
        return f"-S {setting}={path.stem}"
    rule = "lower-case letters, digits and underscores"
    return f"-S {setting}=NAME, with the file as {ITEMS}/NAME.jsonl (NAME in {rule})"


def with_values(text: str, values: Mapping[str, str | int | None]) -> str:
    """Give the text of params.yaml with other values of settings, by `section.field`; comments stay as they are.

    A field that its section lacks comes first there. An unknown section is an EquipoiseError.
    """
    for place, value in values.items():
        section, _, name = place.partition(".")
        block = re.search(rf"^{re.escape(section)}:[ \t]*\n(?:[ \t#].*\n|\n)*", text, re.MULTILINE)
        if block is None:
            raise EquipoiseError(f"{FILE}: no section {section!r}: restore it with `git checkout -- {FILE}`")
        line = f"  {name}: {'null' if value is None else value}\n"
        changed, n = re.subn(rf"^  {re.escape(name)}:.*\n", line.replace("\\", r"\\"), block[0], flags=re.MULTILINE)
        if not n:
            head, _, rest = block[0].partition("\n")
            changed = f"{head}\n{line}{rest}"
        text = text[: block.start()] + changed + text[block.end() :]
    return text


def change(values: Mapping[str, str | int | None]) -> None:
    """Set values in params.yaml, as `with_values`; if one is invalid, or the file cannot be written, it stays as it is.

    Raises:
        EquipoiseError: The settings would be invalid, or the file cannot be written.
    """
    text = with_values(read_text(FILE), values)
    strictly(str(FILE), parsed(FILE, text), Params)
    write_text(FILE, text)


def load(path: Path = FILE) -> Params:
    """Read params.yaml; an invalid value raises an EquipoiseError that names the key."""
    return load_yaml(path, Params)
