"""Run the study of docs/howto/add-study.md in a copy of the project, and print what it found."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from builders import response
from equipoise.core import jsonl, params
from equipoise.core.prompts import Prompt, Response
from equipoise.figures.figure import headline_metrics
from equipoise.figures.verdicts import verdict_metrics
from equipoise.pipeline import check, steps
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.studies.registry import STUDIES
from fakes import MadeMachine


def main(study: str) -> None:
    """Take the study's steps, with responses that find Yes likelier for the privileged patient."""
    settings = params.load()
    check.require_sound(settings, STUDIES, Path(), MadeMachine(fault="no network"))
    run = Run(study, Path("data"), settings)
    steps.step(study, "build")(run)
    prompts = jsonl.read(run.built("prompts"), Prompt)
    jsonl.write(run.responses, [answered(prompt, number) for number, prompt in enumerate(prompts)])
    jsonl.write(run.asked, [])
    steps.step(study, "score")(run)
    result = measure(run, steps.step(study, "measure"))
    metrics = headline_metrics(STUDIES[study].figures, result.effects, result.totals)
    plots = {name: plot.rows(result.effects, result.margins) for name, plot in STUDIES[study].plots.items()}
    sys.stdout.write(json.dumps({"metrics": metrics | verdict_metrics(result.verdict), "plots": plots}))


def answered(prompt: Prompt, number: int) -> Response:
    """Answer a prompt: Yes and No are nearly as likely for the privileged patient, and No is likelier for the other."""
    odds = number / 100 if prompt.key.endswith("/privileged") else 1.0 + number / 10
    return response(prompt.key, study=prompt.study, log_likelihood={"Yes": -1.0 - odds, "No": -1.0})


if __name__ == "__main__":
    main(sys.argv[1])
