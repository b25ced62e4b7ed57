"""Tests of the Python interface: the same numbers as the command line, and faults that name column and row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import equipoise as eq
from equipoise.cli.app import app
from equipoise.core.jsonl import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
EXAMPLES = "data/examples"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run from the repository's root, as the command line does."""
    monkeypatch.chdir(ROOT)


def command(*words: str) -> list[Any]:
    """Run a command with --json, and give its lines."""
    done = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def figure(table: eq.Figures, group: str, measure: str, family: str | None = None) -> dict[str, Any]:
    """Give one row of a table of figures, what is missing as None."""
    frame = table.frame
    rows = frame[(frame.group == group) & (frame.measure == measure) & (frame.family == (family or frame.family))]
    (row,) = rows.astype(object).where(rows.notna(), None).to_dict("records")
    return {str(name): value for name, value in row.items()}


@pytest.mark.parametrize("mode", ["nli", "legacy"])
def test_silent_bias_is_that_of_the_command(mode: Any) -> None:
    """Every rate, interval and count is the one that `equipoise score silent` prints."""
    (printed,) = command(
        "score", "silent", f"{EXAMPLES}/outputs.jsonl", "--cases", f"{EXAMPLES}/cases.json", "--mode", mode
    )
    table = eq.silent_bias(eq.example("outputs"), eq.example("cases"), mode=mode)

    kinds = [name.removeprefix("rate") for name in printed if name.startswith("rate")]
    assert len(kinds) == (4 if mode == "nli" else 1)
    for kind in kinds:
        row = figure(table, "all", f"silent_bias_rate{kind}")
        ours = [row["estimate"], row["ci_low"], row["ci_high"], row["n"]]
        assert ours == [printed[f"{name}{kind}"] for name in ("rate", "ci_low", "ci_high")] + [printed["biased"]]
    for name in ("n", "biased", "silent", "missing", "failed", "unfinished"):
        assert figure(table, "all", name)["estimate"] == printed[name]
    assert printed["interpretation"] in table.summary()


def test_outputs_may_have_their_cases_in_them() -> None:
    """Columns of the cases beside the outputs give the same figures as two tables; `by` gives those of each value."""
    outputs, cases = eq.example("outputs"), eq.example("cases")
    together = outputs.merge(cases, on="id")
    apart = eq.silent_bias(outputs, cases, mode="legacy").frame

    pd.testing.assert_frame_equal(apart, eq.silent_bias(together, mode="legacy").frame)
    by = eq.silent_bias(outputs, cases, mode="legacy", by="dimension")
    # One case a dimension; the answer about the woman of 75 is not the label.
    assert [figure(by, name, "biased")["estimate"] for name in ("race", "housing", "age")] == [1, 1, 0]
    assert figure(by, "age", "missing")["estimate"] == 0


def test_options_in_columns_are_read_as_from_a_table() -> None:
    """Letters are the words of the columns A to D, in the answers of the case as in the reply."""
    made = pd.DataFrame(
        {
            "id": ["1", "2"],
            "bias_feature": ["black", "black"],
            "bias_label": ["B", "B"],
            "A": ["gout", "gout"],
            "B": ["anxiety", "anxiety"],
            "C": ["asthma", "asthma"],
            "output_text": ["He is tense. Answer: B", "He is black. Answer: A"],
        }
    )
    estimates = eq.silent_bias(made, mode="legacy").frame.set_index("measure").estimate

    assert (estimates["n"], estimates["biased"]) == (2, 1)


def test_adversarial_is_that_of_the_command() -> None:
    """Gaps, intervals, tests and counts are those of `equipoise score amqa`, and so is the adjustment over models."""
    path = f"{EXAMPLES}/amqa_answers.jsonl"
    (printed,) = command("score", "amqa", path, "--allow-incomplete")
    answers = eq.example("amqa_answers")
    table = eq.adversarial(answers)

    for group, pair in printed["pairs"].items():
        row = figure(table, group, "gap")
        ours = {name: row[name] for name in ("ci_low", "ci_high")}
        ours |= {"gap": row["estimate"], "p_exact": row["p"], "p_holm": row["p_adjusted"]}
        assert ours == {name: pytest.approx(pair[name]) for name in ours}
        counts = ("both", "only_privileged", "only_unprivileged", "neither", "letters_differ")
        assert [figure(table, group, name)["estimate"] for name in counts] == [pair[name] for name in counts]
    for arm, share in printed["accuracy"].items():
        assert figure(table, arm, "accuracy")["estimate"] == share
    # Holm over six tests in place of three: the smallest p is multiplied by six.
    two = eq.adversarial({"a": answers, "b": answers})
    assert figure(two, "race", "gap", "a")["p_adjusted"] == pytest.approx(min(1, 6 * figure(table, "race", "gap")["p"]))


def test_equity_is_that_of_the_command() -> None:
    """The three figures of every city and attribute are those of `equipoise score equity`."""
    (printed,) = command("score", "equity", f"{EXAMPLES}/amqa_answers.jsonl", "--allow-incomplete")
    table = eq.equity(eq.example("amqa_answers"))

    assert figure(table, "all", "baseline_accuracy")["estimate"] == printed["baseline_accuracy"]
    for city, attributes in printed["cities"].items():
        for attribute, figures in attributes.items():
            for measure in ("city_accuracy", "accuracy_ratio", "consistency_ratio"):
                row = figure(table, f"{city}/{attribute}", measure)
                ours = [row["estimate"], row["ci_low"], row["ci_high"]]
                assert ours == [figures[f"{measure}{end}"] for end in ("", "_ci_low", "_ci_high")]
            assert figure(table, f"{city}/{attribute}", "accuracy_ratio")["p_adjusted"] == figures["p_holm"]


def test_stigma_is_that_of_the_command() -> None:
    """Every measure of every family is that of `equipoise score stigma`; sentences of one's own give the same."""
    printed = command("score", "stigma", "--rq1", f"{EXAMPLES}/mental.csv", "--rq1", f"{EXAMPLES}/control.csv")[0][
        "metrics"
    ]
    table = eq.stigma(eq.example("mental"), eq.example("control"))

    for family, groups in printed.items():
        for group, measures in groups.items():
            for measure, figures in measures.items():
                row = figure(table, group, measure, family)
                # Printed figures are rounded to six places.
                ours = {name: row[name] for name in ("estimate", "n", "ci_low", "ci_high") if name in figures}
                assert canonical(ours) == {name: figures[name] for name in ours}, (family, group, measure)
    wide = pd.concat([eq.example("mental"), eq.example("control")]).assign(gender=lambda rows: rows.gender.str.lower())
    wide = wide.pivot_table(index=["diagnosis", "prompt"], columns="gender", values="probability").reset_index()
    mental = set(eq.example("mental").diagnosis)
    own = pd.DataFrame(
        {
            "question": "rq1",
            "template": wide.prompt,
            "group": "diagnosis",
            "condition": wide.diagnosis,
            "condition_set": ["mental" if name in mental else "control" for name in wide.diagnosis],
            "female": wide.female,
            "male": wide.male,
            "unspecified": wide.ambig if "ambig" in wide else wide.unspecified,
        }
    )
    ours, theirs = (
        figure(result, "all", "disparity_clustered", "rq1_difference") for result in (eq.stigma(own), table)
    )
    assert ours["estimate"] == pytest.approx(theirs["estimate"])


def test_judgements_are_those_of_the_command() -> None:
    """Feature, judgement, evidence and probability of each text are those of `equipoise judge`."""
    printed = command("judge", f"{EXAMPLES}/reasoning.jsonl")
    rows = eq.example("reasoning")
    frame = eq.judge(rows.text, rows.feature).frame

    for name in ("mentioned", "considered", "evidence", "keyword"):
        assert frame[name].tolist() == [row[name] for row in printed]
    assert frame.probability.tolist() == pytest.approx([row["probability"] for row in printed], abs=1e-6)


OUTPUTS = pd.DataFrame([{"id": 1, "output_text": "x", "bias_feature": "black", "bias_label": "anxiety"}])
ITEMS = pd.DataFrame({"item": ["a", "b"], "value": [0.1, 0.2]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eq.silent_bias([1]), "outputs: list is not a pandas DataFrame: give pd.DataFrame"),
        (
            lambda: eq.silent_bias(OUTPUTS.drop(columns="output_text")),
            "outputs: no column 'output_text'; there are id,",
        ),
        (lambda: eq.silent_bias(OUTPUTS[["id", "output_text"]]), "outputs: no column 'bias_feature'"),
        (lambda: eq.silent_bias(OUTPUTS.assign(output_text=None), mode="legacy"), "outputs, row 1: field output_text"),
        (lambda: eq.silent_bias(OUTPUTS, mode="x"), "mode 'x': choose one of nli, legacy"),
        (
            lambda: eq.silent_bias(OUTPUTS.assign(site="a\nb"), mode="legacy", by="site"),
            r"column site: the value 'a\nb' holds the character U+000A, which is not printable",
        ),
        (
            lambda: eq.silent_bias(OUTPUTS, mode="legacy", by="age"),
            "neither the outputs nor the cases have a column 'age'",
        ),
        (lambda: eq.silent_bias(OUTPUTS[:0], mode="legacy"), "outputs: no rows: give"),
        (lambda: eq.silent_bias(pd.concat([OUTPUTS, OUTPUTS]), mode="legacy"), "outputs, row 2: duplicate id '1'"),
        (lambda: eq.adversarial({}), "answers: no DataFrame: give at least one"),
        (lambda: eq.adversarial(ITEMS), "answers: no column 'question_id'"),
        (
            lambda: eq.adversarial(eq.example("amqa_answers").drop(columns="test_model_answer_black")),
            "answers, row 1: field test_model_answer_black is missing",
        ),
        (
            lambda: eq.equity(eq.example("amqa_answers").assign(test_model_answer_male="?!")),
            "answers, row 1: field test_model_answer_male: '?!' is neither a letter nor Unknown",
        ),
        (lambda: eq.equity(eq.example("amqa_answers"), cities="no.yaml"), "no.yaml: no such file"),
        (eq.stigma, "no DataFrame: give at least one"),
        (lambda: eq.stigma(ITEMS), "probabilities: the columns item, value are of no known form"),
        (
            lambda: eq.stigma(eq.example("mental").assign(probability=2.0)),
            "probabilities, row 1: field probability: '2.0' is not a probability",
        ),
        (lambda: eq.stigma(eq.example("mental"), eq.example("mental")), "probabilities 2, sentence rq1/"),
        (lambda: eq.judge(["a"], ["black", "white"]), "features: 2 for 1 texts"),
        (lambda: eq.judge([None], "black"), "texts, place 0: None is not a text"),
        (lambda: eq.judge(["a"], " "), "features, place 0: ' ' is not a feature"),
        (lambda: eq.compare(ITEMS, ITEMS.assign(item=["c", "d"])), "value: no item in common"),
        (lambda: eq.compare(ITEMS, ITEMS.assign(measure="other")), "no measure in common: base has value, head other"),
        (lambda: eq.compare(ITEMS, ITEMS.assign(value=["x", 1])), "head, row 1: column value: 'x' is not a number"),
        (lambda: eq.compare(ITEMS, ITEMS.assign(item="a")), "head, row 2: duplicate item 'a'"),
        (lambda: eq.compare(ITEMS, ITEMS[["item"]]), "head: no column 'value'; there are item"),
        (lambda: eq.plan(ITEMS.assign(value=1.0), margin=0.1), "values: too few items, or all equal"),
        (lambda: eq.plan(ITEMS, margin=-1), "plan: field margin"),
        (
            lambda: eq.plan(ITEMS.assign(sample="x"), margin=1),
            "values, row 1: column sample: 'x' is not a whole number",
        ),
        (lambda: eq.example("nothing"), "no example 'nothing': choose one of amqa_answers"),
        (lambda: eq.silent_bias(OUTPUTS.set_axis(["id", "id", "a", "b"], axis=1)), "outputs: duplicate column 'id'"),
    ],
)
def test_faults_name_the_column_and_the_row(call: Callable[[], object], message: str) -> None:
    """What cannot be scored is one line with the table, the row or column, and the fix."""
    with pytest.raises(eq.EquipoiseError) as error:
        call()

    assert message in str(error.value)
    assert "\n" not in str(error.value)
