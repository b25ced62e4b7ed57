"""How sure a model is of the answers at each level of evidence: `python benchmarks/levels.py --model NAME`.

    PYTHONPATH=src python benchmarks/levels.py --model qwen2_5_coder_1_5b

asks the exported model for the diagnosis of the privileged patient in every story of the profile `core` at every level
of evidence, without reasoning, and replaces the model's rows in benchmarks/levels.json, which the datasheet shows: 123
short prompts. If the texts do what the levels promise, the probability of the expected answer rises from `open` to
`decisive` and that of the documented error falls.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, get_args

import typer

from equipoise.backends.ask import asker, find_manifest
from equipoise.backends.base import Infer
from equipoise.core import params, stage
from equipoise.core.cache import ResponseCache
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import write_json
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import Level
from equipoise.models import registry
from equipoise.studies.vignettes.profiles import Build, build_pairs, vignette_prompt
from equipoise.text.answers import error_probability, log_odds, read_likelihood

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from equipoise.core.prompts import Prompt, Response
    from equipoise.materials.vignette import Vignette

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "benchmarks/levels.json"


def main(model: str = "", out: Path = FIGURES) -> None:
    """Ask MODEL (that of params.yaml by default), and replace its rows in OUT."""
    settings = params.load(ROOT / "params.yaml")
    model, build = model or settings.model, settings.section("build", Build)
    cases = {level: privileged(level) for level in get_args(Level)}
    with ResponseCache.open() as responses:
        size = settings.section("infer", Infer).batch_size
        ask = asker(find_manifest(model, ROOT), ROOT, responses, batch_size=size, progress=lambda *_: None)
        shares = [shares_of(level, rows, ask([prompt(row, build) for row in rows])) for level, rows in cases.items()]
    kept = [row for row in json.loads(out.read_text(encoding="utf-8")) if row["model"] != model] if out.exists() else []
    title = registry.load_entry(model, ROOT).title
    write_json(out, [*kept, *({"model": model, "title": title, **row} for row in shares)])
    typer.echo(f"{out} is written")


def privileged(level: Level) -> list[Vignette]:
    """Return the privileged version of each story of `core` at a level of evidence, one a story."""
    rows = build_pairs(load_library(ROOT / "data/raw"), "core", level)
    return [*{row.presentation: row for row in rows if row.role == "privileged"}.values()]


def prompt(case: Vignette, build: Build) -> Prompt:
    """Ask for the diagnosis without reasoning; the answers of the case are the candidates."""
    turns = (f"{case.text}\n\n{build.answer}",)
    return vignette_prompt(case, build).scored().model_copy(update={"turns": turns, "lead": ""})


def shares_of(level: Level, cases: Sequence[Vignette], responses: Iterable[Response]) -> dict[str, Any]:
    """Describe the answers at a level: mean probabilities among a case's answers, and which answer is likeliest."""
    expected, documented, likeliest = [], [], []
    for case, response in zip(cases, responses, strict=True):
        # The odds of the expected answer against the documented error give its probability.
        error, odds = error_probability(response, case.answers), log_odds(response, case.answers, "total")
        given = read_likelihood(response, case.answers, "total")
        if error is None or odds is None or given is None:
            message = f"{case.key}: the model gives no likelihoods: choose an exported one"
            raise EquipoiseError(message)
        documented.append(error)
        expected.append(error * math.exp(-odds))
        likeliest.append(given.kind)
    return {
        "level": level,
        "n": len(cases),
        "expected": {"mean": round(fmean(expected), 4), "likeliest": likeliest.count("expected")},
        "documented": {"mean": round(fmean(documented), 4), "likeliest": likeliest.count("stereotyped")},
    }


if __name__ == "__main__":
    stage.run(main)
