"""Choose how the judge's entailments are read, by cross-validation on labelled outputs, grouped by case."""

import sys
from pathlib import Path

from equipoise.cases.rows import read_cases
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_one, write_json
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.model import NliJudge
from workshop.calibration import CalibrateSettings, calibrate
from workshop.export import Shipped
from workshop.grid import entail_all, told_alike
from workshop.labels import CASES, LABELS, anchors, read_labels
from workshop.settings import section


def main(params: Path, weights: Path, features: Path, metrics: Path) -> None:
    """Write the choice, and its agreement with labels that it has not seen, to `metrics`."""
    settings = section(params, "calibrate", CalibrateSettings)
    cases = {case.key: case for case in read_cases(anchors() / CASES)}
    labels = read_labels(anchors() / LABELS, cases)
    group = told_alike({name: case.prompt for name, case in cases.items()}, settings.similarity)
    lexicon = load_lexicon(features)
    texts = [(one.text, lexicon.features(cases[one.case].features)) for one in labels]
    judge = NliJudge(weights, max_tokens=read_one(weights / "manifest.json", Shipped).max_tokens)
    entailed = entail_all(settings, texts, judge.probabilities)
    found = calibrate(settings, entailed, [one.considered for one in labels], [group[one.case] for one in labels])
    write_json(metrics, found)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
