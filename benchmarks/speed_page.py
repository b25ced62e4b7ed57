"""The page of the performance benchmarks, rendered from their figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
from stages_page import first_lines, growth_lines, stage_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFACE = """# Performance

Equipoise is compared with the usual alternatives: the same weights in float32 and the same prompts, on the same machine
in one run, alternating in short rounds. A ratio is the speed-up of Equipoise: the median over the rounds, with minimum
and maximum in brackets. Absolute speeds vary between machines far more than ratios do. `make bench` repeats all
measurements and writes this page from [`results.json`](../benchmarks/results.json),
[`first.json`](../benchmarks/first.json), [`stages.json`](../benchmarks/stages.json) and
[`growth.json`](../benchmarks/growth.json).
"""
REASONS = """## Where the ratios come from

- **Multiple choice.** The alternative computes and normalises logits over the vocabulary (49,152 tokens, a fifth of
  this model's arithmetic) at every position of a prompt; Equipoise computes what follows the last attention layer only
  at the last position, where the letters are scored. Prompts are not padded, and each core processes its own prompt.
  The key-value cache of the text before the user's words is computed once for all prompts, and that of any other known
  prefix once for the prompts that share it. Variants of the pipeline's own questions share half of their tokens. AMQA's
  texts, each rewritten as a whole, share at most a tenth of theirs, and two thirds of this tenth precede the user's
  words. The rest is float32 matrix products at the processor's peak (84 % of the time) and attention (12 %): with both
  at the peak, AMQA's ratio would still be below 3.
- **Generation.** The key-value cache is updated in place rather than copied at every step, and a finished row takes the
  next prompt at once; the alternative's batch runs until its longest reply ends. Prefill and arithmetic per generated
  token are the same. A third of our step is the fused attention, which computes every head of every row separately, so
  larger batches gain little: with AVX2, 42 rows gave 131 tokens per second and the default of 16 gave 124. AVX-512
  speeds up the matrix products of large batches most, which favours the alternative; with AVX2 the ratio was 2.44 (2.38
  to 3.61).
- **Backend torch.** It scores as the ONNX engine does, but through transformers' own layers, and a model is read a
  prompt at a time. Weights are rearranged once for oneDNN; the alternative's products, MKL's, rearrange them at every
  call, which costs more on an AMD processor, as here, than on an Intel one. AMQA's texts share no prefix, so there the
  ratio comes from the logits alone. A third of the time of generation is the reading of the prompts, in which both do
  the same work. Attention is computed row by row, so that no reply depends on its neighbours; this takes a third of a
  step. Other work ran beside the last rounds of generation. On the same machine, one run of 84
  prompts gave 1.23 and one of 42 gave 1.30; with the default of 16 rows, 42 prompts gave 1.03, and 0.72 at the
  revision before. On a GPU the registry prefers vLLM.
- **Quantisation.** For this model no format both passes the gate and is faster, so none is offered. A larger model
  whose weights were published in quantised blocks keeps exactly these blocks ([blocks](decisions/0028-blocks.md)). One
  scale for all activations is fast, but a few outliers determine it. 8 bits with a scale per 32 weights preserve the
  letters, but on processors without int8 instructions their kernels prefill more slowly than float32. 4 bits quantise
  weights published in 4 bits a second time, in other blocks, and change letters.
- **Judging.** Batches contain pairs of equal length, so nothing is padded (padding adds 35 % of tokens at batch 8, 64 %
  at 64); identical pairs are judged once; each core computes its own batch; the last layer is computed only for the
  first token, from which the label is predicted. On a busy machine the alternative loses more, since its threads wait
  for one another: in processor time on one thread each the ratio was 1.6 to 1.8.
- **Stigma.** The partial sentences of the recursion are filled in batches, and the masked model's head is computed only
  at the mask. The rest runs at four fifths of the processor's peak; at the peak the ratio would be 5.1. On a busy
  machine the alternative loses more: 9.25.
"""


def page_of(figures: Mapping[str, Any]) -> str:
    """Render the page; parts that were not measured are omitted."""
    lines = [PREFACE, *_results(figures)]
    if part_figures := figures.get("orders"):
        lines += ["", *_orders(part_figures)]
    if part_figures := figures.get("quantised"):
        lines += ["", *_quantised(part_figures)]
    lines += ["", REASONS]
    for part, render in (("first", first_lines), ("stages", stage_lines), ("growth", growth_lines)):
        if part_figures := figures.get(part):
            lines += [*render(part_figures), ""]
    return "\n".join([*lines, *_machines(figures)]) + "\n"


def _results(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "## Results\n"
    yield "| task | unit | Equipoise | alternative | its speed | ratio | target | agreement |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    names = {"pipeline": "the pipeline's own", "amqa": "AMQA"}
    through_torch = figures.get("torch", {})
    targets = {"pipeline": 4.5, "amqa": 2.2}
    for backend, results, goals in (
        ("", figures.get("choice", {}), targets),
        ("torch: ", through_torch, dict.fromkeys(targets, 2.0)),
    ):
        for name in (name for name in names if name in results):
            result = results[name]
            tokens = f"{result['median_prompt_tokens']:.0f} tokens"
            what = f"{backend}multiple choice, {result['prompts']} prompts of {names[name]} ({tokens})"
            agreement = f"letters {result['same_letters']:.1%}, p within {result['largest_difference_of_p']:.0e}"
            yield _line(what, "prompts/s", result["prompts_a_second"], result, goals[name], agreement)
    for backend, figure, target in (("", figures, 3.0), ("torch: ", through_torch, 2.0)):
        if result := figure.get("generation"):
            what = f"{backend}reasoning, {result['prompts']} prompts, at most {result['most_new_tokens']} new tokens"
            agreement = f"texts {result['same_texts']:.1%}"
            yield _line(what, "tokens/s", result["tokens_a_second"], result, target, agreement)
    if result := figures.get("judge"):
        titles = {"pipeline": f"pipeline, batch {result['pipeline_batch']}", "pipeline_default": "pipeline, defaults"}
        for peer, kind in (("pipeline_default", "ratio_to_default"), ("pipeline", "ratio")):
            speeds = {"equipoise": result["pairs_a_second"]["judge"], titles[peer]: result["pairs_a_second"][peer]}
            ratio = {"median": result[kind], "least": result[f"{kind}_least"], "most": result[f"{kind}_most"]}
            agreement = f"{result['labels_that_differ']} labels differ"
            comparison = {"peer": titles[peer], "ratio": ratio}
            yield _line(f"judging, {result['pairs']} pairs", "pairs/s", speeds, comparison, 3.0, agreement)
    if result := figures.get("stigma"):
        what = f"stigma recursion, {result['prompts']} prompts"
        speeds = {way: round(result["prompts"] / result[f"{way}_seconds"], 3) for way in ("our", "published")}
        comparison = {"peer": "published", "ratio": {"median": result["ratio"]}}
        agreement = f"figures within {result['largest_difference']:.0e}"
        yield _line(what, "prompts/s", {"equipoise": speeds["our"], **speeds}, comparison, 5.0, agreement)


def _line(
    what: str, unit: str, speeds: Mapping[str, float], comparison: Mapping[str, Any], target: float, agreement: str
) -> str:
    peer, ratio = comparison["peer"], comparison["ratio"]
    spread = f" ({ratio['least']:.2f} to {ratio['most']:.2f})" if "least" in ratio else ""
    reached = "reached" if ratio["median"] >= target else "missed"
    cells = [what, unit, speeds["equipoise"], peer, speeds[peer], f"**{ratio['median']:.2f}**{spread}"]
    return "| " + " | ".join(map(str, [*cells, f"{target:.1f}: {reached}", agreement])) + " |"


def _orders(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "## Orders of the options\n"
    yield "Processor time of a question's prompts in all orders of its options, relative to the order as written alone."
    yield "The text before the options is computed once for all orders. In the study `questions`, the variants of a"
    yield "question share most of that text even in a single order, so the ratio is higher.\n"
    yield "| study | orders | prompts | cost of all orders, one order = 1 |"
    yield "| --- | ---: | ---: | --- |"
    for study in ("questions", "exam"):
        row = figures[study]
        cost = row["cost"]
        ratio = f"**{cost['median']:.2f}** ({cost['least']:.2f} to {cost['most']:.2f})"
        yield f"| {study} | {row['orders']} | {row['prompts']} | {ratio} |"


def _quantised(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "## Quantised weights\n"
    gate = f"the gate requires {figures['threshold']:.0%} of equal letters"
    yield f"{figures['prompts']} prompts, against float32; {gate}.\n"
    yield "| format | ratio to float32 | same letters | largest difference of p | gate |"
    yield "| --- | --- | --- | --- | --- |"
    for kind, row in figures["kinds"].items():
        ratio, gate = f"{row['ratio']['median']:.2f}", "passed" if row["passes"] else "failed"
        yield f"| {kind} | {ratio} | {row['same_letters']:.1%} | {row['largest_difference_of_p']:.0e} | {gate} |"
    for kind, error in figures["failed"].items():
        yield f"| {kind} | | | | export failed: {error} |"


def _machines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "## Measured on\n"
    parts_by_machine: dict[str, list[str]] = {}
    for part, part_figures in figures.items():
        machine = part_figures["machine"]
        line = f"{machine['cores']} cores of {machine['processor']} ({', '.join(machine['instructions'])})"
        parts_by_machine.setdefault(line, []).append(f"{part} ({machine['load_before']})")
    yield "The machine's load before each part is in brackets; versions are in the data.\n"
    for line, parts in parts_by_machine.items():
        yield f"- {line}: {', '.join(parts)}."
