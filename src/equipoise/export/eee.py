"""Every Eval Ever, version 0.3: the headline figures as results of one evaluation, for shared stores of results.

A figure without an estimate is left out, as is one without a declared direction: both are counted in
`source_metadata`. The verdict of a study stands, in words, at its primary figure and in `source_metadata`.
"""

import json
from collections.abc import Mapping
from typing import Any

from equipoise.core.system import versions
from equipoise.export.run import LIMITS, Assessment, Run
from equipoise.figures.effects import Effect
from equipoise.figures.figure import Figure, undercoverage

SCHEMA = "0.3.0"
OWN = {"phantom"}
"""Backends of models that Equipoise itself plants."""


def files(run: Run) -> Mapping[str, str]:
    """Write `every_eval_ever.json`."""
    stamp = str(run.now.timestamp())
    every = [(assessment, figure, row) for assessment in run.studies for figure, row in assessment.rows]
    defined = [(assessment, figure, row) for assessment, figure, row in every if row.estimate is not None]
    kept = [result for result in defined if result[1].null is not None or result[1].worse is not None]
    counts = {"figures": len(every), "undefined_left_out": len(every) - len(defined)}
    counts |= {"without_direction_left_out": len(defined) - len(kept)}
    verdicts = {f"verdict_{assessment.study.name}": assessment.claim for assessment in run.studies}
    value = {
        "schema_version": SCHEMA,
        "evaluation_id": f"equipoise/{run.manifest.model}/{stamp}",
        "retrieved_timestamp": stamp,
        **({} if run.made is None else {"evaluation_timestamp": run.made.isoformat()}),
        "source_metadata": {
            "source_name": "Equipoise",
            "source_type": "evaluation_run",
            "source_organization_name": "not stated",
            "evaluator_relationship": "other",
            "additional_details": {**{name: str(count) for name, count in counts.items()}, **verdicts, "note": LIMITS},
        },
        "eval_library": {"name": "equipoise", "version": versions(("equipoise",)).get("equipoise", "unknown")},
        "model_info": _model(run),
        "evaluation_results": [_result(run, *result) for result in kept],
    }
    return {"every_eval_ever.json": json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"}


def _model(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    served = not manifest.weights
    more = {
        "deployment_type": "unknown" if served else "self_deployed",
        "model_availability": "unknown" if served else "open_weights",
        "revision": manifest.revision,
        "licence": manifest.licence,
    }
    if run.intended_use:
        more["intended_use"] = run.intended_use
    name = "equipoise" if manifest.backend in OWN else manifest.backend
    engine = {
        "name": name,
        "version": ", ".join(f"{package} {version}" for package, version in manifest.versions.items()),
    }
    return {"name": run.title, "id": manifest.repo, "inference_engine": engine, "additional_details": more}


def _result(run: Run, assessment: Assessment, figure: Figure, row: Effect) -> dict[str, Any]:
    details = {"n": str(row.n), "endpoint": "primary" if row.primary else "secondary"}
    if row.primary:
        details["verdict"] = assessment.claim
    if (coverage := undercoverage(row)) is not None:
        details["simulated_coverage"] = f"{coverage:.2f}"
    score: dict[str, Any] = {"score": row.estimate, "details": details}
    uncertainty: dict[str, Any] = {"num_samples": row.n}
    if interval := row.interval:
        limits = {"lower": interval.low, "upper": interval.high, "confidence_level": round(1 - run.alpha, 6)}
        uncertainty["confidence_interval"] = limits
    return {
        "evaluation_result_id": row.key,
        "evaluation_name": assessment.study.title,
        "source_data": {"dataset_name": f"Equipoise, {assessment.study.title}", "source_type": "other"},
        "metric_config": _metric(figure),
        "score_details": score | {"uncertainty": uncertainty},
    }


def _metric(figure: Figure) -> dict[str, Any]:
    """Describe a figure; with a null value, the distance from it counts, which the schema cannot express."""
    known = {
        "metric_id": f"equipoise.{figure.name}",
        "metric_name": figure.title,
        "lower_is_better": figure.worse != "lower",
    }
    if figure.sentence:
        known["evaluation_description"] = figure.sentence
    if figure.in_nats:
        known["metric_unit"] = "nats"
    if figure.null is not None and figure.worse is None:
        away = {"above": figure.above, "below": figure.below}
        sides = {name: text for name, text in away.items() if text}
        best = f"nearest to {figure.null:g} is best: do not rank by this figure"
        known["additional_details"] = {"direction": best, **sides}
    return known
