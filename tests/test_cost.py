"""Tests of the estimate of cost on paper: the arithmetic, the rates, the counts, and the committed page."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import cost as script  # noqa: E402  (a script's neighbour)
from cost_page import page_of  # noqa: E402
from cost_rates import Bounds, Figure, Range, Rates, Run, load_rates  # noqa: E402
from cost_roofline import Copy, Load, copy_of, cost, reading, writing  # noqa: E402
from cost_tokens import output_tokens, summarise  # noqa: E402

import families  # noqa: E402
from equipoise.core.errors import EquipoiseError  # noqa: E402
from equipoise.models.registry import VllmEntry  # noqa: E402

COMMITTED = load_rates(ROOT / "benchmarks/rates.yaml")


def between(low: float, high: float) -> Range:
    """Make up a range."""
    return Range(low=low, high=high, note="made up", url=())


def figure(value: float) -> Figure:
    """Make up a figure."""
    return Figure(value=value, note="made up", url=())


def run(of: str, read: float, written: float, seconds: float) -> Run:
    """Make up a published run that represents the model `made`."""
    fields = {"model": "Made", "stands_for": ["made"], "note": "made up", "url": []}
    return Run.model_validate(fields | {"of": of, "read": read, "written": written, "seconds": seconds})


def rates(*runs: Run, **change: Any) -> Rates:
    """Make up a GPU of 1 TFLOP/s, 1 TB/s and 10 GB, of which reading reaches a half at most and writing all."""
    fields: dict[str, Any] = {
        "seen": "2026-11-21",
        "gpu": "a GPU",
        "gpus": (1, 8),
        "price": between(1, 2),
        "peak_tflops": figure(1),
        "bandwidth": figure(1),
        "memory": figure(10),
        "peak_reached": between(0.25, 0.5),
        "bandwidth_reached": between(0.5, 1),
        "batch_invariance": between(1, 2),
        "loading": between(1, 4),
        "start": between(10, 20),
        "active": {},
        "runs": runs,
    }
    return Rates.model_validate(fields | change)


def entry(**change: Any) -> VllmEntry:
    """Build an entry of 10^9 parameters, 2 GB, whose tokens have 10^6 bytes of keys and values."""
    fields = {
        "title": "Made",
        "licence": "none",
        "backend": "vllm",
        "parameters": "1B",
        "source": {"kind": "local", "path": "x"},
        "max_length": 1000,
        "generation": {"reasoning_tokens": 1, "answer_tokens": 1},
        # 2 x 10 x 25 x 1,000 numbers of 2 bytes.
        "attention": {"layers": 10, "kv_heads": 25, "head_size": 1000},
    }
    return VllmEntry.model_validate(fields | change)


def test_reading_is_bound_by_arithmetic() -> None:
    """Without a published run: a quarter to a half of 10^12 operations a second, 2 x 10^9 a token."""
    assert reading("made", entry(), Copy(1, rates())) == pytest.approx((125, 250))
    assert reading("made", entry(), Copy(2, rates())) == pytest.approx((250, 500))


def test_a_mixture_of_experts_uses_some_of_its_parameters() -> None:
    """A fifth of the parameters in use: five times as many tokens."""
    assert reading("made", entry(), Copy(1, rates(active={"made": figure(0.2)}))) == pytest.approx((625, 1250))


def test_writing_is_bound_by_memory_and_arithmetic() -> None:
    """A step takes the weights or the arithmetic, whichever is longer, and the keys and values.

    8 GB are left for replies of 100 tokens, 0.1 GB each: 80. At the fast end the arithmetic takes 80 / 250 = 0.32 s,
    which is longer than 2 GB at 1 TB/s, and keys and values 8 ms: 80 / 0.328 = 243.9. At the slow end 80 / 125 = 0.64 s
    and 16 ms: 80 / 0.656 = 121.95.
    """
    bounds = writing("made", entry(), Bounds(100, 100), Copy(1, rates()))

    assert bounds == pytest.approx((121.951, 243.902), abs=1e-3)


def test_weights_are_the_longer_part_of_a_step_for_few_replies() -> None:
    """8 replies of 1,000 tokens on a fast GPU: 8 / (2 GB / 1 TB/s + 8 GB / 1 TB/s) = 800, and half at the slow end."""
    bounds = writing("made", entry(), Bounds(1000, 1000), Copy(1, rates(peak_tflops=figure(1000))))

    assert bounds == pytest.approx((400, 800))


def test_no_more_replies_are_under_way_than_the_backend_allows() -> None:
    """Replies of one token would fit 8,000 times; 1,024 are in progress: 1,024 / (4.096 + 0.001024) at the fast end."""
    assert writing("made", entry(), Bounds(1, 1), Copy(1, rates())).high == pytest.approx(1024 / 4.097024)


def test_published_runs_come_first() -> None:
    """Reading counts all tokens (300 in 2 s), writing those written (20 in 2 s); the roofline is above both."""
    runs = run("reading", 200, 100, 2), run("reading", 200, 200, 2), run("writing", 200, 20, 2)

    assert reading("made", entry(), Copy(1, rates(*runs))) == (150, 200)
    assert writing("made", entry(), Bounds(100, 100), Copy(1, rates(*runs))) == (10, 10)
    assert reading("other", entry(), Copy(1, rates(*runs))) == pytest.approx((125, 250))


def test_no_speed_of_writing_is_above_the_roofline() -> None:
    """A run of 10,000 tokens a second with short replies says little about long ones."""
    runs = (run("writing", 1, 10_000, 1),)

    assert writing("made", entry(), Bounds(100, 100), Copy(1, rates(*runs))) == pytest.approx(
        (121.951, 243.902), abs=1e-3
    )


def test_published_runs_are_of_one_gpu() -> None:
    """Two GPUs that share a copy go by the roofline."""
    given_rates = rates(run("reading", 200, 100, 2))
    pair = entry(tensor_parallel=2)

    assert [copy_of(pair, gpus, given_rates).gpus for gpus in (1, 2, 8)] == [1, 2, 2]
    assert reading("made", pair, copy_of(pair, 8, given_rates)) == pytest.approx((250, 500))


def test_weights_that_leave_no_room_are_refused() -> None:
    """Twenty GB do not go into ten; the message names the model, the GPU and the fix."""
    message = r"Made: 20 GB of weights leave no room on 1 x a GPU \(10 GB each\): raise tensor_parallel"

    with pytest.raises(EquipoiseError, match=message):
        writing("made", entry(parameters="10B"), Bounds(100, 100), Copy(1, rates()))


def test_sizes_of_attention_are_wanted() -> None:
    """Without them the room of a reply is not known."""
    with pytest.raises(EquipoiseError, match="Made: its registry entry has no attention"):
        writing("made", entry(attention=None), Bounds(100, 100), Copy(1, rates()))


def test_cost_is_start_and_weights_and_work_on_all_gpus() -> None:
    """A thousand prompts of 250 tokens on two GPUs, by published speeds.

    Each GPU has 500. Fast: 10 s to start, 2 GB at 4 GB/s, 500 x 250 / 200 = 625 s to read: 635.5 s of two GPUs at 1
    dollar an hour. Slow: 20 s, 2 s, and 500 x 250 / 150 s, twice for the kernels: 1,688.7 s at 2 dollars.
    """
    given_rates = rates(run("reading", 200, 100, 2), run("reading", 200, 200, 2))
    estimate = cost("made", entry(), Load(1000, 250, Bounds(0, 0)), 2, given_rates)

    assert estimate.seconds == pytest.approx((635.5, 22 + 2 * 500 * 250 / 150))
    assert estimate.dollars == pytest.approx((635.5 * 2 / 3600, (22 + 2 * 500 * 250 / 150) * 2 / 3600 * 2))


def test_a_gpu_that_is_left_over_is_paid_for() -> None:
    """Three GPUs hold one pair: as fast as two, and half as dear again."""
    pair, load = entry(tensor_parallel=2), Load(1000, 250, Bounds(0, 0))
    two, three = (cost("made", pair, load, gpus, rates()) for gpus in (2, 3))

    assert three.seconds == two.seconds
    assert three.dollars == pytest.approx([1.5 * dollars for dollars in two.dollars])


def test_writing_is_added_to_reading() -> None:
    """Ten prompts of 100 tokens, 10 to 20 written ones at 10 a second: 10.5 + 5 + 10 s, and 22 + (20/3 + 20) x 2 s."""
    given_rates = rates(run("reading", 200, 100, 2), run("reading", 200, 200, 2), run("writing", 1, 10, 1))
    estimate = cost("made", entry(), Load(10, 100, Bounds(10, 20)), 1, given_rates)

    assert estimate.seconds == pytest.approx((10.5 + 5 + 10, 22 + (1000 / 150 + 20) * 2))


@given(
    st.integers(1, 10_000),
    st.floats(1, 1000),
    st.floats(0, 1000),
    st.floats(0, 1000),
    st.sampled_from([1, 2, 4]),
)
def test_more_gpus_are_never_slower(prompts: int, read: float, least: float, more: float, gpus: int) -> None:
    """Twice the GPUs take no longer, and the low end is never above the high one."""
    load = Load(prompts, read, Bounds(least, least + more))
    single, double = (cost("made", entry(), load, count, rates()) for count in (gpus, 2 * gpus))

    assert single.seconds.low <= single.seconds.high
    assert single.dollars.low <= single.dollars.high
    assert double.seconds.low <= single.seconds.low
    assert double.seconds.high <= single.seconds.high


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("price: {low: 2, high: 1, note: n, url: []}", "field price: Value error, low 2.0 is more than high 1.0"),
        ("price: {low: 1, high: 2, note: n, url: [somewhere]}", r"field price\.url\.0"),
        ("price: {low: 1, high: 2, url: []}", r"field price\.note: Field required"),
    ],
)
def test_a_bad_rate_is_named(tmp_path: Path, text: str, words: str) -> None:
    """A range in the wrong order, a source that is not an address, or a figure without a note."""
    committed = (ROOT / "benchmarks/rates.yaml").read_text(encoding="utf-8")
    start, end = committed.index("price:"), committed.index("# Dense BF16")
    path = tmp_path / "rates.yaml"
    path.write_text(f"{committed[:start]}{text}\n{committed[end:]}", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=words):
        load_rates(path)


def test_the_shares_of_the_peak_are_those_of_the_runs() -> None:
    """What rates.yaml says is reached in reading is the least and the most of its runs, by 2 operations a parameter."""
    entries = script.load_entries()
    reached = []
    for published in COMMITTED.runs:
        if published.of == "reading":
            name = published.stands_for[0]
            active = COMMITTED.active[name].value * 1e9 if name in COMMITTED.active else entries[name].n_parameters
            reached.append(published.tokens_a_second * 2 * active / (COMMITTED.peak_tflops.value * 1e12))

    assert (COMMITTED.peak_reached.low, COMMITTED.peak_reached.high) == (round(min(reached), 2), round(max(reached), 2))


def test_the_runs_stand_for_the_eight_models() -> None:
    """Each of the eight has published runs of reading and of writing, and no other model is named."""
    for of in ("reading", "writing"):
        named = {name for published in COMMITTED.runs if published.of == of for name in published.stands_for}
        assert named == set(script.MODELS)
    assert set(script.MODELS) == set(families.FAMILIES)


def test_counts_have_a_mean_and_quartiles() -> None:
    """Of 1, 2, 3, 4 and 10: mean 20/5, quartiles the second, third and fourth, the most 10."""
    figures = summarise([1, 2, 3, 4, 10]).figures()

    assert figures == {"n": 5, "mean": 4, "quartile_1": 2, "median": 3, "quartile_3": 4, "most": 10}


def test_shortened_outputs_count_as_they_were_generated() -> None:
    """Of 30 characters 10 were kept, of 2 words: 6 tokens; an output that was left alone counts as it is."""
    rows: list[dict[str, Any]] = [
        {"output_text": "two words", "original_length": 30, "cleaned_length": 10},
        {"output_text": "now three words", "original_length": None, "cleaned_length": None},
        {"output_text": "one"},
    ]

    assert list(output_tokens(rows, lambda text: len(text.split()))) == [6, 3, 1]


def test_models_without_outputs_write_between_the_means() -> None:
    """A model with released outputs writes their mean; another one from the least mean to the most."""
    outputs = {"a": {"mean": 100.0}, "b": {"mean": 300.0}, "c": {"mean": 200.0}}

    assert script.generated_tokens("c", outputs) == (200, 200)
    assert script.generated_tokens("d", outputs) == (100, 300)


def test_a_prompt_is_read_once() -> None:
    """Nothing is written by likelihood; by generation the reply, each token of which comes after the prompt."""
    tokens = {"prompts": {"likelihood": {"mean": 99}, "generate": {"mean": 97}}, "outputs": {"a": {"mean": 50.0}}}
    loads = script.loads("a", tokens)

    assert (loads["likelihood"].read, loads["likelihood"].written) == (99, (0, 0))
    assert (loads["generate"].read, loads["generate"].written, loads["generate"].before) == (97, (50, 50), (122, 122))


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    """Read the figures in the repository."""
    figures: dict[str, Any] = json.loads(script.FIGURES.read_text(encoding="utf-8"))
    return figures


def test_figures_are_what_the_rates_give(committed: dict[str, Any]) -> None:
    """The figures in the repository follow from its rates, its registry and the tokens counted."""
    estimates = script.estimates(script.load_entries(), committed["tokens"], COMMITTED)

    assert json.loads(json.dumps(estimates)) == {name: committed[name] for name in estimates}


def test_page_is_what_the_figures_give(committed: dict[str, Any]) -> None:
    """The page in the repository is generated."""
    assert script.PAGE.read_text(encoding="utf-8") == page_of(committed, script.load_entries(), COMMITTED)


def test_page_tells_times_in_minutes_or_hours(committed: dict[str, Any]) -> None:
    """Each end in its own unit, and a cost below ten dollars with a decimal."""
    row = {"minutes": {"low": 12.4, "high": 90.0}, "dollars": {"low": 0.58, "high": 1234.5}}
    costs = {mode: {name: {"1": row, "8": row} for name in script.MODELS} for mode in ("likelihood", "generate")}
    page = page_of({**committed, "costs": costs}, script.load_entries(), COMMITTED)

    assert "| Qwen3-8B | `vllm` | 12 min to 1.5 h | 0.6 to 1,234 | 12 min to 1.5 h | 0.6 to 1,234 |" in page


def test_rendering_keeps_the_tokens(tmp_path: Path, committed: dict[str, Any]) -> None:
    """With --render no published text is read, and nothing changes where no rate has."""
    figures, page = tmp_path / "cost.json", tmp_path / "cost.md"
    figures.write_text(script.FIGURES.read_text(encoding="utf-8"), encoding="utf-8")
    script.main(out=figures, page=page, render=True)

    assert json.loads(figures.read_text(encoding="utf-8")) == committed
    assert page.read_text(encoding="utf-8") == script.PAGE.read_text(encoding="utf-8")
