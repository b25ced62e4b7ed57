"""Speed compared with the usual alternatives, on the same weights and prompts, in one run.

    PYTHONPATH=src:.cache/bench python benchmarks/speed.py

writes benchmarks/results.json, part by part, and docs/performance.md (`make bench` does all of it). `--only choice`
does one part and leaves the others' figures as they are; `--render` writes the page alone. The page also has the
figures that first.py, stages.py and growth.py write beside it, which `--only` their name measures again. Two hours in
all, on two idle cores.

The peers are listed in benchmarks/requirements.txt and are not part of the project's own installation. AMQA's prompts
are included if EQUIPOISE_ANCHORS names a folder of published data that contains them.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

sys.path.insert(0, str(Path(__file__).parent))
from speed_page import page_of

from equipoise.backends.base import Infer
from equipoise.core import params, stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
FIGURES, PAGE = ROOT / "benchmarks/results.json", ROOT / "docs/performance.md"
LIBRARIES = ("lm_eval", "numpy", "onnxruntime", "torch", "transformers")
APART = ("first", "stages", "growth")
"""Parts that are scripts with a separate file of figures: the way to a first figure, a run's cost, its scaling."""


def main(out: Path = FIGURES, page: Path = PAGE, only: str = "", prompts: int = 64, *, render: bool = False) -> None:
    """Measure all parts or ONLY one on so many PROMPTS, write OUT after each, then the PAGE."""
    figures = _figures(out)
    parts: dict[str, Callable[[int], dict[str, Any]]] = {
        "choice": choice,
        "orders": orders,
        "generation": generation,
        "torch": torch,
        "quantised": quantised,
        "judge": judge,
        "stigma": stigma,
    }
    if only and only not in {*parts, *APART}:
        message = f"--only {only}: no such part: name one of {', '.join([*parts, *APART])}"
        raise EquipoiseError(message)
    for part, measure in parts.items():
        if render or only not in {"", part}:
            continue
        figures[part] = {"machine": machine(), **measure(prompts)}
        write_json(out, figures)
        typer.echo(f"{part}: {json.dumps(figures[part])}")
    for part in APART:
        if not render and only in {"", part}:
            script(f"{part}.py")
    write_text(page, page_of(figures_of(out)))


def figures_of(out: Path) -> dict[str, Any]:
    """Read the figures of all measured parts, and those of the separate scripts beside FIGURES."""
    beside = {part: figures for part in APART if (figures := _figures(FIGURES.with_name(f"{part}.json")))}
    return _figures(out) | beside


def _figures(path: Path) -> dict[str, Any]:
    """Read figures; none where they were not measured."""
    return dict(json.loads(read_text(path))) if path.is_file() else {}


def machine() -> dict[str, Any]:
    """Describe the machine on which the figures were measured."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    wide = [extension for extension in ("avx2", "avx512f", "amx_int8") if extension in fields.get("flags", "").split()]
    versions: dict[str, str] = {}
    for library in LIBRARIES:
        names = (library, f"{library}-gpu")
        installed = [
            distribution.version for distribution in metadata.distributions() if distribution.metadata["Name"] in names
        ]
        versions |= {library: installed[0]} if installed else {}
    return {
        "processor": fields.get("model name", platform.processor()),
        "cores": len(os.sched_getaffinity(0)),
        "instructions": wide,
        "load_before": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": versions,
    }


def choice(prompts: int) -> dict[str, Any]:
    """Multiple choice by likelihood: the pipeline's own prompts, and AMQA's."""
    from speed_choice import compare_choice, open_folder
    from speed_models import amqa_questions, load_model, pipeline_questions

    model = load_model()
    sets = {"pipeline": pipeline_questions(prompts), "amqa": amqa_questions(prompts)}
    with open_folder(model.folder, model) as backend:
        return {name: compare_choice(model, questions, backend) for name, questions in sets.items() if questions}


def orders(prompts: int) -> dict[str, Any]:
    """Several orders of a question's options, compared with the order as written."""
    from speed_models import Asked, exported
    from speed_orders import compare_orders

    return compare_orders(Asked(*exported("model.onnx"), None, None), max(1, prompts // 16))


def generation(prompts: int) -> dict[str, Any]:
    """Reasoning about the vignettes, as long as the pipeline lets the model reason, on as many rows."""
    from speed_generation import compare_generation
    from speed_models import load_model, reasoning_prompts

    from equipoise.backends.onnx import OnnxBackend

    model = load_model()
    tokens = model.entry.generation.reasoning_tokens
    with OnnxBackend(model.folder, model.entry, batch_size=rows()) as backend:
        return compare_generation(model, reasoning_prompts(2 * prompts, tokens), tokens, backend)


def rows() -> int:
    """Return the number of prompts that the pipeline processes at once."""
    return params.load(ROOT / "params.yaml").section("infer", Infer).batch_size


def torch(prompts: int) -> dict[str, Any]:
    """Backend torch: multiple choice and reasoning, of 32 prompts in each round."""
    from speed_torch import compare_torch

    return compare_torch(prompts)


def quantised(prompts: int) -> dict[str, Any]:
    """Quantised weights."""
    from speed_models import amqa_questions, load_model, pipeline_questions
    from speed_quantised import compare_quantised

    # Every fourth prompt, so as to cover several questions: a question's prompts tend to one letter.
    sample = (amqa_questions(4 * prompts) or pipeline_questions(4 * prompts))[::4]
    return compare_quantised(load_model(), sample)


def judge(_: int) -> dict[str, Any]:
    """Score reasoning by natural language inference: benchmarks/judge_speed.py, on fewer outputs."""
    return dict(json.loads(script("judge_speed.py", "--outputs", "8")))


def stigma(_: int) -> dict[str, Any]:
    """Follow noun phrases mask by mask: benchmarks/stigma_recursion.py, its first part."""
    place = FIGURES.parent / ".stigma.json"
    try:
        script("stigma_recursion.py", "--only", "recursion", "--out", str(place))
        return dict(json.loads(read_text(place))["recursion"])
    finally:
        place.unlink(missing_ok=True)


def script(name: str, *options: str) -> str:
    """Run a benchmark script and return its output."""
    run = [sys.executable, str(ROOT / "benchmarks" / name), *options]
    return subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout  # noqa: S603  (the project's own)


if __name__ == "__main__":
    stage.run(main)
