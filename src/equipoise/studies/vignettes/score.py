"""Read the diagnosis of each response, and how its reasoning treats the patient's feature."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.core import jsonl
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.readers import Reader, open_reader
from equipoise.judge.reading import UNMENTIONED, nothing_apart
from equipoise.judge.score import Score, judge_responses, recurring
from equipoise.materials.versions import ASKED, CaseKey
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.rows import cluster_of, responses_of
from equipoise.pipeline.run import Run
from equipoise.text.diagnoses import load_diagnoses


def score(run: Run, *, reasoning: bool = True, reader: Reader | None = None) -> None:
    """Read which diagnosis each response gives, and how its reasoning treats the patient's feature.

    Without `reasoning` the judge is not run, and no reasoning counts as considering the feature. A `reader` is asked
    instead of the judge of the settings.
    """
    given = reader if reasoning else UNREAD
    judge = nullcontext(given) if given else open_reader(run.settings.judge, Path(), cluster_of(run))
    with judge as asked:
        vignettes, tellings = (list(run.rows(name, Vignette)) for name in ("vignettes", "tellings"))
        cases = [*vignettes, *tellings]
        lexicon = load_lexicon(run.data / "features")
        # What follows an answer is read in `measure`: it names no diagnosis.
        read = (response for response in responses_of(run) if CaseKey.parse(response.key).rereading not in ASKED)
        rows = judge_responses(
            cases,
            read,
            lexicon=lexicon,
            diagnoses=load_diagnoses(run.data / "diagnoses.yaml"),
            probabilities=asked.probabilities,
            settings=run.settings.section("score", Score),
            form=run.entry.reasoning,
            apart=recurring(cases, responses_of(run), lexicon).apart if reasoning else nothing_apart,
        )
        jsonl.write(run.judgements, rows)


def _unmentioned(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    return np.tile(np.eye(len(TREATMENTS))[UNMENTIONED], (len(pairs), 1))


UNREAD = Reader(_unmentioned, lambda: 0)
"""Replaces the judge for a verdict that does not depend on the reasoning: no passage mentions the feature."""
