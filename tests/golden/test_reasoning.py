"""The split of real outputs: four of the benchmark's models on 58 cases."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from equipoise.studies.cases.rows import Output, read_outputs
from equipoise.text.conclusions import locate
from equipoise.text.reasoning import split

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.text.reasoning import Form

MODELS: dict[str, dict[tuple[Form, bool], int]] = {
    "gpt-oss-20b": {("think", True): 58},
    # Two outputs think in circles until their length limit.
    "piaget-8b-local": {("think", True): 56, ("think", False): 2},
    # Thirteen of the 50 with a content tag leave their thinking open; eight have no content tag.
    "psyllm-gml-local": {("content", True): 50, ("think", True): 8},
    "qwen3-lmstudio": {("think", True): 58},
}
"""Outputs of each model by their form and by whether they are finished."""
TAG = re.compile(r"</?(?:think|content)>")


def outputs(anchors: Path, model: str) -> list[Output]:
    """Read the outputs of a model."""
    return read_outputs(anchors / "fsd" / f"{model}.jsonl")


def letters(text: str) -> Counter[str]:
    """Count the characters of a text but white space."""
    return Counter("".join(text.split()))


@pytest.mark.parametrize("model", MODELS)
def test_every_output_has_both_parts_or_is_unfinished(anchors: Path, model: str) -> None:
    """Every output yields a reasoning, and an answer or the count as unfinished."""
    splits = [split(output.words) for output in outputs(anchors, model)]

    assert MODELS[model] == Counter((parts.form, parts.finished) for parts in splits)
    assert all(re.search(r"\w", parts.reasoning) for parts in splits)
    assert all(bool(re.search(r"\w", parts.answer)) == parts.finished for parts in splits)


@pytest.mark.parametrize("model", MODELS)
def test_nothing_but_tags_is_lost(anchors: Path, model: str) -> None:
    """Reasoning and answer together have every character of the output but its tags'."""
    for output in outputs(anchors, model):
        parts = split(output.text)

        assert letters(TAG.sub("", output.text)) == letters(parts.reasoning + parts.answer)


def test_open_thinking_ends_at_the_content_tag(anchors: Path) -> None:
    """Thirteen outputs of PsyLLM never close their thinking; their answer is what the content tag holds."""
    opened = [output.text for output in outputs(anchors, "psyllm-gml-local") if "</think>" not in output.text]

    assert len(opened) == 13
    for text in opened:
        assert split(text).answer == text.split("<content>")[1].removesuffix("</content>").strip()


def test_conclusions_are_those_that_were_read(anchors: Path) -> None:
    """The statement found names the diagnosis that the annotators read in 118 of 120 outputs.

    The other two abbreviate it (TB, ASD).
    """
    labels = [json.loads(line) for line in (anchors / "fsd/labels.jsonl").read_text("utf-8").splitlines()]
    texts = {(model, output.id): output.words for model in MODELS for output in outputs(anchors, model)}
    named = 0
    for label in labels:
        answer = split(texts[label["model"], label["id"]]).answer
        statement = locate(answer)
        assert statement is not None
        stated = answer[statement.start : statement.end].lower()
        words = set(re.findall("[a-z]{5,}", label["diagnosis"].lower())) - {"acute", "likely", "probably"}
        named += any(word[:6] in stated for word in words)

    assert (named, len(labels)) == (118, 120)
