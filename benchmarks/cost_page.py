"""The page of the estimate of cost, written from its figures and from the rates that it rests on."""

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

PREFACE = """# What a run costs, on paper

What AMQA's 6,408 prompts (801 questions in eight texts each) would take of the benchmark's eight models, on {counts}
GPUs ({gpu}). **Nothing here was run on a GPU.** Tokens were counted on published texts; speeds and prices are
other people's, named below. They are figures to plan with: the low end takes the faster speed and the lower price of
every two, the high end the slower and the higher of all together. `benchmarks/cost.py` writes this page from
`benchmarks/rates.yaml`, where every figure stands with its source: change a price or a speed there, and run it again
with `--render`.
"""
LIKELIHOOD = """## Letters read from likelihoods

The default (`perturb.answering: likelihood`). A prompt is read once ({read:,.0f} tokens), and the four letters from the
probabilities of the token that would come next.
"""
GENERATE = """## Letters generated after reasoning

`perturb.answering: generate`. A prompt is read once ({read:,.0f} tokens); the model thinks, and then answers. What it
writes was counted on released outputs of four of the models (see below); the other four are taken to write between the
least and the most of those means.
"""
SPEEDS = """## Speeds that were taken

Tokens a second of one copy of the model. Published runs of a model of the same size where there are any, all of one
GPU; else the roofline: reading takes two operations for each parameter in use and token, at the share of the peak that
the published runs reach; a step of writing reads the weights, or takes as long as its arithmetic where that is longer,
and the keys and values of as many replies as fit. Replies longer than those of the published runs leave room for fewer
at once, so that no speed of writing is above the roofline's. A 32B model leaves one GPU of 80 GB hardly any room for
replies, which is why the pairs that its registry entry asks for write so much faster.
"""
ABSENT = """## What is not in it

- The models' own tokenizers: all was counted with that of the default model, whose vocabulary is a third of theirs, so
  that theirs give somewhat fewer tokens.
- {absent:,} of the 6,408 texts, which are not at hand: they are taken to be as long as the {n:,} others on average.
- What these models write about AMQA's questions. The outputs counted answer clinical vignettes, step by step.
- The backend `torch`, which the registry names for {torch} of the eight: it answers one prompt after the other. Set
  `backend: vllm` in their entries for speeds like these, and `data_parallel` to the number of copies.
- Limits: the forms of {plain} are not known to think first, so that a reply to one question is held to
  `answer_tokens`, {short}. To let them reason there, raise that in their entries; the table assumes so.
- That Equipoise lets vLLM read {step:,} tokens a step, fewer than the published runs did.
- Fetching the weights, storage, tax, the time in which a machine starts, faults, and the other stages of a run.
- The last replies of a run, when few are under way, and what the GPUs of a pair tell each other.
"""
UNITS = {
    "price": "US dollars for a GPU and hour",
    "peak_tflops": "dense BF16, TFLOP/s",
    "bandwidth": "memory bandwidth, TB/s",
    "memory": "GB for weights, keys and values",
    "peak_reached": "share of the peak reached in reading",
    "bandwidth_reached": "share of the bandwidth reached in writing",
    "batch_invariance": "times as long, kernels that do not depend on the batch",
    "loading": "GB/s, weights from the disk",
    "start": "seconds to start, weights aside",
}
HOUR, TEN = 60, 10
"""Minutes from which a time is told in hours, and dollars from which a cost is told without cents."""


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
        "## Tokens that were counted\n",
        *_tokens(prompts, outputs, entries),
        "",
        SPEEDS,
        *_speeds(figures["speeds"], entries),
        "",
        _absent(prompts["likelihood"]["n"], entries),
        f"## Where the figures are from\n\nRead on {rates.seen}.\n",
        *_sources(rates),
        "",
        *_runs(rates),
    ]
    return "\n".join(lines) + "\n"


def _costs(figures: Mapping[str, Any], mode: str, entries: Mapping[str, WeightsEntry], rates: Rates) -> Iterator[str]:
    generates = mode == "generate"
    heads = ["model", "parameters", *(["tokens written a prompt"] if generates else [])]
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
    yield from _head(["texts", "n", "mean", "quartiles", "most", "cut at the model's limit"])
    told = [(f"prompts of AMQA, {mode}", found) for mode, found in prompts.items()]
    told += [(f"outputs of {entries[name].title}", found) for name, found in outputs.items()]
    for what, found in told:
        quartiles = ", ".join(f"{found[one]:,.0f}" for one in ("quartile_1", "median", "quartile_3"))
        cut = f"{found['cut']} (at {found['limit']:,})" if "cut" in found else ""
        yield _row([what, f"{found['n']:,}", f"{found['mean']:,.0f}", quartiles, f"{found['most']:,.0f}", cut])
    yield "\nOutputs that were shortened for their release are counted at their length before that."


def _speeds(speeds: Mapping[str, Any], entries: Mapping[str, WeightsEntry]) -> Iterator[str]:
    yield from _head(["model", "GPUs a copy", "read", "from", "written", "from"])
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
    yield from _head(["figure", "value", "what it is, and where it was read"])
    for name, unit in UNITS.items():
        found: Figure | Range = getattr(rates, name)
        value = f"{found.value:g}" if isinstance(found, Figure) else f"{found.low:g} to {found.high:g}"
        yield _row([unit, value, f"{found.note} {_links(found.url)}".strip()])
    for name, one in rates.active.items():
        yield _row([f"parameters in use, 10⁹ ({name})", f"{one.value:g}", f"{one.note} {_links(one.url)}"])


def _runs(rates: Rates) -> Iterator[str]:
    yield from _head(["published run", "of", "tokens read", "written", "seconds", "tokens a second", "source"])
    for run in rates.runs:
        numbers = [f"{run.read:,.0f}", f"{run.written:,.0f}", f"{run.seconds:g}", f"{run.tokens_a_second:,.0f}"]
        yield _row([run.model, run.of, *numbers, f"{run.note} {_links(run.url)}"])
    yield "\nOf reading, all tokens are counted; of writing, those written: less than the GPU could do of one alone."


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
    """Tell both ends in two figures or so: with one decimal below ten dollars, else in whole ones."""
    low, high = (f"{end:.1f}" if end < TEN else f"{end:,.0f}" for end in found.values())
    return low if low == high else f"{low} to {high}"


def _time(minutes: Mapping[str, float]) -> str:
    """Tell each end in minutes, or in hours from one hour on."""
    told = [
        ("under 1" if round(end) < 1 else f"{end:.0f}", "min") if end < HOUR else (f"{end / HOUR:.1f}", "h")
        for end in minutes.values()
    ]
    (low, unit), (high, other) = told
    if unit != other:
        return f"{low} {unit} to {high} {other}"
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
