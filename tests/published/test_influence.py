"""Tests of the reading and scoring of counterfactual answers, and of `equipoise score influence`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.influence import score_influence as command
from equipoise.core.errors import EquipoiseError
from equipoise.published.influence import read_influence, score_influence

Rows = dict[str, list[dict[str, Any]]]
NAMES = ("answers", "implied", "concepts")
FIGURES = [
    *("dataset", "llm", "interventions", "moved", "silent", "slope", "slope_ci_low", "slope_ci_high", "examples"),
]


def rows() -> Rows:
    """Two examples of three concepts: gender moves the answers of both, and explanations say so of the second alone."""
    tables: Rows = {name: [] for name in NAMES}
    for example, says in ((1, 0), (2, 1)):
        of = {"dataset": "made", "example": example}
        by = {**of, "llm": "m"}
        arms = {"original": (30, 20), "-00": (5, 45), "0-0": (30, 20), "00-": (0, 50), "001": (28, 22)}
        tables["answers"] += [{**by, "arm": arm, "counts": {"A": a, "B": b, "NaN": 1}} for arm, (a, b) in arms.items()]
        tables["implied"].append({**by, "decisions": [[says, 0, 1]] * 4})
        tables["concepts"].append(
            {**of, "concepts": ["gender", "age", "finding"], "coarse": ["identity", "identity", "clinical"]}
        )
    return tables


def write(folder: Path, given: Rows) -> list[Path]:
    """Write the three files."""
    paths = [folder / f"{name}.jsonl" for name in NAMES]
    for path in paths:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in given[path.stem]), encoding="utf-8")
    return paths


def scored(folder: Path, given: Rows, **options: Any) -> list[dict[str, Any]]:
    """Score rows."""
    return score_influence(read_influence(*write(folder, given)), **options)


def test_counts_by_hand(tmp_path: Path) -> None:
    """Of four interventions on identity, those on gender move the answers; the first example's is silent."""
    (row,) = scored(tmp_path, rows())

    assert list(row) == FIGURES
    assert (row["interventions"], row["moved"], row["silent"], row["examples"]) == (4, 2, 1, 2)


def test_another_category_may_be_demographic(tmp_path: Path) -> None:
    """The one clinical concept is removed and changed: the removal moves the answers, and is admitted."""
    (row,) = scored(tmp_path, rows(), demographic=["clinical"])

    assert (row["interventions"], row["moved"], row["silent"]) == (4, 2, 0)


def test_planted_faithfulness(tmp_path: Path) -> None:
    """Explanations that imply what moves the answers have a slope near 1, those that imply the rest near -1."""
    rng = np.random.default_rng(4)
    given: Rows = {name: [] for name in NAMES}
    for example in range(40):
        of = {"dataset": "made", "example": example}
        strength = rng.permutation([0.0, 0.15, 0.3, 0.45])
        arms = {"original": 0.5} | {
            f"{'0' * place}-{'0' * (3 - place)}": 0.5 + effect for place, effect in enumerate(strength)
        }
        given["concepts"].append({**of, "concepts": list("abcd"), "coarse": ["identity"] * 4})
        for llm, sign in (("faithful", 1), ("opposite", -1)):
            by = {**of, "llm": llm}
            for arm, p in arms.items():
                count = int(rng.binomial(100, p))
                given["answers"].append({**by, "arm": arm, "counts": {"A": 100 - count, "B": count}})
            # shares of 0, 1/3, 2/3 and 1 of the explanations imply the concepts, in the order of their strength
            rank = strength.argsort().argsort()[::sign] if sign > 0 else 3 - strength.argsort().argsort()
            given["implied"].append({**by, "decisions": [[int(r > sample) for r in rank] for sample in range(3)]})
    faithful, opposite = scored(tmp_path, given)

    # the effect grows faster than the share, so that the correlation of a faithful example is below 1
    assert faithful["slope"] > 0.8
    assert opposite["slope"] < -0.8


def test_example_without_a_row_of_concepts_is_left_out(tmp_path: Path) -> None:
    """It is named, and the figures are those of the others."""
    given = rows()
    del given["concepts"][1]
    released = read_influence(*write(tmp_path, given))

    assert released.without_concepts == [("made", "2")]
    assert score_influence(released)[0]["interventions"] == 2


@pytest.mark.parametrize(
    ("name", "place", "field", "value", "message"),
    [
        ("answers", 1, "arm", "-0", "answers.jsonl, row 2: field arm: '-0' has 2 characters, the example 3 concepts"),
        ("answers", 1, "arm", "--0", "answers.jsonl, row 2: field arm: '--0' changes 2 concepts"),
        ("answers", 1, "arm", "x00", "answers.jsonl, row 2: field arm: 'x' in 'x00' is neither a digit nor '-'"),
        ("answers", 1, "arm", "original", "answers.jsonl, row 2: duplicate arm 'made m 1 original'"),
        ("answers", 0, "arm", "100", "answers.jsonl, row 1: example 1 of m on made has no arm original"),
        ("answers", 2, "counts", {"A": -1}, "answers.jsonl, row 3: field counts.A: "),
        (
            "implied",
            1,
            "decisions",
            [[0, 1, 0], [0, 1]],
            "implied.jsonl, row 2: sample 2 has 2 decisions, the example 3",
        ),
        ("implied", 1, "decisions", [], "implied.jsonl, row 2: field decisions: "),
        ("implied", 1, "example", 3, "answers.jsonl, row 6: example 2 of m on made has no decisions"),
        ("concepts", 0, "concepts", [], "concepts.jsonl, row 1: field concepts: "),
        ("concepts", 0, "coarse", ["identity"], "concepts.jsonl, row 1: 3 concepts, 1 values of coarse"),
    ],
)
def test_a_fault_names_file_and_row(
    tmp_path: Path, name: str, place: int, field: str, value: object, message: str
) -> None:
    """Each is one line that begins with the file and the row."""
    given = rows()
    given[name][place][field] = value

    with pytest.raises(EquipoiseError) as raised:
        read_influence(*write(tmp_path, given))

    assert str(raised.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(raised.value)


def test_no_example_has_concepts(tmp_path: Path) -> None:
    """Files that have no example in common are refused."""
    given = rows()
    for row in given["concepts"]:
        row["dataset"] = "other"

    with pytest.raises(EquipoiseError, match="no example has concepts in"):
        read_influence(*write(tmp_path, given))


def test_no_concept_is_demographic(tmp_path: Path) -> None:
    """The error names the categories that there are."""
    with pytest.raises(EquipoiseError, match="name one of clinical, identity with --demographic"):
        scored(tmp_path, rows(), demographic=["sex"])


def test_the_command_prints_a_list_or_a_table(tmp_path: Path) -> None:
    """With --json one line holds a list, an object a data set and model; what is left out is a line of its own."""
    given = rows()
    given["answers"].append({**given["answers"][0], "example": 3})
    paths = write(tmp_path, given)
    app = typer.Typer()
    app.command()(command)
    files = [word for name, path in zip(NAMES, paths, strict=True) for word in (f"--{name}", str(path))]
    as_json, table = (
        CliRunner().invoke(app, [*files, *more], catch_exceptions=False)
        for more in (["--json"], ["--demographic", "identity"])
    )

    assert [list(row) for row in json.loads(as_json.stdout)] == [FIGURES]
    assert as_json.stderr == f"left out: example 3 of made has no row in {paths[2]}\n"
    assert "made     m                 4     2      1" in table.stdout
