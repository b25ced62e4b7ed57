"""Files that hold the same values under different names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.core.jsonl import sha256
from equipoise.studies.stigma import lin as module
from equipoise.studies.stigma.lin import duplicates, read_rq2, wrong_name

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from equipoise.studies.stigma.lin import Duplicate, Wordings

HEADER = ",female_prob,male_prob,diagnosis,sequence,stigma_category\n"
SENTENCES = (
    ("I feel scared of a <mask> with [diagnosis].", "Fear"),
    ("I am angry at a <mask> with [diagnosis].", "Anger"),
)


def write(path: Path, shares: list[float], conditions: tuple[str, str] = ("depression", "OCD")) -> Path:
    """Write a file of rq2 with the female shares of two sentences and two conditions."""
    places = [(condition, *sentence) for condition in conditions for sentence in SENTENCES]
    rows = [
        f"{number},{share!r},0.25,{condition},{sentence},{category}\n"
        for number, (share, (condition, sentence, category)) in enumerate(zip(shares, places, strict=True))
    ]
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    return path


def found(wordings: Wordings, *paths: Path) -> list[Duplicate]:
    """Look for duplicates among files."""
    return duplicates({path: read_rq2(path, wordings) for path in paths})


def test_a_byte_copy_is_found(tmp_path: Path, wordings: Wordings) -> None:
    """Two files with the same bytes are one."""
    shares = [0.1, 0.2, 0.3, 0.4]
    (duplicate,) = found(wordings, write(tmp_path / "a.csv", shares), write(tmp_path / "b.csv", shares))

    assert (duplicate.first.name, duplicate.second.name, duplicate.kind, duplicate.equal, duplicate.rows) == (
        "a.csv",
        "b.csv",
        "bytes",
        4,
        4,
    )


def test_equal_values_are_found(tmp_path: Path, wordings: Wordings) -> None:
    """Files whose values differ by rounding alone are one."""
    first = write(tmp_path / "a.csv", [0.1, 0.2, 0.3, 0.4])
    (duplicate,) = found(wordings, first, write(tmp_path / "b.csv", [0.1 + 1e-16, 0.2, 0.3, 0.4 - 1e-12]))

    assert duplicate.kind == "values"


def test_the_same_values_of_other_conditions_are_found(tmp_path: Path, wordings: Wordings) -> None:
    """A file that gives its values to other conditions is a copy all the same."""
    shares = [0.1, 0.2, 0.3, 0.4]
    mental = write(tmp_path / "a.csv", shares)
    (duplicate,) = found(wordings, mental, write(tmp_path / "b.csv", shares, ("stroke", "cancer")))

    assert duplicate.kind == "values"


def test_a_second_run_is_noted(tmp_path: Path, wordings: Wordings) -> None:
    """Files that agree in half of their rows are distinguished from copies."""
    first = write(tmp_path / "a.csv", [0.1, 0.2, 0.3, 0.4])
    (duplicate,) = found(wordings, first, write(tmp_path / "b.csv", [0.1, 0.2, 0.35, 0.45]))

    assert (duplicate.kind, duplicate.equal, duplicate.rows) == ("some", 2, 4)


def test_different_files_are_not_found(tmp_path: Path, wordings: Wordings) -> None:
    """Values that differ by more than the tolerance are two files."""
    first = write(tmp_path / "a.csv", [0.1, 0.2, 0.3, 0.4])

    assert found(wordings, first, write(tmp_path / "b.csv", [0.11, 0.21, 0.31, 0.4])) == []


def test_a_known_copy_is_recognised_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A released file with another model's bytes is reported where its name does not say that model."""
    path, right = tmp_path / "roberta_non_result.csv", tmp_path / "mentalroberta_non_result.csv"
    path.write_text("x", encoding="utf-8")
    right.write_text("x", encoding="utf-8")
    monkeypatch.setattr(module, "WRONG_NAMES", {sha256(path): ("mentalroberta", "the other's bytes")})

    assert wrong_name(path) == "the other's bytes"
    assert wrong_name(right) is None
