"""A folder of published data and a catalogue small enough to count by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ARMS = (
    "original_question",
    "desensitized_question",
    "white",
    "black",
    "high_income",
    "low_income",
    "male",
    "female",
)
RUN = "amqa/answers/run.jsonl"
CATALOGUE: dict[str, Any] = {
    "sources": {
        "amqa": {"title": "A study", "files": [RUN]},
        "fsd": {"title": "Another", "files": ["fsd/none.jsonl"], "unfetchable": "nobody released it"},
    },
    "fetch": [{"path": RUN, "repository": "a/b", "name": "out put/run.jsonl", "commit": "0" * 40, "sha256": "1" * 64}],
    "printed": [
        {
            "id": "amqa/gap",
            "figure": "amqa/run/pairs/race/gap",
            "place": "section 1",
            "what": "gap | in race",
            "paper": "25 %",
            "expect": "reproduced",
        },
        {
            "id": "amqa/white",
            "figure": "amqa/run/accuracy/white",
            "place": "section 2",
            "what": "right for White",
            "paper": "0.9",
            "expect": "departs",
            "note": "3 of 4",
        },
    ],
    "tables": [
        {"id": "amqa", "place": "answers", "what": "counts", "against": "recount", "expect": "not printed"},
        {
            "id": "amqa/run/accuracy",
            "place": "table 1",
            "what": "accuracies",
            "against": "release",
            "expect": "reproduced",
            "values": {"white": 0.75, "black": 0.6},
            "tolerance": 0.01,
            "departs": {"black": "printed upside down"},
        },
    ],
}


def write(root: Path, catalogue: dict[str, Any] = CATALOGUE) -> tuple[Path, Path]:
    """Write four questions, of which White has three right and Black two; give the folders of both."""
    folder, data = root / "anchors", root / "data"
    (folder / "amqa/answers").mkdir(parents=True)
    data.mkdir()
    wrong = {"white": {"3"}, "black": {"2", "3"}}
    rows = [
        {
            "question_id": question,
            "answer_idx": "A",
            **{f"test_model_answer_{arm}": "B" if question in wrong.get(arm, ()) else "A" for arm in ARMS},
        }
        for question in "0123"
    ]
    (folder / RUN).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    expected = {"amqa": {"run.jsonl": {"n": 4, "correct": {"white": 3, "desensitized_question": 4}}}}
    (folder / "expected.json").write_text(json.dumps(expected), encoding="utf-8")
    # JSON is YAML.
    (data / "anchors.yaml").write_text(json.dumps(catalogue), encoding="utf-8")
    return folder, data
