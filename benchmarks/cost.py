"""Estimated cost and time of AMQA's 6,408 prompts for the benchmark's eight models: for planning, not measured.

    PYTHONPATH=src EQUIPOISE_ANCHORS=FOLDER python benchmarks/cost.py

counts tokens of published questions and outputs, multiplies them by the published speeds and prices of
benchmarks/rates.yaml, and writes benchmarks/cost.json and docs/cost.md. Edit rates.yaml for another GPU or price;
`--render` then takes the tokens counted before, and needs no published data. A minute or two on one core.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

sys.path.insert(0, str(Path(__file__).parent))
from cost_page import page_of
from cost_rates import Bounds, load_rates
from cost_roofline import MANY, PROMPTS, Load, copy_of, cost, reading, writing

from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, write_json, write_text
from equipoise.models import registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cost_rates import Rates
    from cost_roofline import Cost

    from equipoise.models.registry import WeightsEntry

ROOT = Path(__file__).parents[1]
RATES, FIGURES, PAGE = ROOT / "benchmarks/rates.yaml", ROOT / "benchmarks/cost.json", ROOT / "docs/cost.md"
MODELS = "deepseek_r1_14b gpt_oss_20b piaget8b psych_qwen_32b psyche_r1 psyllm qwen3_8b qwq_32b".split()  # noqa: SIM905
MINUTE = 60


def main(rates: Path = RATES, out: Path = FIGURES, page: Path = PAGE, *, render: bool = False) -> None:
    """Count tokens, or with RENDER keep those of OUT; estimate by RATES; write OUT and the PAGE."""
    loaded_rates, entries = load_rates(rates), load_entries()
    if render:
        tokens = json.loads(read_text(out))["tokens"]
    else:
        from cost_tokens import count_tokens

        tokens = count_tokens(entries)
    figures = {"tokens": tokens, **estimates(entries, tokens, loaded_rates)}
    write_json(out, figures)
    write_text(page, page_of(json.loads(read_text(out)), entries, loaded_rates))
    typer.echo(f"{out} and {page} are written")


def load_entries() -> dict[str, WeightsEntry]:
    """Read the registry's entries of the eight models; one that vLLM does not run is an EquipoiseError."""
    entries: dict[str, WeightsEntry] = {}
    for name in MODELS:
        entry = registry.load_entry(name, ROOT)
        if not isinstance(entry, registry.VllmEntry):
            message = f"models/{name}.yaml: field backend is {entry.backend}: the estimate is of vLLM's speeds"
            raise EquipoiseError(message)
        entries[name] = entry
    return entries


def generated_tokens(name: str, outputs: Mapping[str, Mapping[str, float]]) -> Bounds:
    """Tokens that a model generates per prompt: the mean of its released outputs, else the range of all such means."""
    means = [figures["mean"] for figures in outputs.values()]
    return Bounds(*[outputs[name]["mean"]] * 2) if name in outputs else Bounds(min(means), max(means))


def loads(name: str, tokens: Mapping[str, Any]) -> dict[str, Load]:
    """The load of a model for both values of `answering`."""
    likelihood, generate = (tokens["prompts"][mode]["mean"] for mode in ("likelihood", "generate"))
    return {
        # The letters are scored by the probabilities of one token, whose decoding is neglected.
        "likelihood": Load(PROMPTS, likelihood, Bounds(0, 0)),
        "generate": Load(PROMPTS, generate, generated_tokens(name, tokens["outputs"])),
    }


def estimates(entries: Mapping[str, WeightsEntry], tokens: Mapping[str, Any], rates: Rates) -> dict[str, Any]:
    """Estimate speeds, minutes and US dollars for every model, way of answering and number of GPUs."""
    speeds: dict[str, Any] = {}
    costs: dict[str, Any] = {}
    million: dict[str, Any] = {}
    read: dict[str, float] = {}
    replies: dict[str, Any] = {}
    for name, entry in entries.items():
        loads_by_mode = loads(name, tokens)
        generate = loads_by_mode["generate"]
        read = {mode: round(load.read, 1) for mode, load in loads_by_mode.items()}
        replies[name] = ends(generate.written, 0)
        for gpus in rates.gpus:
            copy = copy_of(entry, gpus, rates)
            read_a_second, written_a_second = reading(name, entry, copy), writing(name, entry, generate.before, copy)
            speeds.setdefault(name, {})[str(gpus)] = {
                "gpus_a_copy": copy.gpus,
                "read_a_second": ends(read_a_second, 0),
                "read_from": origin(read_a_second, copy.published(name, "reading")),
                "written_a_second": ends(written_a_second, 0),
                "written_from": origin(written_a_second, copy.published(name, "writing")),
            }
            for mode, load in loads_by_mode.items():
                row = rounded(cost(name, entry, load, gpus, rates))
                costs.setdefault(mode, {}).setdefault(name, {})[str(gpus)] = row
        for mode, load in loads_by_mode.items():
            many = cost(name, entry, load._replace(prompts=MANY), max(rates.gpus), rates)
            million.setdefault(mode, {})[name] = rounded(many)
    return {"read": read, "written": replies, "speeds": speeds, "costs": costs, "million": million}


def rounded(spent: Cost) -> dict[str, Any]:
    """Round minutes and US dollars."""
    minutes = Bounds(*(seconds / MINUTE for seconds in spent.seconds))
    return {"minutes": ends(minutes, 1), "dollars": ends(spent.dollars, 2)}


def origin(speed: Bounds, published: Sequence[float]) -> str:
    """Describe the source of a speed."""
    if not published:
        return "roofline"
    return "published" if speed == (min(published), max(published)) else "published, held below the roofline"


def ends(bounds: Bounds, places: int) -> dict[str, float]:
    """Round both ends of a range."""
    return {"low": round(bounds.low, places), "high": round(bounds.high, places)}


if __name__ == "__main__":
    stage.run(main)
