"""Estimate every figure with its interval and test, and write the small metrics files that a reviewer compares."""

from pathlib import Path

from equipoise import params, records, stage
from equipoise.metrics.run import run_metrics
from equipoise.metrics.silent import SilentBiasOptions, silent_bias_effects
from equipoise.metrics.summary import silent_bias_metrics


def main(cases: Path, responses: Path, judgements: Path, effects: Path, silent_bias: Path, run: Path) -> None:
    """Read the CASES, RESPONSES and JUDGEMENTS; write the EFFECTS and the metrics SILENT_BIAS and RUN."""
    judged = records.read(judgements, records.Judgement)
    options = params.load().section("measure", SilentBiasOptions)
    rows = silent_bias_effects(records.read(cases, records.Vignette), judged, options)
    records.write(effects, rows)
    records.write_json(silent_bias, silent_bias_metrics(rows))
    records.write_json(run, run_metrics(records.read(responses, records.Response), judged))


if __name__ == "__main__":
    stage.run(main)
