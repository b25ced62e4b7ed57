"""The page of the cost estimate, rendered from its figures and the underlying rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cost_rates import Figure, Range
from cost_roofline import MANY, PROMPTS

from equipoise.backends.vllm import STEP_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cost_rates import Rates

    from equipoise.models.registry import WeightsEntry

PREFACE = """# Estimated GPU cost

Estimated time and cost of AMQA's 6,408 prompts (801 questions in eight variants) for the benchmark's eight models, on
{counts} GPUs ({gpu}). **Nothing here was run on a GPU.** Tokens were counted on published texts; speeds and
prices are third-party figures. The estimates are for planning: the low end combines the faster speeds with the lower
prices, the high end the slower speeds with the higher prices. `benchmarks/cost.py` writes this page and
[`cost.json`](../benchmarks/cost.json) from [`rates.yaml`](../benchmarks/rates.yaml), which has every rate with its
source: change a price or a speed there, and run it with `--render`.
"""
LIKELIHOOD = """## Letters by log-likelihood

The default (`perturb.answering: likelihood`): a prompt is prefilled once ({read:,.0f} tokens), and the four letters are
scored by the probabilities of the next token.
"""
GENERATE = """## Letters generated after reasoning

`perturb.answering: generate`: a prompt is prefilled once ({read:,.0f} tokens); the model reasons, then answers. The
mean of the generated tokens was counted on released outputs of four models (below); that of the other four is assumed
to lie between the smallest and the largest of these.
"""
MILLION = """## A million prompts

The same for {many:,} prompts on {gpus} GPUs, with as many tokens each.
"""
TOKENS = """## Token counts

{n:,} prompts in either form, and {each} outputs of each of the four models, were counted; quartiles and maxima are in
`cost.json`. {cut} outputs were truncated at the limit of {limit:,} tokens, so these models generate
more than is counted. Outputs that were shortened for their release are counted at their original length.
"""
SPEEDS = """## Assumed speeds

The speeds of each model are in `cost.json`, in tokens per second of one replica. They come from published runs of a
model of the same size, all on one GPU, if there are any; otherwise from the roofline model: prefill takes two
operations per active parameter and token, at the fraction of the peak that the published runs reach; a decoding step
reads the weights (or takes as long as its arithmetic, if that is longer) and the key-value cache of as many replies as
fit. Longer replies than in the published runs leave room for fewer at a time, so no decoding speed exceeds the
roofline. A 32B model leaves one GPU of 80 GB hardly any room for replies; the pairs of GPUs that its registry entry
requests decode much faster.
"""
ABSENT = """## Not included

- The models' own tokenisers: all counts use that of the default model, whose vocabulary is a third of theirs, so
  theirs produce somewhat fewer tokens.
- {absent:,} of the 6,408 texts, which were not available: they are assumed to be as long as the other {n:,} on average.
- These models' outputs on AMQA's questions: the outputs counted answer clinical vignettes, step by step.
- Without a Ray cluster, more than one replica requires `data_parallel` in the entry: the number of replicas.
- Equipoise's own work: about half a millisecond of a processor per prompt ([scaling](performance.md#scaling)), which
  for a million prompts is about as long as the letters of a small model take on 8 GPUs.
- Limits: {plain} are not known to use a reasoning format, so a reply to a question is limited
  to `answer_tokens`, {short}. The table assumes that you raise this limit, so that they can reason there.
- Equipoise lets vLLM prefill {step:,} tokens per step, fewer than in the published runs.
- Downloads, storage, tax, machine start-up, failures, and the other stages of a run.
- The last replies of a run, in small batches, and communication between the GPUs of a pair.
"""
SOURCES = """## Sources

Accessed on {seen}. `rates.yaml` has a note on each source, which says what is indirect about it, and lists the {runs}
published runs of vLLM on one such GPU from which the speeds are derived. In these runs, prefill speeds count all tokens
and decoding speeds only generated ones, over the time of the whole run; each phase alone would be faster.
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
        MILLION.format(many=MANY, gpus=max(rates.gpus)),
        *_million(figures["million"], entries),
        "",
        _tokens(prompts["likelihood"]["n"], outputs, entries),
        SPEEDS,
        _absent(prompts["likelihood"]["n"], entries),
        SOURCES.format(seen=rates.seen, runs=len(rates.runs)),
        *_sources(rates),
    ]
    return "\n".join(lines) + "\n"


def _costs(figures: Mapping[str, Any], mode: str, entries: Mapping[str, WeightsEntry], rates: Rates) -> Iterator[str]:
    generates = mode == "generate"
    heads = ["model", "backend", *(["generated tokens per prompt"] if generates else [])]
    for gpus in rates.gpus:
        heads += [f"{gpus} GPU{'s' if gpus > 1 else ''}: time", "US $"]
    yield from _head(heads)
    rows = figures["costs"][mode]
    for name, entry in entries.items():
        cells = [entry.title, f"`{entry.backend}`"]
        if generates:
            cells.append(_ends(figures["written"][name], "{:,.0f}"))
        for gpus in rates.gpus:
            row = rows[name][str(gpus)]
            cells += [_time(row["minutes"]), _dollars(row["dollars"])]
        yield _row(cells)
    cells = ["**all eight in turn**", "", *([""] if generates else [])]
    for gpus in rates.gpus:
        total = {
            what: {end: sum(rows[name][str(gpus)][what][end] for name in entries) for end in ("low", "high")}
            for what in ("minutes", "dollars")
        }
        cells += [_time(total["minutes"]), _dollars(total["dollars"])]
    yield _row(cells)


def _million(costs: Mapping[str, Any], entries: Mapping[str, WeightsEntry]) -> Iterator[str]:
    yield from _head(["model", "by log-likelihood: time", "US $", "generated: time", "US $"])
    for name, entry in entries.items():
        rows = [costs[mode][name] for mode in ("likelihood", "generate")]
        yield _row([entry.title, *(cell for row in rows for cell in (_time(row["minutes"]), _dollars(row["dollars"])))])


def _tokens(n: int, outputs: Mapping[str, Any], entries: Mapping[str, WeightsEntry]) -> str:
    cut = [f"{counts['cut']} of {entries[name].title}'s" for name, counts in outputs.items() if counts["cut"]]
    (limit,), (each,) = ({counts[key] for counts in outputs.values()} for key in ("limit", "n"))
    return TOKENS.format(n=n, each=each, limit=limit, cut=" and ".join(cut) or "none")


def _absent(n: int, entries: Mapping[str, WeightsEntry]) -> str:
    plain = {name: entry.generation.answer_tokens for name, entry in entries.items() if not entry.thinks}
    return ABSENT.format(
        n=n,
        absent=PROMPTS - n,
        plain=" and ".join(f"`{name}`" for name in plain),
        short=", ".join(map(str, sorted(set(plain.values())))),
        step=STEP_TOKENS,
    )


def _sources(rates: Rates) -> Iterator[str]:
    yield from _head(["figure", "value", "source"])
    for name, unit in UNITS.items():
        figure: Figure | Range = getattr(rates, name)
        value = f"{figure.value:g}" if isinstance(figure, Figure) else f"{figure.low:g} to {figure.high:g}"
        yield _row([unit, value, _links(figure.url) or "from the published runs"])
    for name, figure in rates.active.items():
        yield _row([f"active parameters, 10⁹ ({name})", f"{figure.value:g}", _links(figure.url)])


def _head(cells: Iterable[str]) -> Iterator[str]:
    cells = list(cells)
    yield _row(cells)
    yield _row(["---"] * len(cells))


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _links(urls: Iterable[str]) -> str:
    return " ".join(f"[{number}]({url})" for number, url in enumerate(urls, start=1))


def _ends(bounds: Mapping[str, float], form: str) -> str:
    low, high = form.format(bounds["low"]), form.format(bounds["high"])
    return low if low == high else f"{low} to {high}"


def _dollars(bounds: Mapping[str, float]) -> str:
    """Format both ends with one decimal below ten dollars, otherwise as whole dollars."""
    low, high = (f"{end:.1f}" if end < TEN else f"{end:,.0f}" for end in bounds.values())
    return low if low == high else f"{low} to {high}"


def _time(minutes: Mapping[str, float]) -> str:
    """Format each end in minutes, or in hours from one hour on."""
    parts = [
        ("under 1" if round(end) < 1 else f"{end:.0f}", "min") if end < HOUR else (f"{end / HOUR:.1f}", "h")
        for end in minutes.values()
    ]
    (low, unit), (high, other) = parts
    if unit != other:
        return f"{low} {unit} to {high} {other}"
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
