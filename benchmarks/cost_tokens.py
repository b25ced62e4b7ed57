"""Tokens measured for the estimate of cost: AMQA's prompts, and released outputs of models of the registry.

All are counted with the tokenizer of the default model, SmolLM2 (49,152 tokens): the eight models' own are on the hub.
Theirs have three to four times as many tokens, and so write the same text in somewhat fewer.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import mean, quantiles
from typing import TYPE_CHECKING, Any, NamedTuple

from cost_roofline import PROMPTS
from speed_models import Asked, amqa_questions, exported

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import json_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from equipoise.models.registry import WeightsEntry

RELEASED = {
    "gpt_oss_20b": "fsd/gpt-oss-20b.jsonl",
    "piaget8b": "fsd/piaget-8b-local.jsonl",
    "psyllm": "fsd/psyllm-gml-local.jsonl",
    "qwen3_8b": "fsd/qwen3-lmstudio.jsonl",
}
"""Released outputs with reasoning: the four models' to 58 clinical vignettes of FSD-Mental-Health-Safety-Benchmark."""


class Counts(NamedTuple):
    """How many texts there are, and their tokens: the mean, the quartiles, and the most."""

    n: int
    mean: float
    quartiles: tuple[float, float, float]
    most: float

    def figures(self) -> dict[str, float]:
        """Give the figures for a JSON file."""
        low, median, high = (round(quartile, 1) for quartile in self.quartiles)
        return {
            "n": self.n,
            "mean": round(self.mean, 1),
            "quartile_1": low,
            "median": median,
            "quartile_3": high,
            "most": round(self.most, 1),
        }


def summarise(tokens: Sequence[float]) -> Counts:
    """Summarise counts of tokens of two texts or more."""
    low, median, high = quantiles(tokens, n=4, method="inclusive")
    return Counts(len(tokens), mean(tokens), (low, median, high), max(tokens))


def load_tokenizer() -> Asked:
    """Open the default model's tokenizer, without its weights."""
    from transformers import AutoTokenizer

    folder, entry = exported("tokenizer.json")
    return Asked(folder, entry, None, AutoTokenizer.from_pretrained(folder, local_files_only=True))


def count_tokens(entries: Mapping[str, WeightsEntry]) -> dict[str, Any]:
    """Count AMQA's prompts in both ways of answering, and the released outputs, each cut at its model's limit.

    Raises:
        EquipoiseError: EQUIPOISE_ANCHORS names no folder of published data.
    """
    anchors = os.environ.get("EQUIPOISE_ANCHORS")
    if not anchors:
        message = "EQUIPOISE_ANCHORS names no folder: the published questions and outputs are read from there"
        raise EquipoiseError(message)
    model = load_tokenizer()

    def length(text: str) -> int:
        return len(model.tokenizer(text, add_special_tokens=False)["input_ids"])

    prompts = amqa_questions(PROMPTS)
    likelihood = summarise([length(model.text(prompt)) for prompt in prompts])
    generate = summarise([length(model.text(prompt.model_copy(update={"prefix": ""}))) for prompt in prompts])
    outputs = {}
    for name, file in RELEASED.items():
        generation = entries[name].generation
        limit = generation.reasoning_tokens + generation.answer_tokens
        whole = list(output_tokens((row for _, row in json_rows(Path(anchors) / file)), length))
        cut = sum(tokens >= limit for tokens in whole)
        outputs[name] = summarise([min(tokens, limit) for tokens in whole]).figures() | {"cut": cut, "limit": limit}
    return {"prompts": {"likelihood": likelihood.figures(), "generate": generate.figures()}, "outputs": outputs}


def output_tokens(rows: Iterable[Mapping[str, Any]], length: Callable[[str], int]) -> Iterator[float]:
    """Count the tokens of released outputs as they were generated.

    For an output that was shortened for the release, the original length in characters is known: its tokens are scaled
    in proportion.
    """
    for row in rows:
        before, after = row.get("original_length"), row.get("cleaned_length")
        yield length(row["output_text"]) * (before / after if before and after else 1.0)
