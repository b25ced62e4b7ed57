"""Measure the judge, set as the main pipeline has it, against labels and on the stress suite."""

import sys
from pathlib import Path

from equipoise.cases.rows import read_cases
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_one, write_json
from equipoise.judge import model
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.score import Score
from equipoise.text.diagnoses import load_diagnoses
from workshop import export, figures, labels, stress
from workshop.settings import section


def main(
    params: Path, pipeline: Path, weights: Path, features: Path, names: Path, ours: Path, suite: Path, out: Path
) -> None:
    """Write the agreement with labels, `ours` among them, beside keywords, and that on the stress suite, to `out`."""
    settings, reading = section(params, "validate", figures.ValidateSettings), section(pipeline, "score", Score)
    lexicon, asked, folder = load_lexicon(features), stress.load_suite(suite), labels.anchors()
    cases = {case.key: case for case in read_cases(folder / labels.CASES)}
    labelled = labels.read_labels(folder / labels.LABELS, cases)
    longest = read_one(weights / "manifest.json", export.Shipped).max_tokens
    judge = model.NliJudge(weights, max_tokens=longest).probabilities
    read = figures.read_all(labelled, cases, lexicon, judge, reading)
    found = figures.labelled_figures(labelled, read, cases, reading, settings, lexicon)
    bct = figures.verbalised_figures(labels.read_verbalised(folder / labels.VERBALISED), judge, reading, settings)
    unseen = labels.read_answer_labels(ours, folder / "fsd", cases, without={one.id for one in labelled})
    matching = figures.matched_figures({"seen": labelled, "unseen": unseen}, cases, load_diagnoses(names), settings)
    passages = stress.accuracy(asked, figures.read_suite(asked, lexicon, judge, reading))
    write_json(out, {**found, "bct": bct, "matching": matching, "stress": passages})


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
