"""Read every response: which answer it gives, and whether its reasoning mentions, weighs or dismisses the feature."""

from pathlib import Path

from equipoise import cache, params, records, stage
from equipoise.judge.model import load_judge
from equipoise.score import Score, judge_responses
from equipoise.vignettes import load_library


def main(raw: Path, cases: Path, responses: Path, judgements: Path) -> None:
    """Read the dimensions in RAW, the CASES and the RESPONSES; write the JUDGEMENTS."""
    settings = params.load()
    rows = judge_responses(
        records.read(cases, records.Vignette),
        records.read(responses, records.Response),
        subjects={dimension.id: dimension.subject for dimension in load_library(raw).dimensions.values()},
        probabilities=load_judge(settings.judge, Path(), cache.folder()).probabilities,
        settings=settings.section("score", Score),
    )
    records.write(judgements, rows)


if __name__ == "__main__":
    stage.run(main)
