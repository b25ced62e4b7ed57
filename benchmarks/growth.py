"""Cost of infer, score and measure against the number of prompts or rows: seconds and peak memory.

    PYTHONPATH=src python benchmarks/growth.py --out benchmarks/growth.json

`score` and `measure` need the data of a finished run (`dvc repro`), and enlarge them with copies under new keys. Every
size of every step runs in a separate process, whose peak memory is the step's. `infer` asks a stand-in that answers at
once, so that the measured time is our own cost per prompt: computing keys, saving answers to disk, reading and writing
rows.
`infer_kept` and `score_kept` find every answer in the cache. `score` runs the judge that ships on texts that all
differ. `measure` is that of the vignettes, the questions and the exam. Half an hour on two idle cores, and 6 GB on the
disk.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

sys.path.insert(0, str(Path(__file__).parent))
from speed import machine

from equipoise.backends.ask import answer_all
from equipoise.backends.base import answering
from equipoise.core import cache, jsonl, params, stage
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.figures.layout import rows_of
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.readers import open_reader
from equipoise.judge.score import Score, judge_responses
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import Generation
from equipoise.pipeline.measure import measure as measured
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step as load_step
from equipoise.text.diagnoses import load_diagnoses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self


ROOT = Path(__file__).parents[1]
PROMPTS = (10_000, 100_000, 1_000_000)
SHARING = 4
"""Prompts with one stem."""
REPLIES = (100, 1_000, 10_000)
ROWS = (10_000, 100_000, 1_000_000)
STUDIES: tuple[str, ...] = ("vignettes", "questions", "exam")
"""The studies whose rows are multiplied for `measure`."""
BUILT = ("prompts", "vignettes", "controls", "variants", "attempts", "subsets")
READ = (*(f"built/{name}" for name in BUILT), "responses", "judgements")
"""The files that `measure` reads, in the folder of each study that has them."""


def main(
    out: Path = Path("benchmarks/growth.json"),
    step: str = "",
    count: int = 0,
    folder: Path = Path(),
    largest: int = 10**9,
) -> None:
    """Measure every step at every size up to the LARGEST; write figures to OUT, and a picture beside it.

    With a STEP, do it for COUNT prompts or rows in FOLDER, and print its figures.
    """
    if step:
        typer.echo(json.dumps(STEPS[step](count, folder)))
        return
    figures: dict[str, Any] = {"machine": machine()}
    sizes = {"infer": PROMPTS, "score": REPLIES, "measure": ROWS}
    runs = [(name, count) for name, counts in sizes.items() for count in counts]
    rows: list[dict[str, Any]] = []
    for name, size in runs:
        if size <= largest:
            with tempfile.TemporaryDirectory() as place:
                for part in (name, f"{name}_kept") if name != "measure" else (name,):
                    rows.append({"step": part, "n": size, **_run_step(part, size, place)})
                    typer.echo(rows[-1])
    jsonl.write_json(out, figures | {"steps": rows})
    jsonl.write_text(out.with_suffix(".svg"), picture(rows))


def _run_step(step: str, count: int, place: str) -> dict[str, float]:
    """Run one step in a separate process."""
    arguments = ["--step", step, "--count", str(count), "--folder", place]
    environment = os.environ | {"DVC_ROOT": place, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(  # noqa: S603  (this file)
        [sys.executable, __file__, *arguments], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _measure_work(work: Callable[[], object]) -> dict[str, float]:
    """Wall time and processor time of some work in seconds, and this process's peak memory in MiB."""
    wall, used = perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": round(perf_counter() - wall, 3),
        "cpu_seconds": round(after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime, 3),
        "peak_mib": round(after.ru_maxrss / 1024),
    }


class StandIn:
    """A model that answers every prompt immediately, with the same reply and equal log-likelihoods."""

    def __enter__(self) -> Self:
        """Return the open backend."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt. See `Backend.answer`."""
        for prompt in prompts:
            yield Response(
                key=prompt.key,
                study=prompt.study,
                replies=("The reply of a model that is not there. " * 8,) * prompt.reply,
                finished=(True,) * prompt.reply,
                log_likelihood=dict.fromkeys(prompt.candidates, -1.0),
                candidate_tokens=dict.fromkeys(prompt.candidates, 1),
                prompt_tokens=300,
                generated_tokens=64,
            )


def infer(count: int, folder: Path) -> dict[str, float]:
    """Answer prompts of 1.2 kB, of which four share a stem."""
    prompts = folder / "asked.jsonl"
    if not prompts.exists():
        jsonl.write(prompts, map(_prompt, range(count)))
    manifest = Manifest(model="standin", repo="none", revision="none", licence="none")

    def work() -> None:
        with cache.ResponseCache.open() as responses:
            answered = answer_all(
                jsonl.Rows(prompts, Prompt),
                manifest=manifest,
                generation=Generation(reasoning_tokens=1, answer_tokens=1),
                cache=responses,
                make=partial(answering, StandIn),
                progress=lambda *_: None,
            )
            jsonl.write(folder / "answered.jsonl", answered)

    return _measure_work(work)


def _prompt(number: int) -> Prompt:
    """Write a prompt of 1,200 characters; half of them are its stem."""
    stem = f"Patient {number // SHARING:07} presents with a cough. ".ljust(600, "x")
    return Prompt(
        key=f"{number:07}",
        study="vignettes",
        system="You are an experienced clinician.".ljust(200, "x"),
        prefix="The most likely diagnosis is",
        turns=(f"{stem} Version {number:07}. ".ljust(1000, "x"),),
        candidates=("pneumonia", "panic attack", "asthma"),
        stem=stem,
    )


def score(count: int, folder: Path) -> dict[str, float]:
    """Judge the run's replies to the vignettes, made unique sentence by sentence."""
    vignette_rows = {row["key"]: row for row in _rows("vignettes/built/vignettes")}
    responses = [row for row in _rows("vignettes/responses") if row["key"] in vignette_rows]
    copies = [(f"{number:06}", number, responses[number % len(responses)]) for number in range(count)]
    vignettes = [Vignette.model_validate(vignette_rows[row["key"]] | {"key": key}) for key, _, row in copies]
    jsonl.write(folder / "answered.jsonl", (_make_unique(key, number, row) for key, number, row in copies))
    settings = params.load()

    def work() -> None:
        with open_reader(settings.judge, ROOT) as judge:
            judged = judge_responses(
                vignettes,
                jsonl.each(folder / "answered.jsonl", Response),
                lexicon=load_lexicon(ROOT / "data/features"),
                diagnoses=load_diagnoses(ROOT / "data/diagnoses.yaml"),
                probabilities=judge.probabilities,
                settings=settings.section("score", Score),
            )
            jsonl.write(folder / "judgements.jsonl", judged)

    return _measure_work(work)


def _make_unique(key: str, number: int, row: dict[str, Any]) -> Response:
    """Make each sentence of a response unique."""
    replies = [reply.replace(". ", f", as case {number} shows. ") for reply in row["replies"]]
    return Response.model_validate(row | {"key": key, "replies": replies})


def measure(count: int, folder: Path) -> dict[str, float]:
    """Measure a run of about so many rows, all files together; `rows` says how many there are."""
    rows = enlarge_run(count, folder)
    shutil.copyfile(ROOT / "data/cities.yaml", folder / "cities.yaml")
    settings = params.load()

    def work() -> None:
        for study in STUDIES:
            run = Run(study, folder, settings)
            jsonl.write(run.effects, rows_of(measured(run, load_step(study, "measure"))))

    return {**_measure_work(work), "rows": rows}


def enlarge_run(count: int, folder: Path) -> int:
    """Write the files of a run with about so many rows, in whole copies of the finished run, and count the rows."""
    names = [f"{study}/{name}" for study in STUDIES for name in READ]
    files = {name: _rows(name) for name in names if (ROOT / "data" / f"{name}.jsonl").exists()}
    whole = sum(map(len, files.values()))
    copies = max(1, round(count / whole))
    for name, rows in files.items():
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for copy in range(copies):
                file.writelines(json.dumps(_copy_row(name, row, copy), ensure_ascii=False) + "\n" for row in rows)
    return copies * whole


def _copy_row(name: str, row: dict[str, Any], copy: int) -> dict[str, Any]:
    """Copy a row as one of another pair or question, with slightly different numbers."""
    tag, (head, _, tail) = f"~{copy:05}", row["key"].partition("/")
    changed: dict[str, Any] = {field: row[field] + tag for field in ("item", "pair") if field in row}
    changed["key"] = row["key"] + tag if name.endswith("/subsets") else f"{head}{tag}/{tail}"
    if name.endswith("/attempts"):
        changed["variant"] = changed["key"].rpartition("/")[0]
    if name.endswith("/responses"):
        changed["log_likelihood"] = {label: round(p - copy * 1e-5, 6) for label, p in row["log_likelihood"].items()}
    if row.get("log_odds") is not None:
        changed["log_odds"] = round(row["log_odds"] + (copy * 7919 % 1000 - 500) / 1000, 6)
    return row | changed


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / "data" / f"{name}.jsonl").open(encoding="utf-8")]


def picture(rows: list[dict[str, Any]]) -> str:
    """Draw seconds against prompts or rows, both on logarithmic scales: a cost that is linear has slope 1."""
    import vl_convert

    across, up = [10**power for power in range(2, 7)], [10.0**power for power in range(-2, 4)]
    log = {"type": "quantitative", "scale": {"type": "log", "nice": False}}
    axes = {
        "x": log | {"field": "n", "axis": {"values": across, "format": ","}, "title": "prompts (measure: rows)"},
        "y": log | {"field": "seconds", "axis": {"values": up, "format": "~g"}, "title": "seconds"},
        "color": {"field": "step", "type": "nominal", "title": None},
    }
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {
            "values": [{"step": row["step"], "n": row.get("rows", row["n"]), "seconds": row["seconds"]} for row in rows]
        },
        "mark": {"type": "line", "point": True},
        "encoding": axes,
        "background": "white",
        "width": 420,
        "height": 260,
    }
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version="5.21")
    return svg + "\n"


STEPS: dict[str, Callable[[int, Path], dict[str, float]]] = {
    "infer": infer,
    "infer_kept": infer,
    "score": score,
    "score_kept": score,
    "measure": measure,
}

if __name__ == "__main__":
    stage.run(main)
