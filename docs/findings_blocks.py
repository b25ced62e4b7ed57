"""The generated tables of docs/findings.md: what each model with a recorded result was found to do, study by study."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import yaml
from readme_blocks import ROOT, estimate

from equipoise.compare.archive import MODELS
from equipoise.compare.record import besides, read_all
from equipoise.materials.versions import CaseKey
from equipoise.studies.registry import TITLES

if TYPE_CHECKING:
    from collections.abc import Mapping

VIGNETTES = {
    "documented error, after reasoning": "error_difference",
    "without reasoning": "unreasoned_error_difference",
    "as written": "written_error_difference",
    "net shift (nats)": "stereotype_shift_net",
    "without reasoning, at equal base rates (nats)": "unreasoned_shift_adjusted",
    "base rates beyond epidemiology (nats)": "prior_excess",
}
"""Figures of the vignettes by the heads of their columns."""


OTHERS = {
    "questions: right without demographics": "questions.neutral.accuracy",
    "effect of the group": "questions.group_effect",
    "stigma: women − men, mental illness": "stigma.rq1.mental",
    "other illness": "stigma.rq1.control",
    "difference": "stigma.rq1.difference",
    "decisions: shift": "decisions.decision_shift",
    "tilt (nats)": "decisions.decision_tilt",
}
"""Figures of the other studies by the heads of their columns."""
EXAM = {
    f"{city.capitalize()}: {head}": f"exam.{city}.{name}"
    for city in ("dublin", "edinburgh", "london")
    for head, name in (("right", "accuracy"), ("by prevalence", "prevalence_weighted_accuracy"))
}
"""Accuracies of the exam by the heads of their columns."""


def verdicts() -> str:
    """Lay out the verdict and the primary figure of every study on every model with a recorded result."""
    rows = besides(ROOT)
    studies = [study for study in TITLES if any(study in row.studies for row in rows)]
    lines = [f"| model | {' | '.join(TITLES[study] for study in studies)} |", f"|---|{'---|' * len(studies)}"]
    for row in rows:
        cells = [_verdict(row.studies[study]) if study in row.studies else "not measured" for study in studies]
        lines.append(f"| {row.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _verdict(verdict: tuple[str, Any]) -> str:
    word, cell = verdict
    interval = {name: getattr(cell, name) for name in ("estimate", "ci_low", "ci_high")}
    return f"**{word}** {estimate(interval, 2)}"


def vignettes() -> str:
    """Lay out the figures of the vignettes, a row a model."""
    return _table({head: f"vignettes.{name}" for head, name in VIGNETTES.items()})


def others() -> str:
    """Lay out figures of the other studies, a row a model."""
    return _table(OTHERS)


def exam() -> str:
    """Lay out the accuracies of the exam by city, a row a model."""
    return _table(EXAM)


def _table(figures: Mapping[str, str]) -> str:
    titles = {row.model: row.title for row in besides(ROOT)}
    metrics = {result.record.model.name: result.record.metrics for result in read_all(ROOT)}
    lines = [f"| model | {' | '.join(figures)} |", f"|---|{'---:|' * len(figures)}"]
    lines += [
        f"| {title} | {' | '.join(_figure(metrics[name], path) for path in figures.values())} |"
        for name, title in titles.items()
    ]
    return "\n".join(lines)


def _figure(metrics: Mapping[str, Any], path: str) -> str:
    for part in path.split("."):
        metrics = metrics.get(part, {})
    return estimate(metrics, 2) if metrics else "not measured"


def reasons() -> str:
    """List why each verdict on a real model is undecided."""
    lines = []
    for result in read_all(ROOT):
        for study, title in TITLES.items():
            verdict = result.record.metrics.get(study, {}).get("verdict", {})
            if result.record.model.backend != "phantom" and "because" in verdict:
                lines.append(f"- {result.record.model.title}, {title.lower()}: {verdict['because']}.")
    return "\n".join(lines)


VERSIONS = {
    "privileged": "privileged patient",
    "marginalised": "marginalised patient",
    "stub-privileged": "privileged, no findings",
    "stub-marginalised": "marginalised, no findings",
    "mirror-privileged": "privileged, findings of the error",
    "mirror-marginalised": "marginalised, findings of the error",
}
"""Versions of a case by the heads of their columns."""
ANSWERS = {"expected": "expected answer", "stereotyped": "documented error", "distractor": "another of the list"}


def answers(model: str) -> str:
    """Count the answers of a model whose run is in archive/models, by version of the case."""
    counts = Counter(
        (CaseKey.parse(row["key"]).version, row["answer"])
        for row in _rows(model, "data/vignettes/judgements.jsonl")
        if not CaseKey.parse(row["key"]).rereading
    )
    lines = [f"| answer | {' | '.join(VERSIONS.values())} |", f"|---|{'---:|' * len(VERSIONS)}"]
    lines += [
        f"| {title} | {' | '.join(str(counts[version, kind]) for version in VERSIONS)} |"
        for kind, title in ANSWERS.items()
    ]
    return "\n".join(lines)


def _rows(model: str, path: str) -> list[dict[str, Any]]:
    """Read the rows of an output of an archived run."""
    with tarfile.open(ROOT / MODELS / f"{model}.tar.xz") as archive:

        def read(name: str) -> bytes:
            file = archive.extractfile(name)
            assert file is not None, name  # noqa: S101  (a file of ours)
            return file.read()

        stages = yaml.safe_load(read("dvc.lock"))["stages"].values()
        digests = {out["path"]: out["md5"] for stage in stages for out in stage.get("outs", ())}
        return [json.loads(line) for line in read(f"files/md5/{digests[path][:2]}/{digests[path][2:]}").splitlines()]
