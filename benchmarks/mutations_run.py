"""Runs of phantoms in a folder, with a frozen plan, as the mutations of packs need them: no weights, no DVC."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import chdir
from pathlib import Path
from typing import Any

import yaml

from equipoise.core import jsonl, params
from equipoise.figures.layout import read_result, rows_of
from equipoise.figures.options import Decision, Measure
from equipoise.figures.summary import study_metrics, summary_metrics
from equipoise.models import registry
from equipoise.models.environment import Environment
from equipoise.models.export import describe
from equipoise.pipeline import frozen, steps
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.report.packing import pack
from equipoise.studies.registry import chosen

ROOT = Path(__file__).parents[1]
COPIED = ("data", "models", "params.yaml", "pyproject.toml", "requirements")
QUICK: dict[str, dict[str, Any]] = {
    "build": {"rereadings": []},
    "measure": {"n_bootstrap": 100},
    "neutralize": {"limit": 8},
}
"""Settings with which a run takes seconds."""


def packed(folder: Path, model: str, studies: tuple[str, ...], **sections: dict[str, Any]) -> bytes:
    """Run a phantom's studies in a new folder as the stages do, after its plan is frozen, and pack the run."""
    copy(folder)
    with chdir(folder):
        values = yaml.safe_load(params.FILE.read_text(encoding="utf-8")) | {"model": model, "studies": [*studies]}
        for name, section in {**QUICK, **sections}.items():
            values[name] = values[name] | section
        params.FILE.write_text(yaml.safe_dump(values, allow_unicode=True, sort_keys=False), encoding="utf-8")
        data, settings = Path("data"), params.load()
        jsonl.write_json(data / "environment.json", Environment.of_project(Path()).model_dump(mode="json"))
        manifest = describe(model, registry.load_entry(model, Path()), Path())  # type: ignore[arg-type]  # a phantom
        jsonl.write_json(data / "manifest.json", manifest.tracked())
        plan = frozen.plan_of(settings, data)
        jsonl.write_json(data / frozen.FILE, plan.model_dump(mode="json", by_alias=True))
        for study in chosen(settings):
            run(Run(study.name, data, settings))
        return pack()


def run(run: Run) -> None:
    """Build, ask, score and measure one study, and write its metrics."""
    study, settings = steps.study_of(run.study), run.settings
    for stage in ("build", "infer", "score"):
        steps.step(run.study, stage)(run)
    result = measure(run, steps.step(run.study, "measure"))
    jsonl.write(run.effects, rows_of(result))
    decision, options = settings.section("decision", Decision), settings.section("measure", Measure)
    jsonl.write_json(Path(f"metrics/{run.study}.json"), study_metrics(study, result, decision, options))
    summary = summary_metrics(study, read_result(run.data, study, decision), decision)
    jsonl.write_json(Path(f"metrics/summary/{run.study}.json"), summary)


def copy(folder: Path) -> None:
    """Copy what Git tracks of what a run reads; the judge's weights are linked."""
    command = ("git", "ls-files", "-z", *COPIED)
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # noqa: S603  (of constants)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / "judge").symlink_to(ROOT / "judge")
