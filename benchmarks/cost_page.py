"""The page of the cost estimate, rendered from its figures and the underlying rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cost_rates import Figure, Range
from cost_roofline import PROMPTS

from equipoise.backends.vllm import STEP_TOKENS
from equipoise.models.registry import TorchEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cost_rates import Rates

    from equipoise.models.registry import WeightsEntry

PREFACE = """# Estimated GPU cost

Estimated time and cost of AMQA's 6,408 prompts (801 questions in eight variants) for the benchmark's eight models, on
{counts} GPUs ({gpu}). **Nothing here was run on a GPU.** Tokens were counted on published texts;
speeds and prices are third-party figures, cited below. They are for planning: the low end combines the faster speeds
with the lower prices, the high end the slower speeds with the higher prices. `benchmarks/cost.py` writes this page from
`benchmarks/rates.yaml`, which has every figure with its source: change a price or a speed there, and run it again
with `--render`.
"""
LIKELIHOOD = """## Letters by log-likelihood

The default (`perturb.answering: likelihood`). A prompt is prefilled once ({read:,.0f} tokens), and the four letters are
scored by the probabilities of the next token.
"""
GENERATE = """## Letters generated after reasoning

`perturb.answering: generate`. A prompt is prefilled once ({read:,.0f} tokens); the model reasons, and then answers. The
number of generated tokens was counted on released outputs of four of the models (see below); for the other four it is
assumed to lie between the smallest and the largest of those means.
"""
SPEEDS = """## Assumed speeds

Tokens per second of one replica of the model. Published runs of a model of the same size if there are any, all on one
GPU; otherwise the roofline: prefill takes two operations per active parameter and token, at the fraction of the peak
that the published runs reach; a decoding step reads the weights (or takes as long as its arithmetic if that is longer)
and the key-value cache of as many replies as fit. Replies longer than those of the published runs leave room for fewer
at a time, so that no decoding speed exceeds the roofline. A 32B model leaves one GPU of 80 GB hardly any room for
replies, so that the pairs of GPUs requested by its registry entry decode much faster.
"""
ABSENT = """## Not included

- The models' own tokenisers: all counts use that of the default model, whose vocabulary is a third of theirs, so
  that theirs produce somewhat fewer tokens.
- {absent:,} of the 6,408 texts, which were not available: they are assumed to be as long as the other {n:,} on average.
- These models' outputs on AMQA's questions. The outputs counted answer clinical vignettes, step by step.
- The backend `torch`, which the registry names for {torch} of the eight: it processes one prompt at a time. Set
  `backend: vllm` in their entries for speeds like these, and `data_parallel` to the number of replicas.
- Limits: {plain} are not known to use a reasoning format, so that a reply to one question is limited to
  `answer_tokens`, {short}. To let them reason there, raise that in their entries; the table assumes so.
- Equipoise lets vLLM prefill {step:,} tokens per step, fewer than in the published runs.
- Downloading the weights, storage, tax, machine start-up, failures, and the other stages of a run.
- The last replies of a run, in small batches, and communication between the GPUs of a pair.
"""
UNITS = {
    "price": "US dollars per GPU hour",
    "peak_tflops": "dense BF16, TFLOP/s",
    "bandwidth": "memory bandwidth, TB/s",
    "memory": "GB for weights and key-value cache",
    "peak_reached": "fraction of the peak reached in prefill",
    "bandwidth_reached": "fraction of the bandwidth reached in decoding",
    "batch_invariance": "slowdown of batch-invariant kernels",
    "loading": "GB/s, loading weights from disk",
    "start": "seconds to start, without loading weights",
}
PHASES = {"reading": "prefill", "writing": "decoding"}
HOUR, TEN = 60, 10
"""Minutes from which a time is written in hours, and dollars from which a cost is written without cents."""


def page_of(figures: Mapping[str, Any], entries: Mapping[str, WeightsEntry], rates: Rates) -> str:
    """Write the page."""
    prompts, outputs = figures["tokens"]["prompts"], figures["tokens"]["outputs"]
    counts = " and ".join(map(str, rates.gpus))
    lines = [
        PREFACE.format(counts=counts, gpu=rates.gpu),
        LIKELIHOOD.format(read=figures["read"]["likelihood"]),
        *_costs(figures, "likelihood", entries, rates),
        "",
        GENERATE.format(read=figures["read"]["generate"]),
        *_costs(figures, "generate", entries, rates),
        "",
        "## Token counts\n",
        *_tokens(prompts, outputs, entries),
        "",
        SPEEDS,
        *_speeds(figures["speeds"], entries),
        "",
        _absent(prompts["likelihood"]["n"], entries),
        f"## Sources\n\nAccessed on {rates.seen}.\n",
        *_sources(rates),
        "",
        *_runs(rates),
    ]
    return "\n".join(lines) + "\n"


def _costs(figures: Mapping[str, Any], mode: str, entries: Mapping[str, WeightsEntry], rates: Rates) -> Iterator[str]:
    generates = mode == "generate"
    heads = ["model", "parameters", *(["generated tokens per prompt"] if generates else [])]
    for gpus in rates.gpus:
        heads += [f"{gpus} GPU{'s' if gpus > 1 else ''}: time", "US $"]
    yield from _head(heads)
    rows = figures["costs"][mode]
    for name, entry in entries.items():
        cells = [entry.title, entry.parameters]
        if generates:
            cells.append(_ends(figures["written"][name], "{:,.0f}"))
        for gpus in rates.gpus:
            found = rows[name][str(gpus)]
            cells += [_time(found["minutes"]), _dollars(found["dollars"])]
        yield _row(cells)
    cells = ["**all eight, one after the other**", "", *([""] if generates else [])]
    for gpus in rates.gpus:
        total = {
            what: {end: sum(rows[name][str(gpus)][what][end] for name in entries) for end in ("low", "high")}
            for what in ("minutes", "dollars")
        }
        cells += [_time(total["minutes"]), _dollars(total["dollars"])]
    yield _row(cells)


def _tokens(
    prompts: Mapping[str, Any], outputs: Mapping[str, Any], entries: Mapping[str, WeightsEntry]
) -> Iterator[str]:
    yield from _head(["texts", "n", "mean", "quartiles", "maximum", "truncated at the model's limit"])
    told = [(f"prompts of AMQA, {mode}", found) for mode, found in prompts.items()]
    told += [(f"outputs of {entries[name].title}", found) for name, found in outputs.items()]
    for what, found in told:
        quartiles = ", ".join(f"{found[one]:,.0f}" for one in ("quartile_1", "median", "quartile_3"))
        cut = f"{found['cut']} (at {found['limit']:,})" if "cut" in found else ""
        yield _row([what, f"{found['n']:,}", f"{found['mean']:,.0f}", quartiles, f"{found['most']:,.0f}", cut])
    yield "\nOutputs that were shortened for their release are counted at their original length."


def _speeds(speeds: Mapping[str, Any], entries: Mapping[str, WeightsEntry]) -> Iterator[str]:
    yield from _head(["model", "GPUs per replica", "prefill", "source", "decoding", "source"])
    for name, entry in entries.items():
        copies = {found["gpus_a_copy"]: found for found in speeds[name].values()}
        for gpus, found in copies.items():
            cells = [entry.title, str(gpus)]
            for one in ("read", "written"):
                cells += [_ends(found[f"{one}_a_second"], "{:,.0f}"), found[f"{one}_from"]]
            yield _row(cells)


def _absent(n: int, entries: Mapping[str, WeightsEntry]) -> str:
    plain = {name: entry.generation.answer_tokens for name, entry in entries.items() if not entry.thinks}
    return ABSENT.format(
        n=n,
        absent=PROMPTS - n,
        torch=sum(isinstance(entry, TorchEntry) for entry in entries.values()),
        plain=" and ".join(f"`{name}`" for name in plain),
        short=", ".join(map(str, sorted(set(plain.values())))),
        step=STEP_TOKENS,
    )


def _sources(rates: Rates) -> Iterator[str]:
    yield from _head(["figure", "value", "description and source"])
    for name, unit in UNITS.items():
        found: Figure | Range = getattr(rates, name)
        value = f"{found.value:g}" if isinstance(found, Figure) else f"{found.low:g} to {found.high:g}"
        yield _row([unit, value, f"{found.note} {_links(found.url)}".strip()])
    for name, one in rates.active.items():
        yield _row([f"active parameters, 10⁹ ({name})", f"{one.value:g}", f"{one.note} {_links(one.url)}"])


def _runs(rates: Rates) -> Iterator[str]:
    heads = ["published run", "phase", "tokens prefilled", "generated", "seconds", "tokens per second", "source"]
    yield from _head(heads)
    for run in rates.runs:
        numbers = [f"{run.read:,.0f}", f"{run.written:,.0f}", f"{run.seconds:g}", f"{run.tokens_a_second:,.0f}"]
        yield _row([run.model, PHASES[run.of], *numbers, f"{run.note} {_links(run.url)}"])
    yield "\nPrefill runs count all tokens, decoding runs only generated ones; each phase alone would be faster."


def _head(cells: Iterable[str]) -> Iterator[str]:
    cells = list(cells)
    yield _row(cells)
    yield _row(["---"] * len(cells))


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _links(urls: Iterable[str]) -> str:
    return " ".join(f"[{number}]({url})" for number, url in enumerate(urls, start=1))


def _ends(found: Mapping[str, float], form: str) -> str:
    low, high = form.format(found["low"]), form.format(found["high"])
    return low if low == high else f"{low} to {high}"


def _dollars(found: Mapping[str, float]) -> str:
    """Format both ends with one decimal below ten dollars, otherwise as whole dollars."""
    low, high = (f"{end:.1f}" if end < TEN else f"{end:,.0f}" for end in found.values())
    return low if low == high else f"{low} to {high}"


def _time(minutes: Mapping[str, float]) -> str:
    """Format each end in minutes, or in hours from one hour on."""
    told = [
        ("under 1" if round(end) < 1 else f"{end:.0f}", "min") if end < HOUR else (f"{end / HOUR:.1f}", "h")
        for end in minutes.values()
    ]
    (low, unit), (high, other) = told
    if unit != other:
        return f"{low} {unit} to {high} {other}"
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
