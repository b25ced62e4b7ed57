"""Measure the judge, set as the main pipeline has it, on passages and labels that its training has not seen."""

import sys
from pathlib import Path

from equipoise.cases.rows import read_cases
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_one, write_json
from equipoise.judge import model, passages
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.score import Score
from equipoise.text.diagnoses import load_diagnoses
from workshop import export, figures, labels, stress
from workshop.settings import section


def main(params: Path, score: Path, weights: Path, data: Path, ours: Path, suite: Path, bench: Path, out: Path) -> None:
    """Write the figures on the passages of BENCH and of SUITE, on labels, and on those of OURS about answers."""
    settings, reading = section(params, "validate", figures.ValidateSettings), section(score, "score", Score)
    lexicon, asked, folder = load_lexicon(data / "features"), stress.load_suite(suite), labels.anchors()
    cases = {case.key: case for case in read_cases(folder / labels.CASES)}
    labelled = labels.read_labels(folder / labels.LABELS, cases)
    judge = model.CrossEncoder(weights, max_tokens=read_one(weights / "manifest.json", export.Shipped).max_tokens)
    how = (lexicon, judge.probabilities, reading)
    told = passages.read_passages(passages.passage_files(bench))
    unseen = labels.read_answer_labels(ours, folder / "fsd", cases, without={one.id for one in labelled})
    found = figures.labelled_figures(labelled, figures.read_all(labelled, cases, *how), cases, settings, lexicon)
    found["passages"] = figures.passage_figures(told, *how, settings, figures.arms(data, lexicon))
    found["implied"] = figures.implied_figures(labels.read_implied(folder / labels.IMPLIED), *how, settings)
    names = load_diagnoses(data / "diagnoses.yaml")
    found["matching"] = figures.matched_figures({"seen": labelled, "unseen": unseen}, cases, names, settings)
    write_json(out, found | {"stress": stress.accuracy(asked, figures.read_suite(asked, *how))})


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
