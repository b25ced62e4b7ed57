"""Measure the judge, set as the main pipeline has it, against labels and on the stress suite."""

import sys
from pathlib import Path

from equipoise.cases import read_cases
from equipoise.errors import EquipoiseError
from equipoise.judge import figures, labels
from equipoise.judge.export import Shipped
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.model import NliJudge
from equipoise.judge.settings import section
from equipoise.judge.stress import accuracy, load_suite
from equipoise.reading.diagnoses import load_diagnoses
from equipoise.records import read_one, write_json
from equipoise.score import Score


def main(params: Path, pipeline: Path, weights: Path, features: Path, diagnoses: Path, stress: Path, out: Path) -> None:
    """Write the agreement with labels, beside keywords, and the accuracy on the suite `stress`, to `out`."""
    settings, reading = section(params, "validate", figures.ValidateSettings), section(pipeline, "score", Score)
    lexicon, names = load_lexicon(features), load_diagnoses(diagnoses)
    suite, folder = load_suite(stress), labels.anchors()
    cases = {case.key: case for case in read_cases(folder / labels.CASES)}
    labelled = labels.read_labels(folder / labels.LABELS, cases)
    judge = NliJudge(weights, max_tokens=read_one(weights / "manifest.json", Shipped).max_tokens).probabilities
    read = figures.read_all(labelled, cases, lexicon, judge, reading)
    found = figures.labelled_figures(labelled, read, cases, reading, settings, lexicon)
    bct = figures.verbalised_figures(labels.read_verbalised(folder / labels.VERBALISED), judge, reading, settings)
    matching = figures.matched_figures(labelled, cases, names, settings)
    passages = accuracy(suite, figures.read_suite(suite, lexicon, judge, reading))
    write_json(out, {**found, "bct": bct, "matching": matching, "stress": passages})


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
