from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, ConfigDict

from equipoise.core import yamlfile
from equipoise.core.errors import EquipoiseError
from equipoise.core.yamlfile import load_yaml

if TYPE_CHECKING:
    from pathlib import Path


class Inner(BaseModel):
    """A section of the file."""

    size: int


class Outer(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid")

    name: str
    parts: list[Inner] = []


def load(folder: Path, text: str) -> Outer:
    """Read a text as the file settings.yaml."""
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return load_yaml(path, Outer)


def test_a_sound_file_is_read(tmp_path: Path) -> None:
    """Comments, nested values and non-ASCII letters are read."""
    outer = load(tmp_path, "# A comment\nname: né\nparts:\n  - size: 2\n")

    assert Outer(name="né", parts=[Inner(size=2)]) == outer


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: a\nparts: [\n", r", line 3: malformed YAML \(expected the node content"),
        ("name: a\n\tparts: []\n", r", line 2: malformed YAML \(found character '\\t'"),
        ("name: *nobody\n", r", line 1: malformed YAML \(found undefined alias"),
        ("name: !!python/object:os.system x\n", r", line 1: malformed YAML \(could not determine a constructor"),
        ("name: a\x01\n", r": malformed YAML \(unacceptable character #x0001"),
        ("name: 2024-13-45\n", r": malformed YAML \(month must be in 1\.\.12\)"),
        ("name: a\nparts:\n  - size: 1\n  - size: big\n", r": field parts\.1\.size: Input should be a valid integer"),
        ("parts: []\n", ": field name: Field required"),
        ("nam: a\n", ": field nam: Extra inputs are not permitted: did you mean 'name'"),
        ("name: a\nsize: 1\n", ": field size: Extra inputs are not permitted"),
        ("", r": field \(row\): Input should be an object"),
        ("name: a\nparts: &parts [*parts]\n", ": nested too deeply, or an alias within its own value: write flatter"),
        ("[" * 200_000, ": nested too deeply: write flatter values"),
        (f"{'- ' * 200_000}a", ": nested too deeply: write flatter values"),
        # As many brackets close in comments, and lines are short.
        (f"{'[' * 38}  # {']' * 38}\n" * 4_000, ": nested too deeply: write flatter values"),
        (f"{'{' * 3_000}a{'}' * 3_000}", ": nested too deeply: write flatter values"),
    ],
    ids=lambda value: value[:40],
)
def test_a_fault_is_named_in_one_line(tmp_path: Path, text: str, fault: str) -> None:
    """Malformed YAML is named by its line, a wrong value by its path."""
    with pytest.raises(EquipoiseError, match=rf"settings\.yaml{fault}") as raised:
        load(tmp_path, text)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A missing file is rejected in one line."""
    with pytest.raises(EquipoiseError, match=r"gone\.yaml: no such file"):
        load_yaml(tmp_path / "gone.yaml", Outer)


def test_aliases_of_aliases_are_not_written_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three lines stand for 9 x 9 x 9 values, ten would for more than any memory holds."""
    monkeypatch.setattr(yamlfile, "MOST", 500)
    nine = [", ".join([f"*{name}"] * 9) for name in "ab"]
    text = f"a: &a [{', '.join('x' * 9)}]\nb: &b [{nine[0]}]\nc: [{nine[1]}]\n"

    with pytest.raises(EquipoiseError, match=r"settings\.yaml: more than 500 values: write out what aliases repeat"):
        load(tmp_path, text)
