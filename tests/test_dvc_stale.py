"""What DVC runs again after an edit: a stage that reads what changed, and none because of a comment."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
import yaml

from clones import Clone

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
BUILD = "build@questions"


def ran(clone: Clone, target: str) -> list[str]:
    """Bring a stage up to date; name the stages that ran."""
    return re.findall(r"Running stage '(.+)'", clone.dvc("repro", target).stdout)


def append(path: Path, text: str) -> None:
    """Write something at the end of a file."""
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_an_edit_reruns_what_reads_it_wherever_it_lies(tmp_path: Path) -> None:
    """A comment runs `check` alone; a word of a template in a folder of one's own builds the questions again."""
    clone = Clone(tmp_path / "clone")
    root = clone.folder
    shutil.copytree(root / "data/templates", root / "mine")
    settings = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    settings |= {"model": "phantom_silent", "studies": ["questions"], "neutralize": {"limit": 4}}
    settings["perturb"]["templates"] = "mine"
    (root / "params.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert ran(clone, BUILD) == ["check", "export", BUILD]
    before = (root / "data/questions/built/variants.jsonl").read_bytes()

    append(root / "data/lexicon/nouns.yaml", "# Mine.\n")
    append(root / "src/equipoise/core/jsonl.py", "# Mine.\n")
    assert ran(clone, BUILD) == ["check"]

    frame = next((root / "mine/background").glob("favourable.yaml"))
    words = re.sub(r"\bowns\b|\bhas\b", "keeps", frame.read_text(encoding="utf-8"))
    frame.write_text(words, encoding="utf-8")
    assert ran(clone, BUILD) == ["check", BUILD]
    assert (root / "data/questions/built/variants.jsonl").read_bytes() != before
    assert "up to date" in clone.dvc("status", BUILD, "check").stdout
