"""Speed of the judge, side by side with the text-classification pipeline of transformers on the same weights.

    PYTHONPATH=src:judge python benchmarks/judge_speed.py > benchmarks/judge_speed.json

All take turns in one process on the same pairs, each with all cores: `CrossEncoder.probabilities`, and the pipeline in
torch and float32, once as it comes (one pair at a time) and once with the size of batch that is fastest on a sample of
the pairs (the figures name it). The pipeline's
checkpoint is made here from the weights that ship: their int8 levels times their scales, which is what ONNX Runtime
computes with too, so that the labels must be the same.

The pairs are every window of artificial outputs with the question about a feature. An output is about one patient's
feature. Its windows are sentences of judge/corpus with their slots filled (three of four unrelated to the patient, the
others about any feature) and sentences of judge/stress.yaml; no two are the same, except that a share `repeated` are
copies of an earlier window of their output, as when thinking repeats itself. 70 windows an output and 6 %
copies are the medians of four models' outputs to 58 vignettes, cut into sentences (39 to 112, and 4 to 36 %). Equal
pairs are computed once by the judge and every time by the pipeline; `--repeated 0` leaves that out. Minutes on two idle
cores.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_one
from equipoise.judge.lexicon import FOLDER, load_lexicon
from equipoise.judge.model import CrossEncoder
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.reading import ask_about
from equipoise.text.sentences import sentences_of
from workshop.corpus import fill, load_banks, slot_values
from workshop.export import Shipped
from workshop.stress import load_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    Probabilities = Callable[[list[tuple[str, str]]], NDArray[Any]]

ROOT = Path(__file__).parents[1]
BATCHES = (1, 8, 16, 32, 64)
"""Batch sizes of the pipeline: small for little padding, large for efficient products; 1 is its default."""
UNRELATED, STRESS = 0.75, 0.05
"""Shares of windows that state no feature, and that come from the stress suite."""


def main(
    weights: Path = ROOT / "judge/reader",
    outputs: int = 80,
    length: int = 70,
    repeated: float = 0.06,
    rounds: int = 3,
    sample: int = 256,
) -> None:
    """Time all ways ROUNDS times on OUTPUTS of LENGTH windows, and print one JSON object.

    The pipeline's size of batch is chosen on the first SAMPLE pairs, which are in the order of the outputs.
    """
    max_tokens = read_one(weights / "manifest.json", Shipped).max_tokens
    pairs = list(make_pairs(outputs, length, repeated))
    with tempfile.TemporaryDirectory() as place:
        dequantise(weights, Path(place))
        pipelines = {size: text_classification(Path(place), max_tokens, size) for size in BATCHES}
        sample_seconds, _ = by_turns(pipelines, pairs[:sample], rounds)
        fastest = min(BATCHES, key=lambda size: median(sample_seconds[size]))
        ways = {
            "judge": CrossEncoder(weights, max_tokens=max_tokens).probabilities,
            "pipeline": pipelines[fastest],
            "pipeline_default": pipelines[1],
        }
        seconds, results = by_turns(ways, pairs, rounds)
    ratios = ratios_of(seconds, "pipeline")
    of_default = ratios_of(seconds, "pipeline_default")
    differ = int((results["judge"].argmax(axis=1) != results["pipeline"].argmax(axis=1)).sum())
    figures = {
        "cores": len(os.sched_getaffinity(0)),
        "outputs": outputs,
        "pairs": len(pairs),
        "distinct_pairs": len(set(pairs)),
        "median_words_a_window": median(len(premise.split()) for premise, _ in pairs),
        "rounds": rounds,
        "pipeline_batch": fastest,
        "sample_pairs_a_second": {
            str(size): round(len(pairs[:sample]) / median(sample_seconds[size]), 1) for size in BATCHES
        },
        "seconds": {way: [round(duration, 2) for duration in taken] for way, taken in seconds.items()},
        "median_seconds": {way: round(median(taken), 2) for way, taken in seconds.items()},
        "pairs_a_second": {way: round(len(pairs) / median(taken), 1) for way, taken in seconds.items()},
        "ratio": round(median(ratios), 2),
        "ratio_least": round(min(ratios), 2),
        "ratio_most": round(max(ratios), 2),
        "ratio_to_default": round(median(of_default), 2),
        "ratio_to_default_least": round(min(of_default), 2),
        "ratio_to_default_most": round(max(of_default), 2),
        "labels_that_differ": differ,
        "largest_difference": float(f"{np.abs(results['judge'] - results['pipeline']).max():.1e}"),
    }
    typer.echo(json.dumps(figures, indent=2))
    if differ:
        message = f"{differ} of {len(pairs)} labels differ: the speeds are not of the same work"
        raise EquipoiseError(message)


def ratios_of(seconds: Mapping[str, list[float]], peer: str) -> list[float]:
    """Speed-up of the judge over the peer, round by round."""
    return [theirs / ours for ours, theirs in zip(seconds["judge"], seconds[peer], strict=True)]


def by_turns(
    ways: Mapping[Any, Probabilities], pairs: list[tuple[str, str]], rounds: int
) -> tuple[dict[Any, list[float]], dict[Any, NDArray[Any]]]:
    """Seconds of every round, and the probabilities, of each way: first and last by turns, each warmed up before."""
    for run in ways.values():
        run(pairs[: max(BATCHES)])
    seconds: dict[Any, list[float]] = {way: [] for way in ways}
    results: dict[Any, NDArray[Any]] = {}
    order = list(ways)
    for _ in range(rounds):
        for way in order:
            began = perf_counter()
            results[way] = ways[way](pairs)
            seconds[way].append(perf_counter() - began)
        order.reverse()
    return seconds, results


def make_pairs(outputs: int, length: int, repeated: float) -> Iterator[tuple[str, str]]:
    """Yield every window of artificial outputs with the question about the feature of the output's patient."""
    rng = random.Random(0)  # noqa: S311  (a choice, not a secret)
    lexicon = load_lexicon(ROOT / FOLDER)
    suite = load_suite(ROOT / "judge/stress.yaml")
    drawn_sentences = sentences(rng, [sentence for case in suite.cases for sentence in sentences_of(case.text)])
    seen: set[str] = set()
    for _ in range(outputs):
        (feature,) = lexicon.features({"": rng.choice(suite.cases).feature})
        output: list[str] = []
        for _ in range(length):
            if output and rng.random() < repeated:
                output.append(rng.choice(output))
                continue
            window = next(drawn_sentences)
            while window in seen:
                window += " " + next(drawn_sentences)
            seen.add(window)
            output.append(window)
        yield from (ask_about(window, feature) for window in output)


def sentences(rng: random.Random, stress: list[str]) -> Iterator[str]:
    """Draw an infinite sequence of sentences."""
    banks, around = load_banks(ROOT / "judge/corpus")
    fitting = [
        (sentence, words)
        for bank in banks.values()
        for kind in bank.sentences.values()
        for sentence in kind
        for name, words in bank.features.items()
        if sentence.fits(name, words)
    ]
    while True:
        draw = rng.random()
        if draw < UNRELATED:
            yield fill(rng.choice(around.sentences), slot_values(around, None, rng))
        elif draw < UNRELATED + STRESS:
            yield rng.choice(stress)
        else:
            sentence, words = rng.choice(fitting)
            yield fill(sentence.text, slot_values(around, words, rng))


def dequantise(weights: Path, out: Path) -> None:
    """Write the judge that ships as a checkpoint of transformers, its matrices the int8 levels times their scales."""
    import onnx
    import torch
    from onnx import numpy_helper
    from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedTokenizerFast

    graph = onnx.load(weights / "model.onnx").graph
    held = {initializer.name: numpy_helper.to_array(initializer) for initializer in graph.initializer}
    for node in graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in held:
            levels, scale = held[node.input[0]].astype(np.float32), held[node.input[1]]
            rows = next(attribute.i for attribute in node.attribute if attribute.name == "axis") == 0
            held[node.output[0]] = levels * (scale[:, None] if rows else scale[None, :])
    for node in graph.node:
        # A linear layer's matrix has lost its name to the exporter, but its node has the layer's.
        if node.op_type == "MatMul" and node.input[1] in held:
            layer = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            held[f"{layer}.weight"] = held[node.input[1]].T
    model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(weights))
    state = {name: torch.tensor(held[name].reshape(like.shape)) for name, like in model.state_dict().items()}
    model.load_state_dict(state)
    model.save_pretrained(out)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_file=str(weights / "tokenizer.json"), **special).save_pretrained(out)


def text_classification(checkpoint: Path, max_tokens: int, batch: int) -> Probabilities:
    """The pipeline, `batch` pairs at once, as a judge: pairs to rows of entailment, neutral, contradiction."""
    from transformers import pipeline

    classify: Any = pipeline("text-classification", model=str(checkpoint), device="cpu", dtype="float32")

    def probabilities(pairs: list[tuple[str, str]]) -> NDArray[Any]:
        questions = [{"text": premise, "text_pair": hypothesis} for premise, hypothesis in pairs]
        rows = classify(questions, batch_size=batch, top_k=None, truncation="only_first", max_length=max_tokens)
        scores = [{prediction["label"].lower(): prediction["score"] for prediction in row} for row in rows]
        return np.array([[row[label] for label in TREATMENTS] for row in scores])

    return probabilities


if __name__ == "__main__":
    stage.run(main)
