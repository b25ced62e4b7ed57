"""Read every response: which answer it gives, and whether its reasoning mentions, weighs or dismisses the feature."""

from pathlib import Path

from equipoise import cache, params, records, stage
from equipoise.cases import Case
from equipoise.judge.model import load_judge
from equipoise.metrics.silent_released import judge_outputs
from equipoise.outputs import outputs_of
from equipoise.score import Score, judge_responses
from equipoise.vignettes import load_library


def main(raw: Path, vignettes: Path, cases: Path, responses: Path, judgements: Path, case_judgements: Path) -> None:
    """Read the dimensions in RAW, VIGNETTES, CASES and RESPONSES; write the JUDGEMENTS and the CASE_JUDGEMENTS."""
    settings = params.load()
    reading = settings.section("score", Score)
    subjects = {dimension.id: dimension.subject for dimension in load_library(raw).dimensions.values()}
    judge = load_judge(settings.judge, Path(), cache.folder()).probabilities
    given = records.read(responses, records.Response)
    told = records.read(vignettes, records.Vignette)
    asked = {case.key: case for case in records.read(cases, Case)}
    rows = judge_responses(told, given, subjects=subjects, probabilities=judge, settings=reading)
    records.write(judgements, rows)
    records.write(case_judgements, judge_outputs(outputs_of(given), asked, judge, reading, subjects))


if __name__ == "__main__":
    stage.run(main)
