"""Read the diagnosis and the reasoning of each saved output."""

from contextlib import nullcontext
from pathlib import Path

from equipoise.core import jsonl
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.readers import Reader, open_reader
from equipoise.judge.score import Score
from equipoise.pipeline.rows import cluster_of, responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.cases.judged import judge_outputs, recurring
from equipoise.studies.cases.rows import Case, outputs_of
from equipoise.text.diagnoses import load_diagnoses


def score(run: Run, *, reader: Reader | None = None) -> None:
    """Read the diagnosis of each saved output, and how the reasoning of a biased one treats the feature.

    A `reader` is asked instead of the judge of the settings.
    """
    known = {case.key: case for case in jsonl.read(run.built("cases"), Case)}
    lexicon, names = load_lexicon(run.data / "features"), load_diagnoses(run.data / "diagnoses.yaml")
    settings = run.settings.section("score", Score)
    apart = recurring(outputs_of(responses_of(run)), known, lexicon).apart
    with nullcontext(reader) if reader else open_reader(run.settings.judge, Path(), cluster_of(run)) as judge:
        reading = judge.probabilities, settings, lexicon
        jsonl.write(run.judgements, judge_outputs(outputs_of(responses_of(run)), known, *reading, names, apart))
