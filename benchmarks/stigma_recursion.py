"""Speed of the stigma study's noun phrases, compared with nested fill-mask pipeline calls, as published.

    PYTHONPATH=src python benchmarks/stigma_recursion.py --out benchmarks/stigma_recursion.json

No hub is needed, and no published weights are used: the models have RoBERTa's and Longformer's architecture, random
weights, and a head that favours a few English words, so that paths go on and end as they do with a real model.
A real model repeats itself less. `recursion` and `longformer` use base size (12 layers of 768, 50,265 tokens),
`sentences` a tiny one. Both ways take turns on the same prompts in one process. A few minutes on two idle cores.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, get_args

import typer

from equipoise.core import stage
from equipoise.core.jsonl import write_json
from equipoise.studies.stigma.aggregate import noun_lexicon
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.masked import Asker, PredictionCache, extended, is_noun, noun_phrases
from equipoise.studies.stigma.masked_model import prepare
from equipoise.studies.stigma.rows import Aggregation, Filling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from equipoise.studies.stigma.aggregate import Token
    from equipoise.studies.stigma.masked_model import MaskedModel

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import tiny_masked  # noqa: E402  (lives with the tests)

LIBRARY = load_library(ROOT / "data/sentences")
LEXICON = noun_lexicon(LIBRARY.words.nouns)
TEMPLATES = ("aggravated", "talk", "controllable")
CONDITIONS = ("bipolar disorder", "heart disease")
BASE: dict[str, Any] = {
    "vocabulary": 50265,
    "favour": 7.0,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 514,
    "initializer_range": 0.02,
}
LEGACY = Filling(aggregation="legacy")
PROBES = [template.about("depression") for template in LIBRARY.templates]


class Published:
    """The published way: transformers' fill-mask pipeline, one sentence at a time, three nested steps of ten."""

    def __init__(self, folder: Path) -> None:
        """Open a checkpoint."""
        from transformers import pipeline

        self._fill = pipeline("fill-mask", model=str(folder), tokenizer=str(folder), device="cpu")
        self.calls = 0

    def ask(self, sentence: str) -> list[tuple[str, float]]:
        """Return the ten likeliest tokens; special tokens, which are not words, have no text."""
        self.calls += 1
        predictions: Any = self._fill(sentence.replace("{mask}", "<mask>"), top_k=10)
        return [
            ("" if row["token_str"] in tiny_masked.SPECIAL else row["token_str"], row["score"]) for row in predictions
        ]

    def shares(self, sentence: str, share: float = 1.0, step: int = 1) -> tuple[float, float]:
        """Sum the paths that end in a gendered word: female, male."""
        female = male = 0.0
        for text, probability in self.ask(sentence):
            word = text.strip()
            gender = LEXICON.gender(word)
            further = (0.0, 0.0)
            if gender is None and word and step < LEGACY.steps:
                longer = f"{{mask}} {word}" if step == 1 else f"{word} {{mask}}"
                further = self.shares(sentence.replace("{mask}", longer), share * probability, step + 1)
            female += share * probability * (gender == "female") + further[0]
            male += share * probability * (gender == "male") + further[1]
        return female, male


def main(out: Path = Path("benchmarks/stigma_recursion.json"), only: str = "") -> None:
    """Measure all parts or ONLY one, and write each part's figures to OUT as soon as they are there."""
    figures: dict[str, Any] = {"cores": len(os.sched_getaffinity(0))}
    parts: dict[str, Callable[[Path], dict[str, Any]]] = {
        "recursion": recursion,
        "longformer": longformer,
        "sentences": sentences,
    }
    for part, measure in parts.items():
        if only not in {"", part}:
            continue
        with tempfile.TemporaryDirectory() as place:
            figures[part] = measure(Path(place))
        write_json(out, figures)
        typer.echo(f"{part}: {figures[part]}")


def recursion(place: Path) -> dict[str, Any]:
    """Compare both ways on 3 templates and 2 conditions, a template at a time and by turns first and second."""
    checkpoint = tiny_masked.build(place / "base", seed=7, **BASE)
    tiny_masked.register(place, "base", checkpoint)
    began = perf_counter()
    ready = prepare("base", place, place / "store", PROBES)
    exporting = perf_counter() - began
    published = Published(checkpoint)
    spent = {"published": 0.0, "ours": 0.0}
    figures: dict[str, dict[str, tuple[float, float]]] = {"published": {}, "ours": {}}
    with PredictionCache(place / "predictions.sqlite") as cache:
        asker = Asker(ready, cache, batch_size=LEGACY.batch_size, progress=lambda _, __: None)
        # Both have run once before the clock does.
        asker.ask(PROBES[-1:], 10)
        published.ask(PROBES[-1])
        published.calls = asker.computed = 0

        def one_by_one(prompts: list[str]) -> dict[str, tuple[float, float]]:
            return {prompt: published.shares(prompt) for prompt in prompts}

        def together(prompts: list[str]) -> dict[str, tuple[float, float]]:
            by_prompt = noun_phrases(prompts, asker.ask, LEGACY, LEXICON)
            return {prompt: (shares.female, shares.male) for prompt, shares in by_prompt.items()}

        ways: list[tuple[str, Callable[[list[str]], dict[str, tuple[float, float]]]]] = [
            ("published", one_by_one),
            ("ours", together),
        ]
        for template in (
            candidate for candidate in LIBRARY.templates if candidate.question == "rq2" and candidate.key in TEMPLATES
        ):
            prompts = [template.about(condition) for condition in CONDITIONS]
            for way, run in ways:
                began = perf_counter()
                figures[way].update(run(prompts))
                spent[way] += perf_counter() - began
            ways.reverse()
    return {
        "prompts": len(figures["ours"]),
        "published_calls": published.calls,
        "our_sentences": asker.computed,
        "published_seconds": round(spent["published"], 1),
        "our_seconds": round(spent["ours"], 1),
        "ratio": round(spent["published"] / spent["ours"], 2),
        "export_seconds_once": round(exporting, 1),
        "largest_difference": max(
            abs(mine - theirs)
            for prompt, pair in figures["ours"].items()
            for mine, theirs in zip(pair, figures["published"][prompt], strict=True)
        ),
        "smallest_figure": min(min(pair) for pair in figures["ours"].values()),
    }


def longformer(place: Path) -> dict[str, Any]:
    """Measure seconds per sentence of an unchanged Longformer, and of ours in either runtime."""
    checkpoint = tiny_masked.build(
        place / "base", seed=7, longformer=True, **BASE | {"max_position_embeddings": 4098, "attention_window": 512}
    )
    sentences = [template.about("anxiety") for template in LIBRARY.of_question("rq2")][:8]
    published = Published(checkpoint)
    seconds = {"published": timed(lambda: [published.ask(sentence) for sentence in sentences]) / len(sentences)}
    differences = {}
    for runtime in ("torch", "onnx"):
        tiny_masked.register(place, runtime, checkpoint, runtime=runtime)
        ready = prepare(runtime, place, place / "store", PROBES[-3:])
        model = ready.open()
        seconds[runtime] = timed(lambda: list(model.predict(sentences, top_k=10, batch_size=64))) / len(sentences)  # noqa: B023  (called at once)
        differences[runtime] = ready.manifest.max_difference
    return {
        "sentences": len(sentences),
        "seconds_a_sentence": {way: round(value, 3) for way, value in seconds.items()},
        "differences_below": differences,
    }


def timed(run: Callable[[], object]) -> float:
    """Seconds of the second of two runs."""
    run()
    began = perf_counter()
    run()
    return perf_counter() - began


def sentences(place: Path) -> dict[str, Any]:
    """Count the sentences that all 594 prompts of rq2 need from a tiny model: path by path, and each sentence once."""
    tiny_masked.register(place, "tiny", tiny_masked.build(place / "tiny", seed=7))
    model = prepare("tiny", place, place / "store", PROBES[-3:]).open()
    answers: dict[str, list[Token]] = {}
    prompts = [
        template.about(condition.name) for template in LIBRARY.of_question("rq2") for condition in LIBRARY.conditions
    ]
    return {"prompts": len(prompts), **{way: counted(prompts, model, answers, way) for way in get_args(Aggregation)}}


def counted(
    prompts: list[str], model: MaskedModel, answers: dict[str, list[Token]], way: Aggregation
) -> dict[str, int]:
    """Run one aggregation, starting from the answers of another, and count its sentences."""
    settings = Filling(aggregation=way)
    seen: set[str] = set()

    def ask(once: Iterable[str], top_k: int) -> dict[str, list[Token]]:
        sentences = list(once)
        seen.update(sentences)
        new = [sentence for sentence in sentences if sentence not in answers]
        for batch in model.predict(new, top_k=top_k, batch_size=64):
            answers.update((sentence, predictions.tokens()) for sentence, predictions in batch)
        return {sentence: answers[sentence] for sentence in sentences}

    def calls(sentence: str, step: int = 0) -> int:
        longer = (
            extended(sentence, token.word, step)
            for token in answers[sentence]
            if step + 1 < settings.steps and LEXICON.gender_of(token, way) is None and is_noun(token, way)
        )
        return 1 + sum(calls(successor, step + 1) for successor in longer)

    noun_phrases(prompts, ask, settings, LEXICON)
    return {"path_by_path": sum(calls(prompt) for prompt in prompts), "each_once": len(seen)}


if __name__ == "__main__":
    stage.run(main)
