"""Read every response: which answer it gives, and whether its reasoning mentions, weighs or dismisses the feature."""

from pathlib import Path

from equipoise.backends.infer import Infer
from equipoise.cases.outputs import outputs_of
from equipoise.cases.rows import Case
from equipoise.cases.score import judge_outputs
from equipoise.core import params, records, stage
from equipoise.judge.kept import kept_probabilities
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.score import Score, judge_responses
from equipoise.models import registry
from equipoise.text.diagnoses import load_diagnoses


def main(
    features: Path,
    diagnoses: Path,
    vignettes: Path,
    cases: Path,
    responses: Path,
    judgements: Path,
    case_judgements: Path,
) -> None:
    """Read the lexicons FEATURES and DIAGNOSES, VIGNETTES, CASES and RESPONSES; write both kinds of JUDGEMENTS."""
    settings = params.load()
    reading, lexicon, names = settings.section("score", Score), load_lexicon(features), load_diagnoses(diagnoses)
    told, asked = records.read(vignettes, records.Vignette), {case.key: case for case in records.read(cases, Case)}
    form = registry.load_entry(settings.model, Path()).reasoning
    with kept_probabilities(settings.judge, Path(), settings.section("infer", Infer).cluster) as judge:
        given = records.each(responses, records.Response)
        rows = judge_responses(told, given, lexicon=lexicon, probabilities=judge, settings=reading, form=form)
        records.write(judgements, rows)
        given = records.each(responses, records.Response)
        records.write(case_judgements, judge_outputs(outputs_of(given), asked, judge, reading, lexicon, names))


if __name__ == "__main__":
    stage.run(main)
