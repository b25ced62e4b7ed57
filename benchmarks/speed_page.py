"""The page of the speed benchmarks, written from their figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
from stages_page import growth_lines, stage_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFACE = """# How fast it is

Measured side by side with what a user would pick instead: the same weights in float32, the same prompts, on the same
machine in one run, by turns in short rounds. A ratio says how many times as fast Equipoise was: the median over the
rounds, with the least and the most in brackets. Speeds differ from machine to machine by far more than ratios do.
What a whole run costs, and how that grows, stands below. `make bench` repeats all of it and writes this page from
`results.json`, `stages.json` and `growth.json` in `benchmarks/`.
"""
REASONS = """## What the ratios come from

- **Multiple choice.** The peer computes logits at every position of a prompt, Equipoise at the last alone, where the
  letters are read. The vocabulary (49,152 tokens) is a fifth of this model's arithmetic, and the peer normalises over
  it at each position as well. After the last attention nothing but that position is worked out. Prompts are not padded.
  Each core works out a prompt of its own, so that none waits for another. What stands before the user's words is read
  once for all prompts, and what prompts are known to share once for those: the variants of one of the pipeline's
  questions share half of their tokens. AMQA's texts, each rewritten as a whole, share a tenth at most, two thirds of it
  before the user's words. The rest is matrix products in float32 at the processor's peak (84 % of the time) and
  attention (12 %): were both at the peak, AMQA's ratio would still be under 3.
- **Generation.** Keys and values stay in place rather than being copied at every step, and a row that is done takes the
  next prompt at once, where the peer's batch runs until its longest reply ends. Both read the prompts and do the same
  arithmetic for every token of a reply. A third of our step is the fused attention, which works out every head of every
  row apart, so that more rows gain little: 42 gave 131 tokens a second where 16, the default, gave 124.
- **Fewer bits.** The gate asks for the same letter on at least 99 % of prompts, and a kind is of use only if it is
  faster too. One scale for all activations is fast and wrong: a few activations are many times as large as the rest and
  take the scale for themselves. 8 bits with a scale for every 32 weights keep the letters, but on processors without
  int8 instructions their kernels read a prompt more slowly than float32 does. 4 bits round once more what was published
  in 4 bits, by other blocks, and change letters. So none is offered.
- **Judging.** Pairs of one exact length share a batch, so that nothing is padded (padding adds 35 % of tokens at batch
  8, 64 % at 64); equal pairs are judged once; each core computes a batch of its own; the last layer is computed for
  the first token alone, which the label is read from. ONNX Runtime's own fusions for BERT were 8 to 10 % slower here.
  Beside other work the peer loses more, since its threads wait for one another: in processor time on one thread each
  the ratio was 1.6 to 1.8.
- **Stigma.** The recursion's partial sentences are filled in batches, and the masked model's head is computed at the
  mask alone. What is left is at four fifths of the processor's peak; at the peak the ratio would be 5.1. A batch for
  each core was tried: no faster, as there are few batches of one length at a time. Beside other work the peer loses
  more: 9.25 under load.
"""


def page_of(figures: Mapping[str, Any]) -> str:
    """Write the page; parts that were not measured are left out."""
    lines = [PREFACE, *_results(figures)]
    if found := figures.get("quantised"):
        lines += ["", *_quantised(found)]
    lines += ["", REASONS]
    for part, told in (("stages", stage_lines), ("growth", growth_lines)):
        if found := figures.get(part):
            lines += [*told(found), ""]
    return "\n".join([*lines, *_machines(figures)]) + "\n"


def _results(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "## Results\n"
    yield "| work | unit | Equipoise | peer | peer's speed | ratio | asked | agreement |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    names = {"pipeline": "the pipeline's own", "amqa": "AMQA"}
    for name, found in figures.get("choice", {}).items():
        if name == "machine":
            continue
        what = (
            f"multiple choice, {found['prompts']} prompts of {names[name]} ({found['median_prompt_tokens']:.0f} tokens)"
        )
        agreement = f"letters {found['same_letters']:.1%}, p within {found['largest_difference_of_p']:.0e}"
        yield _line(what, "prompts/s", found["prompts_a_second"], found, 3.0, agreement)
    if found := figures.get("generation"):
        what = f"reasoning, {found['prompts']} prompts, at most {found['most_new_tokens']} new tokens"
        yield _line(what, "tokens/s", found["tokens_a_second"], found, 3.0, f"texts {found['same_texts']:.1%}")
    if found := figures.get("judge"):
        titles = {"pipeline": f"pipeline, batch {found['pipeline_batch']}", "pipeline_default": "pipeline, as it comes"}
        for peer, kind in (("pipeline_default", "ratio_to_default"), ("pipeline", "ratio")):
            speeds = {"equipoise": found["pairs_a_second"]["judge"], titles[peer]: found["pairs_a_second"][peer]}
            ratio = {"median": found[kind], "least": found[f"{kind}_least"], "most": found[f"{kind}_most"]}
            agreement = f"{found['labels_that_differ']} labels differ"
            told = {"peer": titles[peer], "ratio": ratio}
            yield _line(f"judging, {found['pairs']} pairs", "pairs/s", speeds, told, 3.0, agreement)
    if found := figures.get("stigma"):
        what = f"stigma recursion, {found['prompts']} prompts"
        speeds = {way: round(found["prompts"] / found[f"{way}_seconds"], 3) for way in ("our", "published")}
        told = {"peer": "published", "ratio": {"median": found["ratio"]}}
        agreement = f"figures within {found['largest_difference']:.0e}"
        yield _line(what, "prompts/s", {"equipoise": speeds["our"], **speeds}, told, 5.0, agreement)


def _line(
    what: str, unit: str, speeds: Mapping[str, float], found: Mapping[str, Any], asked: float, agreement: str
) -> str:
    peer, ratio = found["peer"], found["ratio"]
    spread = f" ({ratio['least']:.2f} to {ratio['most']:.2f})" if "least" in ratio else ""
    reached = "reached" if ratio["median"] >= asked else "missed"
    cells = [what, unit, speeds["equipoise"], peer, speeds[peer], f"**{ratio['median']:.2f}**{spread}"]
    return "| " + " | ".join(map(str, [*cells, f"{asked:.1f}: {reached}", agreement])) + " |"


def _quantised(found: Mapping[str, Any]) -> Iterator[str]:
    yield "## Weights in fewer bits\n"
    yield f"{found['prompts']} prompts, against float32; the gate asks for {found['threshold']:.0%} of letters.\n"
    yield "| kind | ratio to float32 | same letters | largest difference of p | gate |"
    yield "| --- | --- | --- | --- | --- |"
    for kind, one in found["kinds"].items():
        ratio, gate = f"{one['ratio']['median']:.2f}", "passes" if one["passes"] else "refused"
        yield f"| {kind} | {ratio} | {one['same_letters']:.1%} | {one['largest_difference_of_p']:.0e} | {gate} |"
    for kind, error in found["failed"].items():
        yield f"| {kind} | | | | cannot be made: {error} |"


def _machines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "## Measured on\n"
    told: dict[str, list[str]] = {}
    for part, found in figures.items():
        one = found["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        line = (
            f"{one['cores']} cores of {one['processor']} ({', '.join(one['instructions'])}), Python {one['python']}, "
        )
        told.setdefault(line + versions, []).append(f"{part} (load before: {one['load_before']})")
    for line, parts in told.items():
        yield f"- {', '.join(parts)}: {line}."
