"""The log likelihoods of a real run's pairs, for resampled models: `python benchmarks/operating_rows.py PROJECT`.

Replaces the rows of the run's model in operating_rows.jsonl by those of the run in a project's folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from operating_models import ROWS

from equipoise.core.params import Params
from equipoise.core.yamlfile import load_yaml

OTHERS = 2
"""The distractors that are kept."""
READINGS = {"", "unreasoned", "swapped"}
"""The answers that are kept: after the model's own reasoning, without any, and after the other patient's."""


def rows_of(project: Path) -> list[dict[str, Any]]:
    """Read the log likelihoods of the expected answer, the error and the distractors, by pair and version."""
    model, folder = load_yaml(project / "params.yaml", Params).model, project / "data/vignettes"
    by_pair = {
        case["pair"]: {"model": model, "pair": case["pair"], "story": case["presentation"], "versions": {}}
        for case in _lines(folder / "built/vignettes.jsonl")
    }
    labels = {
        case["pair"]: [answer["label"] for answer in (case["expected"], case["stereotyped"], *case["distractors"])]
        for case in _lines(folder / "built/vignettes.jsonl")
    }
    for response in _lines(folder / "responses.jsonl"):
        pair, _, version = response["key"].partition("/")
        if pair in by_pair and version.partition("/")[2] in READINGS:
            means, tokens = response["log_likelihood"], response["candidate_tokens"]
            totals = [means[label] * tokens[label] for label in labels[pair][: 2 + OTHERS]]
            by_pair[pair]["versions"][version] = [round(value, 3) for value in totals]
    return [*by_pair.values()]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Replace one model's rows."""
    new = rows_of(Path(sys.argv[1]))
    models = {row["model"] for row in new}
    kept = [row for row in _lines(ROWS) if row["model"] not in models]
    ROWS.write_text("".join(json.dumps(row) + "\n" for row in [*kept, *new]), encoding="utf-8")


if __name__ == "__main__":
    main()
