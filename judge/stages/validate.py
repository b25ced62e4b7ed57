"""Measure judges of the registry, read as the main pipeline is set, on passages and labels unseen in training."""

import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import write_json
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import passage_files, read_passages
from equipoise.judge.readers import open_reader
from equipoise.judge.score import Score
from equipoise.studies.cases.rows import read_cases
from equipoise.text.diagnoses import load_diagnoses
from workshop import figures, labels, stress
from workshop.lessons import FitSettings
from workshop.settings import section


def main(params: Path, score: Path, root: Path, data: Path, ours: Path, suite: Path, bench: Path, out: Path) -> None:
    """Write the figures on the passages of BENCH and of SUITE, on labels, and on those of OURS about answers."""
    settings, reading = section(params, "validate", figures.ValidateSettings), section(score, "score", Score)
    lexicon, folder = load_lexicon(data / "features"), labels.anchors()
    cases = {case.key: case for case in read_cases(folder / labels.CASES)}
    labelled, passages = labels.read_labels(folder / labels.LABELS, cases), read_passages(passage_files(bench))
    implied = labels.read_implied(folder / labels.IMPLIED, without=section(params, "fit", FitSettings).explained)
    texts = figures.Texts(labelled, cases, passages, figures.arms(data, lexicon), implied, stress.load_suite(suite))
    unseen = labels.read_answer_labels(ours, folder / "fsd", cases, without={one.id for one in labelled})
    parts, names = {"seen": labelled, "unseen": unseen}, load_diagnoses(data / "diagnoses.yaml")
    figures_by_name: dict[str, object] = {"matching": figures.matched_figures(parts, cases, names, settings)}
    for name in settings.judges:
        with open_reader(name, root) as judge:
            figures_by_name[name] = figures.judge_figures(texts, lexicon, judge.probabilities, reading, settings)
    write_json(out, figures_by_name)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
