"""Fewer sentences for `equipoise.run`: the study reads them from their file, and not from its prompts."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from equipoise.core import jsonl

FILE = Path("sentences/templates.yaml")


def limited(data: Path, choose: Callable[[Sequence[Any]], list[Any]]) -> tuple[int, int]:
    """Keep the sentences of each group that `choose` chooses, in a copy of the linked folder.

    Returns how many are kept, and how many there were.
    """
    source = (data / FILE).resolve()
    content = yaml.safe_load(jsonl.read_text(source))
    groups = [
        (question, group, [*templates.items()]) for question, of in content.items() for group, templates in of.items()
    ]
    chosen = [(question, group, choose(sentences)) for question, group, sentences in groups]
    for question, group, sentences in chosen:
        content[question][group] = dict(sentences)
    (data / FILE.parent).unlink()
    shutil.copytree(source.parent, data / FILE.parent)
    jsonl.write_text(data / FILE, yaml.safe_dump(content, allow_unicode=True, sort_keys=False))
    asked, there = (sum(len(sentences) for *_, sentences in listed) for listed in (chosen, groups))
    return asked, there
