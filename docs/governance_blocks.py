"""The generated tables of docs/governance.md: what a run answers in each frame of governance.yaml, and what not."""

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

FILE = Path(__file__).with_name("governance.yaml")


class Asked(BaseModel):
    """What a frame asks for, what in a run speaks to it, on which pages, and what a run leaves open."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    answers: str
    pages: tuple[str, ...]
    leaves: str


class Frame(BaseModel):
    """A law, standard or guideline, with the date of its text and when its state was last checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    title: str
    source: str
    dated: str
    checked: str
    state: str
    asks: tuple[Asked, ...]


def frames() -> list[Frame]:
    """Read every frame."""
    return [Frame.model_validate(row) for row in yaml.safe_load(FILE.read_text(encoding="utf-8"))]


def tables() -> str:
    """Write one section a frame."""
    return "\n\n".join(_section(frame) for frame in frames())


def _section(frame: Frame) -> str:
    lines = [
        f"## {frame.title}",
        "",
        f"Source: {frame.source}. Text of {frame.dated}; state: {frame.state} (checked {frame.checked}).",
        "",
        "| it asks | a run answers | a run does not answer | pages |",
        "|---|---|---|---|",
    ]
    for asked in frame.asks:
        links = ", ".join(f"[{Path(page).stem.replace('_', ' ')}]({page})" for page in asked.pages)
        lines.append(f"| {asked.what} | {asked.answers} | {asked.leaves} | {links} |")
    return "\n".join(lines)
