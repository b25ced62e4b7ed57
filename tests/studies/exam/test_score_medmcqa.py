"""Tests of `equipoise score medmcqa`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core.errors import EquipoiseError
from equipoise.studies.exam.cli import score_medmcqa

DATA = Path(__file__).parents[3] / "data"
FILES = ["--cities", str(DATA / "cities.yaml"), "--mapping", str(DATA / "medmcqa_diseases.yaml"), "--resamples", "100"]
DISEASES = ("cancer", "cardiovascular", "dementia_neuro")
FIGURES = ["accuracy", "precision_macro", "recall_macro", "f1_macro"]
app = typer.Typer()
app.command()(score_medmcqa)


def prompt(topic: str) -> str:
    """Write a prompt in EquiLens' form."""
    return (
        f"Subject: Medicine  |  Topic: {topic}\n\nQuestion:\nWhich?\n\nOptions:\n  A. asthma\n  B. pneumonia\n"
        "  C. stroke\n  D. gout\n\nAnswer:"
    )


def questions(city: str, diseases: tuple[str, ...] = DISEASES) -> list[dict[str, Any]]:
    """Make a set of four questions a disease, right answers A to D."""
    return [
        {
            "id": f"{disease}{letter}",
            "prompt": prompt("Kidney"),
            "answer": letter,
            "disease": disease,
            "city": city,
        }
        for disease in diseases
        for letter in "ABCD"
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def answered(rows: list[dict[str, Any]], response: str | None = None) -> list[dict[str, Any]]:
    """Make responses to questions, with nothing but what a file of responses has; rightly unless said otherwise."""
    return [{"id": row["id"], "answer": row["answer"], "response": response or row["answer"]} for row in rows]


def score(*arguments: str) -> list[dict[str, Any]]:
    """Run the command with --json and read its lines."""
    done = CliRunner().invoke(app, [*arguments, *FILES, "--json"], catch_exceptions=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(*arguments: str) -> EquipoiseError:
    """Run the command and give the error that it stops with."""
    with pytest.raises(EquipoiseError) as fault:
        CliRunner().invoke(app, [*arguments, *FILES], catch_exceptions=False)
    return fault.value


def test_one_object_a_city(tmp_path: Path) -> None:
    """With --json each city is one line with the released names, counts, limits and weights."""
    asked = questions("london")
    given = answered(asked)
    given[0]["response"] = "D"
    given[4]["response"] = "ERROR: Error code: 500 - overloaded; model A"
    source = write(tmp_path / "answers.jsonl", given)
    (scored,) = score(source, "--questions", write(tmp_path / "q.jsonl", asked))

    assert list(scored) == ["file", "questions", "n_questions", "city", "n_samples", "aggregate", "per_disease"]
    assert (scored["city"], scored["n_samples"], scored["n_questions"]) == ("london", 12, 12)
    assert list(scored["per_disease"]) == list(DISEASES)
    cancer, heart = scored["per_disease"]["cancer"], scored["per_disease"]["cardiovascular"]
    assert [cancer[name] for name in ("n_samples", "n_valid", "n_invalid", "n_unpredicted_classes")] == [4, 4, 0, 1]
    assert [heart[name] for name in ("n_samples", "n_valid", "n_invalid", "n_absent_classes")] == [4, 3, 1, 1]
    # One of 11 valid answers is wrong.
    assert scored["aggregate"]["accuracy"] == pytest.approx(10 / 11)
    # Recall 0, 1, 1, 1; precision 0, 1, 1, 1/2; F1 0, 1, 1, 2/3.
    assert [cancer[name] for name in FIGURES] == pytest.approx([0.75, 0.625, 0.75, 2 / 3])
    # Prevalences 0.25, 0.103, 0.115 add up to 0.468; cancer has 3 of 4 right, the others all.
    assert cancer["composition"] == pytest.approx(0.25 / 0.468)
    assert scored["aggregate"]["prevalence_weighted_accuracy"] == pytest.approx(1 - 0.25 * 0.25 / 0.468)
    assert all(f"{name}_ci_{end}" in cancer for name in FIGURES for end in ("low", "high"))


def test_each_file_finds_its_question_set(tmp_path: Path) -> None:
    """A question may be in both cities' sets: the set that holds all the ids gives the city."""
    london, dublin = questions("london"), questions("dublin", ("cancer", "respiratory"))
    sets = [
        option
        for name, rows in (("l", london), ("d", dublin))
        for option in ("--questions", write(tmp_path / f"{name}.jsonl", rows))
    ]
    sources = [
        write(tmp_path / "one.jsonl", answered(dublin)),
        write(tmp_path / "two.jsonl", answered(london)),
        # All of these are in both sets; the file's name says which was meant.
        write(tmp_path / "three_dublin.jsonl", answered(dublin[:4])),
    ]

    assert [(line["city"], Path(line["questions"]).name) for line in score(*sources, *sets)] == [
        ("dublin", "d.jsonl"),
        ("london", "l.jsonl"),
        ("dublin", "d.jsonl"),
    ]
    both = write(tmp_path / "four.jsonl", answered(dublin[:4]))
    assert "its ids are in all of" in str(refused(both, *sets))


def test_without_a_question_set_topic_and_file_name_tell(tmp_path: Path) -> None:
    """The topic gives the disease, the file's name the city."""
    rows = [
        {"id": str(number), "prompt": prompt(topic), "answer": "A", "response": "asthma"}
        for number, topic in enumerate(("Oncology", "C.V.S", "Respiratory system", "Kidney"))
    ]
    (scored,) = score(write(tmp_path / "answers-Edinburgh-1.jsonl", rows))

    assert {disease: figures["n_valid"] for disease, figures in scored["per_disease"].items()} == {
        "cancer": 1,
        "cardiovascular": 1,
        "respiratory": 1,
    }
    assert (scored["city"], scored["n_samples"], scored["aggregate"]["n_without_disease"]) == ("edinburgh", 4, 1)
    # The words of an option are read as its letter.
    assert scored["aggregate"]["accuracy"] == 1.0


def test_columns_give_city_and_disease_of_each_row(tmp_path: Path) -> None:
    """A CSV file of two cities is scored by city; an empty response is invalid."""
    source = tmp_path / "answers.csv"
    source.write_text(
        "id,answer,response,city,disease\n1,A,A,london,cancer\n1,A,,dublin,cancer\n2,B,B,dublin,cancer\n",
        encoding="utf-8",
    )
    by_city = {line["city"]: line for line in score(str(source))}

    assert [by_city[city]["aggregate"]["n_invalid"] for city in ("london", "dublin")] == [0, 1]
    # Nothing is known of London's other diseases.
    assert by_city["london"]["aggregate"]["prevalence_weighted_accuracy"] is None


def test_a_table_is_printed(tmp_path: Path) -> None:
    """Without --json a heading and a row a disease are printed."""
    asked = questions("london")
    source = write(tmp_path / "answers.jsonl", answered(asked, "B"))
    arguments = [source, "--questions", write(tmp_path / "q.jsonl", asked), *FILES]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)

    assert "12 answers of the 12 questions in" in done.stdout
    # A quarter of the right answers is B.
    assert "weighted by prevalence: 25.0 % right" in done.stdout
    assert all(name in done.stdout for name in ("all", *DISEASES))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"id": "1", "answer": "A"}, "row 2: field response: give the model's text"),
        ({"id": "1", "answer": "A", "response": 3}, "row 2: field response: give the model's text"),
        ({"id": "1", "response": "A"}, "row 2: no right letter: add a column answer"),
        ({"id": "0", "answer": "A", "response": "A"}, "row 2: id '0' was answered already in .*row 1"),
        ({"id": "1", "answer": "A", "response": "A", "city": "paris"}, "city 'paris' has answers but no diseases"),
    ],
)
def test_a_bad_response_is_named(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    """A fault in a file of responses is reported with its row and the fix."""
    rows = [{"id": "0", "answer": "A", "response": "A"}, row]

    assert re.search(fault, str(refused(write(tmp_path / "london.jsonl", rows))))


def test_a_row_that_contradicts_its_set_is_named(tmp_path: Path) -> None:
    """Another right answer than in the question set is an error, not a choice."""
    asked = questions("london")
    given = answered(asked)
    given[1]["answer"] = "D"
    fault = refused(write(tmp_path / "a.jsonl", given), "--questions", write(tmp_path / "q.jsonl", asked))

    assert "a.jsonl, row 2: field answer: 'D', but 'B' in" in str(fault)


def test_answers_to_other_questions_are_refused(tmp_path: Path) -> None:
    """Ids that no set holds are named, with the set that comes nearest."""
    asked = questions("london")
    fault = refused(write(tmp_path / "a.jsonl", answered(asked)), "--questions", write(tmp_path / "q.jsonl", asked[1:]))

    assert "lacks 1 of 12 (cancerA): give the set that was answered" in str(fault)


def test_without_any_city_the_row_is_named(tmp_path: Path) -> None:
    """No column, no set and no name tells the city."""
    fault = refused(write(tmp_path / "a.jsonl", [{"id": "0", "answer": "A", "response": "A"}]))

    assert "row 1: no city: give the question set with --questions" in str(fault)
