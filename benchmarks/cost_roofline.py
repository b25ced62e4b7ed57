"""Estimated speed, time and cost of a model: from published speeds where available, otherwise from the roofline.

Prefill is bound by arithmetic: two operations per active parameter and token, at the share of the peak that is reached.
A decoding step, one token of every reply in progress, as many as fit, reads all weights, or takes as long as its
arithmetic if that is longer, and then reads the keys and values of every reply. This is the roofline of Williams,
Waterman and Patterson (2009), applied separately to matrix products and attention. Communication between GPUs that
share a copy is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from cost_rates import Bounds, Rates

from equipoise.backends.vllm import IN_PROGRESS
from equipoise.core.errors import EquipoiseError
from equipoise.models.readiness import GB, HALF, fetch_gb
from equipoise.models.registry import VllmEntry

if TYPE_CHECKING:
    from equipoise.models.registry import WeightsEntry

PROMPTS = 6408
"""AMQA's 801 questions in eight texts each."""
MANY = 10**6
"""Prompts of a large study."""
TERA, HOUR = 1e12, 3600
OPERATIONS = 2
"""A multiplication and an addition for each parameter in use and token."""


class Load(NamedTuple):
    """A load: prompts, prefilled tokens per prompt and generated tokens per prompt."""

    prompts: int
    read: float
    written: Bounds

    @property
    def before(self) -> Bounds:
        """Tokens before a written one on average: the prompt, and half of the reply."""
        return Bounds(*(self.read + tokens / 2 for tokens in self.written))


class Copy(NamedTuple):
    """One replica of a model: the GPUs that it runs on, and their published rates."""

    gpus: int
    rates: Rates

    def published(self, name: str, of: Literal["reading", "writing"]) -> list[float]:
        """Tokens a second of the published runs that represent a model; all are of one GPU."""
        runs = self.rates.runs if self.gpus == 1 else ()
        return [run.tokens_a_second for run in runs if run.of == of and name in run.stands_for]


class Cost(NamedTuple):
    """Seconds from the start of the program to the last answer, and US dollars."""

    seconds: Bounds
    dollars: Bounds


def copy_of(entry: WeightsEntry, gpus: int, rates: Rates) -> Copy:
    """Number of GPUs for a replica: as in the registry entry, or all if there are fewer."""
    return Copy(min(gpus, entry.tensor_parallel if isinstance(entry, VllmEntry) else 1), rates)


def token_bytes(entry: WeightsEntry) -> float:
    """Bytes of a token's key-value cache in 16 bits over all layers; an EquipoiseError without attention sizes."""
    sizes = entry.attention
    if sizes is None:
        message = f"{entry.title}: its registry entry has no attention: give layers, kv_heads and head_size"
        raise EquipoiseError(message)
    return 2.0 * sizes.layers * sizes.kv_heads * sizes.head_size * HALF


def in_use(name: str, entry: WeightsEntry, rates: Rates) -> float:
    """Active parameters per token: all, except in a mixture of experts."""
    return rates.active[name].value * GB if name in rates.active else entry.n_parameters


def reading_roof(parameters: float, gpus: int, rates: Rates, reached: float) -> float:
    """Tokens that one replica on so many GPUs prefills per second, at a fraction of their peak."""
    return gpus * rates.peak_tflops.value * TERA * reached / (OPERATIONS * parameters)


def writing_roof(entry: WeightsEntry, parameters: float, tokens: float, copy: Copy, reached: Bounds) -> float:
    """Tokens that one replica generates per second, with a mean context of so many `tokens`.

    `reached` are the shares of the bandwidth and of the peak. A model whose weights leave no room is an EquipoiseError.
    """
    rates, weights, reply_bytes = copy.rates, fetch_gb(entry) * GB, token_bytes(entry) * tokens
    room = copy.gpus * rates.memory.value * GB - weights
    if room < reply_bytes:
        message = (
            f"{entry.title}: {weights / GB:.0f} GB of weights leave no room on {copy.gpus} x {rates.gpu} "
            f"({rates.memory.value:.0f} GB each): raise tensor_parallel in its registry entry, or name a larger GPU"
        )
        raise EquipoiseError(message)
    replies = min(IN_PROGRESS, int(room / reply_bytes))
    bandwidth, peak = reached
    bytes_a_second = copy.gpus * rates.bandwidth.value * TERA * bandwidth
    arithmetic = replies / reading_roof(parameters, copy.gpus, rates, peak)
    return replies / (max(weights / bytes_a_second, arithmetic) + replies * reply_bytes / bytes_a_second)


def reading(name: str, entry: WeightsEntry, copy: Copy) -> Bounds:
    """Range of tokens that one replica prefills per second: as published, else by the roofline."""
    rates = copy.rates
    if speeds := copy.published(name, "reading"):
        return Bounds(min(speeds), max(speeds))
    parameters, (low, high) = in_use(name, entry, rates), (rates.peak_reached.low, rates.peak_reached.high)
    return Bounds(reading_roof(parameters, copy.gpus, rates, low), reading_roof(parameters, copy.gpus, rates, high))


def writing(name: str, entry: WeightsEntry, tokens: Bounds, copy: Copy) -> Bounds:
    """Range of tokens that one replica generates per second: as published, else by the roofline.

    `tokens` precede each on average, at the fast end and at the slow end. Where they are more than in the
    published runs, fewer replies fit at once: neither end is above the roofline's.
    """
    rates, parameters = copy.rates, in_use(name, entry, copy.rates)
    bandwidth, peak = rates.bandwidth_reached, rates.peak_reached
    slow = writing_roof(entry, parameters, tokens.high, copy, Bounds(bandwidth.low, peak.low))
    fast = writing_roof(entry, parameters, tokens.low, copy, Bounds(bandwidth.high, peak.high))
    speeds = copy.published(name, "writing")
    return Bounds(min([slow, *speeds]), min([fast, max(speeds)]) if speeds else fast)


def cost(name: str, entry: WeightsEntry, load: Load, gpus: int, rates: Rates) -> Cost:
    """Time and cost of a load on so many GPUs, distributed over as many replicas of the model as fit.

    The fast end takes the faster of every two figures and the lower price, the slow end the others. All GPUs are paid
    for from the start to the end, loading included, and one that is left over as well.
    """
    copy = copy_of(entry, gpus, rates)
    read, prompts_a_copy = reading(name, entry, copy), load.prompts / (gpus // copy.gpus)
    fast, slow = prompts_a_copy * load.read / read.high, prompts_a_copy * load.read / read.low
    if load.written.high:
        wrote = writing(name, entry, load.before, copy)
        fast, slow = (
            fast + prompts_a_copy * load.written.low / wrote.high,
            slow + prompts_a_copy * load.written.high / wrote.low,
        )
    weights = fetch_gb(entry)
    seconds = Bounds(
        rates.start.low + weights / rates.loading.high + fast * rates.batch_invariance.low,
        rates.start.high + weights / rates.loading.low + slow * rates.batch_invariance.high,
    )
    hours = gpus / HOUR
    return Cost(seconds, Bounds(seconds.low * hours * rates.price.low, seconds.high * hours * rates.price.high))
