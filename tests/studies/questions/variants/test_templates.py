"""Template files: versions, and faults reported in one line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.studies.questions.variants.agents import Perturb
from equipoise.studies.questions.variants.templates import load_templates

FOLDER = Path(__file__).parents[4] / "data/templates"


@pytest.mark.parametrize("name", sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.yaml")))
def test_every_file_is_read(tmp_path: Path, name: str) -> None:
    """Each file of the folder is a template with a version; one that is missing is named."""
    folder = tmp_path / "templates"
    shutil.copytree(FOLDER, folder)
    path = folder / name
    assert len(re.findall(r"^version: \d+$", path.read_text(encoding="utf-8"), re.MULTILINE)) == 1
    path.unlink()

    with pytest.raises(EquipoiseError, match=f"{name}: no such file"):
        load_templates(folder)


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("fusion.yaml", "{final}", "the last", "fusion.yaml: field .*user needs the slots"),
        ("fusion.yaml", "{final}", "{last}", "fusion.yaml: field .*user needs the slots"),
        ("background/frame.yaml", "who {life}", "who {live}", "frame.yaml: field .*no such slot: {live}"),
        ("background/frame.yaml", "  acute:", "  haste:", "frame.yaml: field .*guards has no 'acute'"),
        ("background/frame.yaml", "  conduct:", "  habit:", "frame.yaml: field .*guards has no 'conduct'"),
        (
            "background/favourable.yaml",
            "[memory, care, acute, conduct]",
            "[weather]",
            "orderly_papers.unless: no guard 'weather'",
        ),
        ("background/favourable.yaml", "version: 2", "version: 2\nextra: 2", "favourable.yaml: field extra"),
    ],
)
def test_faulty_template(tmp_path: Path, file: str, old: str, new: str, expected: str) -> None:
    """The message of a fault names the file, the field and the fix."""
    folder = tmp_path / "templates"
    shutil.copytree(FOLDER, folder)
    path = folder / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    with pytest.raises(EquipoiseError, match=expected):
        load_templates(folder)


def test_guards_on_every_theme_are_refused(tmp_path: Path) -> None:
    """Some theme must fit any vignette."""
    folder = tmp_path / "templates"
    shutil.copytree(FOLDER, folder)
    path = folder / "background/favourable.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("  coordinator:\n", "  coordinator:\n    unless: [care]\n"), encoding="utf-8")

    with pytest.raises(EquipoiseError, match="every theme has a guard"):
        load_templates(folder)


def test_settings() -> None:
    """By default both agents are rules and the design is crossed; replay needs a file."""
    assert Perturb() == Perturb(design="crossed", generator="rules", fuser="rules", attempts=3)
    with pytest.raises(ValidationError, match="replay names no file"):
        Perturb(generator="replay")
