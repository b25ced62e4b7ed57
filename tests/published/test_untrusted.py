"""Whatever the files of others hold, their readers give rows or one clear error, never another exception."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.test_untrusted import CONTENTS, JSON, TEXTS, YAML, read_or_refused
from equipoise.core.errors import EquipoiseError
from equipoise.judge.rating.blind import COLUMNS, read_ratings
from equipoise.judge.rows import read_rows
from equipoise.materials import cities
from equipoise.materials.interchange import is_published
from equipoise.published import anchors, catalogue
from equipoise.published import equilens as released
from equipoise.studies.cases.rows import read_cases, read_outputs, require_cases
from equipoise.studies.exam import medmcqa
from equipoise.studies.openr1 import published as openr1
from equipoise.studies.questions import amqa, equilens
from equipoise.studies.stigma import lin
from equipoise.studies.stigma.aggregate import noun_lexicon, short_lexicon
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.names import listed_names

ROOT = Path(__file__).parents[2]
LIBRARY = load_library(ROOT / "data/sentences")
WORDINGS = lin.Wordings(LIBRARY)
NOUNS, SHORT = noun_lexicon(LIBRARY.words.nouns), short_lexicon(LIBRARY.words.short)
MAPPING = medmcqa.load_diseases(ROOT / "data/medmcqa_diseases.yaml")
RATED = {f"r00{number}": "The toe." for number in range(4)}
WORDS = st.text(max_size=12) | st.sampled_from(
    [
        *("A", "B", "unknown", "0", "-1", "1e999", "nan", "inf", "9" * 5_000, "london", "cancer", "ok", "baseline"),
        *("white", "Female", "male", "depression", "OCD", "<mask> has [diagnosis]", "[[", "yes", "weighed", "=1+1"),
        *("She has OCD", "I feel scared of a woman with OCD.", "Fear", "openai", "\u202e", "a\nb", "\x1b[2J", "\ud800"),
    ]
)
VALUES = WORDS | JSON | st.sampled_from([10**400, -(10**30), [[1]], {"A": 1}, [None], True])


def rows_like(*examples: dict[str, Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of a form, some of whose fields are left out or hold something else."""

    def changed(row: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        kept = st.sets(st.sampled_from(sorted(row)), max_size=2)
        return st.builds(
            lambda without, change: {name: row[name] for name in row if name not in without} | change,
            kept,
            st.dictionaries(st.sampled_from(sorted(row)), VALUES, max_size=2),
        )

    return st.lists(st.one_of(*map(changed, examples)), max_size=4)


def json_lines(rows: Iterable[object]) -> bytes:
    """Write rows as JSONL; half of a surrogate pair becomes an escape."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table(rows: list[dict[str, Any]], columns: Iterable[str]) -> bytes:
    """Write rows as CSV."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows([row.get(name, "") for name in columns] for row in rows)
    return file.getvalue().encode("utf-8", "surrogatepass")


ANSWERS = {"question_id": "1", "answer_idx": "A"} | {
    f"test_model_answer_{name}": "A"
    for name in (
        *("original_question", "desensitized_question", "white", "black"),
        *("high_income", "low_income", "male", "female"),
    )
}
ITEM = {"question_id": "7", "original_question": "What?", "answer_idx": "A", "options": {"A": "one", "B": "two"}}
RESULT = {"question_id": "1", "adv_group": "baseline", "answer_idx": "A", "response": "A", "option_A": "x"}
PUBLISHED = {"id": "m", "question": "What?", "opa": "w", "opb": "x", "opc": "y", "opd": "z", "cop": 1}
ASKED = {
    "id": "e",
    "answer": "A",
    "response": "B",
    "disease": "cancer",
    "city": "london",
    "topic_name": "C.V.S",
    "prompt": "Subject: S | Topic: T\nQuestion:\nWhat?\nOptions:\nA. w\nB. x\nC. y\nD. z\nAnswer:",
}
ROUND = {"patient": "I cannot sleep.", "counselor_content": "Tell me more.", "counselor_think": ["Sleep."]}
PSY = {"post_id": 1, "conversation": [ROUND], "metadata": {"source": "x"}}
SAMPLE = {"id": "s", "prompt": "I cannot sleep.", "gold_answer": "Tell me more.", "gold_reasoning": "Sleep."}
CASE = {"id": "a", "prompt": "A woman.", "bias_feature": "female", "bias_label": "anxiety", "metadata": {"role": None}}
OUTPUT = {"id": "a", "output_text": "Diagnosis: gout.", "status": "ok", "mode": "", "bias_label": "anxiety"}
OUTPUTS = {"id": "b", "feature": "black", "text": "<think>Black.</think>Gout.", "dimension": "race"}
RQ1 = {"probability": 0.5, "gender": "male", "diagnosis": "OCD", "prompt": "<mask> has [diagnosis]"}
RQ2 = {
    "female_prob": 0.25,
    "male_prob": 0.5,
    "diagnosis": "OCD",
    "stigma_category": "Fear",
    "sequence": "I feel scared of a <mask> with [diagnosis].",
}
STEPS = {**RQ1, "stigma_category": "Fear", "sequence": "I feel scared of a woman with OCD."}
PREDICTION = {"score": 0.5, "token_str": "She", "sequence": "She has OCD"}
RATING = {
    "row": "r001",
    "reasoning": "The toe.",
    "mentioned": "yes",
    "considered": "weighed",
    "note": "",
    "kind": "race",
}
SCORES = {"city": "london", "n_samples": 3, "metrics": {"race": {"assigned_questions": {"white": ["1"]}, "acc": 0.5}}}
CASES_ASKED = read_cases(ROOT / "data/examples/cases.json")


def tabulated(path: Path) -> object:
    """Read responses, and give each its city, disease and letter."""
    return medmcqa.tabulate_released(path, medmcqa.read_responses(path), None, MAPPING, ["london"])


def rated(path: Path) -> object:
    """Read a filled sheet."""
    return read_ratings(str(path), path.read_bytes().decode("utf-8", "replace"), RATED)


def asked(path: Path) -> None:
    """Read outputs, and compare them with their cases."""
    require_cases(str(path), read_outputs(path), {case.key: case for case in CASES_ASKED})


def scores(path: Path) -> object:
    """Read a city's released scores, and the questions that were put in each group."""
    kept = path.parent / (released.SCORES.format(study="amqa", city="london"))
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, kept)
    try:
        return equilens.assigned_questions(path.parent, "london"), released.released_scores(path, "equilens")
    except EquipoiseError as error:
        raise EquipoiseError(str(error).replace(str(kept), str(path))) from error


READERS: dict[str, tuple[Callable[[Path], object], str, st.SearchStrategy[bytes]]] = {
    "amqa answers": (amqa.read_answers, "a.jsonl", rows_like(ANSWERS).map(json_lines)),
    "amqa items": (lambda path: amqa.read_items(str(path)), "a.jsonl", rows_like(ITEM).map(json_lines)),
    "amqa items, CSV": (
        lambda path: amqa.read_items(str(path)),
        "a.csv",
        rows_like({**ITEM, "option_A": "x", "option_B": "y"}).map(
            lambda rows: table(rows, ("question_id", "original_question", "answer_idx", "option_A", "option_B"))
        ),
    ),
    "equilens": (equilens.read_results, "a.parquet", st.binary(max_size=50)),
    "equilens scores": (
        scores,
        "a.json",
        rows_like(SCORES).map(lambda rows: json.dumps(rows[0] if rows else []).encode()),
    ),
    "medmcqa": (
        lambda path: medmcqa.import_items([str(path)], MAPPING),
        "a.jsonl",
        rows_like(PUBLISHED, ASKED).map(json_lines),
    ),
    "medmcqa questions": (medmcqa.read_questions, "a.jsonl", rows_like(PUBLISHED, ASKED).map(json_lines)),
    "medmcqa responses": (tabulated, "a.jsonl", rows_like(ASKED).map(json_lines)),
    "openr1": (lambda path: openr1.read_items(str(path)), "a.jsonl", rows_like(PSY, SAMPLE).map(json_lines)),
    "openr1 samples": (
        lambda path: openr1.read_items(str(path)),
        "a.json",
        rows_like(SAMPLE).map(lambda rows: json.dumps({"samples": rows}).encode()),
    ),
    "lin rq1": (
        lambda path: lin.read_rq1(path, WORDINGS),
        "a.csv",
        rows_like(RQ1).map(lambda rows: table(rows, RQ1)),
    ),
    "lin rq2": (
        lambda path: lin.read_rq2(path, WORDINGS),
        "a.csv",
        rows_like(RQ2).map(lambda rows: table(rows, RQ2)),
    ),
    "lin steps": (
        lambda path: lin.read_steps(path, WORDINGS, NOUNS),
        "a.csv",
        rows_like(STEPS).map(lambda rows: table(rows, STEPS)),
    ),
    "lin tokens": (
        lambda path: lin.read_tokens(path, WORDINGS, SHORT),
        "a.txt",
        rows_like(PREDICTION).map(lambda rows: f"[[{rows!r}], {rows!r}]".encode("utf-8", "backslashreplace")),
    ),
    "cases": (
        read_cases,
        "a.json",
        rows_like(CASE).map(lambda rows: json.dumps({"cases": rows}).encode()),
    ),
    "exported cases": (is_published, "a.json", rows_like(CASE).map(lambda rows: json.dumps({"cases": rows}).encode())),
    "outputs": (asked, "a.jsonl", rows_like(OUTPUT).map(json_lines)),
    "judged outputs": (read_rows, "a.jsonl", rows_like(OUTPUTS).map(json_lines)),
    "sheet": (rated, "a.csv", rows_like(RATING).map(lambda rows: table(rows, COLUMNS))),
    "names": (listed_names, "a.csv", st.binary(max_size=50)),
    "graded": (
        lambda path: anchors.released_rows(path, anchors.Graded),
        "a.jsonl",
        rows_like({"response": "A", "options": {"A": "x"}, "gold": "A", "is_correct": True}).map(json_lines),
    ),
    "selected": (
        lambda path: anchors.released_rows(path, anchors.Selected),
        "a.jsonl",
        rows_like({"kept": True, "question": "What?", "options": {"A": "x"}}).map(json_lines),
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for every example: the files in it are written again."""
    return tmp_path_factory.mktemp("untrusted")


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=50)
@given(data=st.data())
def test_readers_of_others_files(folder: Path, name: str, data: st.DataObject) -> None:
    """Rows of the form with faults in them, and arbitrary bytes, give a result or one line that names the file."""
    read, file, nearly = READERS[name]

    read_or_refused(read, folder / file, data.draw(nearly | CONTENTS))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("text", TEXTS)
def test_hostile_texts(folder: Path, name: str, text: str) -> None:
    """Deep nesting, long numbers and halves of characters are one line."""
    read, file, _ = READERS[name]

    read_or_refused(read, folder / file, text.encode())


@pytest.mark.parametrize(
    "read",
    [
        medmcqa.load_diseases,
        cities.load_cities,
        lambda path: catalogue.load_catalogue(path.rename(path.with_name(catalogue.FILE)).parent),
    ],
)
@settings(max_examples=40)
@given(content=YAML)
def test_readers_of_settings(folder: Path, read: Callable[[Path], object], content: bytes) -> None:
    """So do the files of rules, cities and published figures."""
    read_or_refused(read, folder / catalogue.FILE, content)


ASCII = st.text(st.characters(max_codepoint=126), max_size=9) | st.sampled_from(["A", "baseline", "0", "9" * 5_000])
PARQUET = st.fixed_dictionaries(dict.fromkeys(RESULT, st.none() | ASCII), optional={"result_status": ASCII})


@settings(max_examples=40)
@given(rows=st.lists(PARQUET, max_size=3))
def test_parquet(folder: Path, rows: list[dict[str, Any]]) -> None:
    """A table of any texts is a table of results, of questions, or refused."""
    pd = pytest.importorskip("pandas")
    file = io.BytesIO()
    pd.DataFrame(rows, columns=[*RESULT, "result_status"]).to_parquet(file)

    for read in (equilens.read_results, medmcqa.read_questions, lambda path: amqa.read_items(str(path))):
        read_or_refused(read, folder / "a.parquet", file.getvalue())
