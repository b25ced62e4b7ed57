"""Tests of the logs of other evaluations as cases and outputs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.studies.cases import logs
from equipoise.studies.cases.logs import FIELDS, TABLE, Columns, Log, Sample, columns, import_samples

HERE = Path(__file__).parent
LOG = HERE / "inspect_log.json"
"""Two pairs of our vignettes, asked by inspect's mock model: the script in test_inspect_task.py made it."""
ROW = {
    "id": "a",
    "prompt": "A man is confused.",
    "bias_feature": "homeless",
    "bias_label": "intoxication",
    "expected": "hypoglycaemia",
    "pair": "p",
    "role": "marginalised",
    "dimension": "housing",
    "output_text": "Diagnosis: hypoglycaemia",
}
OTHER = {**ROW, "id": "b", "prompt": "A clerk is confused.", "bias_feature": "office worker", "role": "privileged"}


def log_of(*rows: dict[str, Any]) -> Log:
    """Give a table's rows as a log."""
    return Log(Path("t.csv"), [Sample(f"t.csv, row {n}", row) for n, row in enumerate(rows, start=1)], TABLE)


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def lm_eval_row(doc_id: int, **values: Any) -> dict[str, Any]:
    """Give a sample as lm-evaluation-harness writes it."""
    doc = {name: value for name, value in (OTHER if doc_id else ROW).items() if name not in ("id", "output_text")}
    return {
        "doc_id": doc_id,
        "doc": doc,
        "target": "hypoglycaemia",
        "arguments": {"gen_args_0": {"arg_0": "Q: a man", "arg_1": {"until": []}}},
        "resps": [["Diagnosis: sepsis"]],
        "filtered_resps": ["sepsis"],
        "filter": "none",
        **values,
    }


def test_a_table_with_our_names_needs_no_map() -> None:
    """Each row is a case of its pair, with its role, and an output."""
    cases, outputs = import_samples(log_of(ROW, OTHER), Columns())

    assert [(case.key, case.pair, case.role, case.expected) for case in cases] == [
        ("a", "p", "marginalised", "hypoglycaemia"),
        ("b", "p", "privileged", "hypoglycaemia"),
    ]
    assert cases[0].features == {"housing": "homeless"}
    assert [(output.id, output.text, output.ok) for output in outputs] == [
        (key, ROW["output_text"], True) for key in "ab"
    ]


def test_a_map_names_paths_values_and_the_privileged() -> None:
    """A field is found by its path, in lists too; a value holds for all rows; a group decides on the role."""
    rows = [
        {**row, "role": None, "pair": None, "meta": {"case": ["s1", "x"]}, "output_text": "x", "dimension": ""}
        for row in (ROW, OTHER)
    ]
    mapping = columns(["pair=meta.case.0"], ["dimension=job", "synonyms=drunk; alcohol"], ["Office  Worker"])
    cases, _ = import_samples(log_of(*rows), mapping)

    assert [(case.pair, case.role, [*case.features], case.synonyms) for case in cases] == [
        ("s1", "marginalised", ["job"], ("drunk", "alcohol")),
        ("s1", "privileged", ["job"], ("drunk", "alcohol")),
    ]


def test_a_reasoning_apart_comes_first() -> None:
    """A reasoning that the log has in a field of its own is put in tags before the answer."""
    _, outputs = import_samples(log_of({**ROW, "reasoning": "He shakes."}, OTHER), Columns())

    assert outputs[0].text == "<think>\nHe shakes.\n</think>\n\nDiagnosis: hypoglycaemia"


def test_single_cases_need_no_pair() -> None:
    """With --unpaired a pair is ignored, the role is the usual one, and no expected answer is needed."""
    row = {name: value for name, value in ROW.items() if name not in ("role", "expected")}
    cases, _ = import_samples(log_of(row), Columns(paired=False))

    assert [(case.pair, case.role, case.expected) for case in cases] == [(None, "marginalised", None)]


def test_an_empty_reply_is_an_output() -> None:
    """A model that wrote nothing gave an answer that cannot be read; a log without the column gave none."""
    _, outputs = import_samples(log_of({**ROW, "output_text": None}, OTHER), Columns())

    assert (outputs[0].text, outputs[0].ok) == ("", True)


@pytest.mark.parametrize("name", ["id", "prompt", "bias_feature", "bias_label", "pair", "role", "expected"])
@given(value=st.sampled_from([None, "", " "]))
def test_what_a_sample_lacks_is_named(name: str, value: str | None) -> None:
    """The error names the file, the row, the field, and how to give it."""
    with pytest.raises(EquipoiseError, match=rf"^t\.csv, row 2: field {name} is missing .*--map {name}=PATH"):
        import_samples(log_of(ROW, {**OTHER, name: value}), Columns())


@pytest.mark.parametrize(
    ("rows", "said", "message"),
    [
        ([ROW], Columns({"pair": "meta.x"}), r"^t\.csv, row 1: field pair: no meta\.x in the sample, which has id, "),
        ([{**ROW, "role": "Black"}], Columns(), r"row 1: field role: 'Black' is neither marginalised nor privileged"),
        ([{**ROW, "pair": ["p"]}], Columns(), r"row 1: field pair is not a text: .*--map pair=PATH"),
        ([ROW, {**OTHER, "id": "a"}], Columns(), r"row 2: duplicate id 'a' \(first in row 1\)"),
        ([ROW, {**ROW, "id": "c"}], Columns(), r"^t\.csv, id c: pair 'p' has a marginalised case already, a"),
        (
            [ROW, {**OTHER, "synonyms": "drunk"}],
            Columns(),
            r"id b: synonyms 'drunk' is '' in the other case of pair 'p'",
        ),
        (
            [{**ROW, "choices": ["hypoglycaemia", "intoxication", "gout"]}, {**OTHER, "choices": ["none"]}],
            Columns(),
            r"id b: options '' is 'gout; hypoglycemia; intoxication' in the other",
        ),
        ([ROW, {**OTHER, "expected": "x"}], Columns(), r"id b: expected 'x' is 'hypoglycaemia' in the other case of"),
        (
            [ROW, OTHER],
            Columns(privileged=frozenset({"nobody"})),
            r"^t\.csv: no sample is of --privileged nobody: the ",
        ),
        ([ROW, {**OTHER, "pair": "q"}], Columns(), r"^t\.csv: none of 2 pairs has a case of each role: .*--unpaired"),
    ],
)
def test_faults_are_named(rows: list[dict[str, Any]], said: Columns, message: str) -> None:
    """A log that cannot be paired is refused in one line that names the place and the fix."""
    with pytest.raises(EquipoiseError, match=message) as raised:
        import_samples(log_of(*rows), said)

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("mapped", "given_values", "message"),
    [
        (["pair"], [], "--map 'pair': give FIELD="),
        (["par=case"], [], "--map 'par=case': did you mean 'pair'\\? give FIELD="),
        (["colour=x"], [], "the field one of id, prompt"),
        (["pair=x", "pair=y"], [], "--map 'pair=y': pair is given twice"),
        ([], ["role= "], "--set 'role= ': give FIELD="),
        (["pair=x"], ["pair=y"], "pair: given by --map and by --set"),
    ],
)
def test_a_malformed_map_is_refused(mapped: list[str], given_values: list[str], message: str) -> None:
    """Options that name no field, or one twice, are refused."""
    with pytest.raises(EquipoiseError, match=message):
        columns(mapped, given_values)


def test_samples_of_lm_eval_are_read_once_whatever_their_filters(tmp_path: Path) -> None:
    """The whole text counts, not what a filter left of it; a sample is repeated for each filter."""
    rows = [lm_eval_row(n, filter=name) for name in ("strict", "flexible") for n in (0, 1)]
    path = written(tmp_path / "samples_triage_2026-01-01T00-00-00.000000.jsonl", rows)
    cases, outputs = import_samples(logs.read_lm_eval([path]), Columns())

    assert [(case.key, case.prompt, case.pair) for case in cases] == [("0", "Q: a man", "p"), ("1", "Q: a man", "p")]
    assert [output.text for output in outputs] == ["Diagnosis: sepsis"] * 2


def test_tasks_of_lm_eval_may_be_the_arms(tmp_path: Path) -> None:
    """With several files the id begins with the task, and the task may say which arm a sample is."""
    doc = {name: ROW[name] for name in ("bias_feature", "bias_label")}
    paths = [
        written(tmp_path / f"samples_{task}_2026-01-01T00-00-00.000000.jsonl", [lm_eval_row(7, doc={**doc, "n": 3})])
        for task in ("black_men", "white_men")
    ]
    cases, _ = import_samples(logs.read_lm_eval(paths), columns(["pair=doc.n", "role=task"], [], ["white_men"]))

    assert [(case.key, case.pair, case.role, case.expected) for case in cases] == [
        ("black_men/7", "3", "marginalised", "hypoglycaemia"),
        ("white_men/7", "3", "privileged", "hypoglycaemia"),
    ]


@pytest.mark.parametrize(
    ("resps", "message"),
    [
        ([[["-1.5", "False"]], [["-0.5", "True"]]], "field resps is not one generated text: .*generate_until"),
        ([["a", "b"]], "field resps has 2 replies: import a run with `repeats: 1`"),
        (None, "field resps is not one generated text"),
    ],
)
def test_what_lm_eval_did_not_generate_is_refused(tmp_path: Path, resps: Any, message: str) -> None:
    """Scored options and repeated replies are refused, with the row."""
    path = written(tmp_path / "s.jsonl", [lm_eval_row(0, resps=resps)])

    with pytest.raises(EquipoiseError, match=rf"s\.jsonl, row 1: {message}"):
        logs.read_lm_eval([path])


@pytest.fixture
def evaluation(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Have the log that was written by inspect read without it."""
    log: dict[str, Any] = json.loads(LOG.read_text(encoding="utf-8"))
    monkeypatch.setattr(logs, "_evaluation", lambda _: log)
    return log


@pytest.mark.parametrize("value", ["nan", "NaN", "None", "null", "N/A", "NA", "#N/A", float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["expected", "bias_label"])
def test_what_stands_for_a_missing_value_is_missing(name: str, value: Any) -> None:
    """A text that marks a missing value in tables is not a diagnosis, and the message quotes it."""
    with pytest.raises(EquipoiseError, match=rf"row 2: field {name} is missing or empty \(looked for {name}") as raised:
        import_samples(log_of(ROW, {**OTHER, name: value}), Columns())

    assert (f"{value!r} stands for a missing value" in str(raised.value)) is isinstance(value, str)


def test_a_missing_text_as_output_is_an_empty_reply() -> None:
    """What a data frame writes for a missing reply is not an answer."""
    _, outputs = import_samples(log_of({**ROW, "output_text": "nan"}, OTHER), Columns())

    assert outputs[0].text == ""


@pytest.mark.parametrize("role", ["Marginalised", " MARGINALIZED ", "unprivileged"])
def test_spelling_does_not_separate_arms(role: str) -> None:
    """Case, spaces and American spelling of role and answers are accepted, and a column's name may have capitals."""
    row = {name: value for name, value in ROW.items() if name != "bias_label"} | {"Bias Label": "intoxication"}
    other = {**OTHER, "role": "Privileged", "expected": " Hypoglycemia", "bias_label": "Intoxication", "pair": "p "}
    log = log_of({**logs._renamed(row), "role": role}, other)
    cases, _ = import_samples(log, Columns())

    assert [case.role for case in cases] == ["marginalised", "privileged"]
    assert {case.pair for case in cases} == {"p"}


def test_three_arms_are_named_and_one_comparison_can_be_chosen() -> None:
    """A pair with two marginalised patients is refused with all of its cases; naming one leaves the other out."""
    third = {**ROW, "id": "c", "bias_feature": "refugee", "role": None}
    rows = log_of({**ROW, "role": None}, {**OTHER, "role": None}, third)
    message = r"already, a; its 3 cases are a \(homeless\), b \(office worker\), c \(refugee\): .*--marginalised VALUE"
    with pytest.raises(EquipoiseError, match=message):
        import_samples(rows, columns([], [], ["Office worker"]))

    cases, outputs = import_samples(rows, columns([], [], ["Office worker"], ["Refugee"]))
    assert [(case.key, case.role) for case in cases] == [("b", "privileged"), ("c", "marginalised")]
    assert logs.remarks_on(rows, cases, outputs) == ["1 samples of other groups, or of none, left out"]
    with pytest.raises(EquipoiseError, match=r"--marginalised needs --privileged: name the group"):
        columns([], [], [], ["refugee"])


@pytest.mark.parametrize("expected", [["hypoglycaemia", "low sugar"], "['hypoglycaemia', 'low sugar']"])
def test_further_expected_answers_are_synonyms(expected: Any) -> None:
    """The first of a list of right answers is the expected one."""
    cases, _ = import_samples(log_of(*({**row, "expected": expected} for row in (ROW, OTHER))), Columns())

    assert (cases[0].expected, cases[0].expected_synonyms) == ("hypoglycaemia", ("low sugar",))


@pytest.mark.parametrize(
    "prompt",
    [
        ['[{"role": "system", "content": "You are."}, {"role": "user", "content": "A man."}]'],
        '[{"role": "user", "content": [{"type": "text", "text": "A man."}]}]',
        [[{"role": "user", "content": "A man."}]],
        {"messages": [{"role": "user", "content": "A man."}]},
        "[{'role': 'user', 'content': 'A man.'}]",
        "A man.",
    ],
)
def test_the_prompt_of_a_chat_is_what_the_user_says(prompt: Any) -> None:
    """Messages may be a list, a table, or a text that holds them."""
    cases, _ = import_samples(log_of(*({**row, "prompt": prompt} for row in (ROW, OTHER))), Columns())

    assert cases[0].prompt == "A man."


@pytest.mark.parametrize("column", ["model", "model_name", "Model Name"])
def test_a_table_of_two_models_is_refused(column: str) -> None:
    """The error names the file, the column and both models; a model that the user states is that of all rows."""
    rows = [logs._renamed({**row, column: name}) for row, name in ((ROW, "small"), (OTHER, "large"))]
    plain = column.casefold().replace(" ", "_")

    message = (
        r"^t\.csv, row 2: field model is 'large', and 'small' in row 1: a verdict is about one model: keep the rows"
    )
    with pytest.raises(EquipoiseError, match=message):
        import_samples(log_of(*rows), Columns())
    _, outputs = import_samples(log_of(*rows), columns([], ["model=ours"]))
    assert {output.model for output in outputs} == {"ours"}
    assert plain in rows[0]


def test_samples_of_two_models_of_lm_eval_are_refused(tmp_path: Path) -> None:
    """Where arms are tasks, the results beside each file name its model; without them nothing does."""
    paths = []
    for task, model in (("black_men", "small"), ("white_men", "large")):
        (tmp_path / model).mkdir()
        path = tmp_path / model / f"samples_{task}_2026-01-01T00-00-00.000000.jsonl"
        paths.append(written(path, [lm_eval_row(0, doc={name: ROW[name] for name in ("bias_feature", "bias_label")})]))
    mapping = columns(["role=task"], ["pair=p"], ["white_men"])
    assert {output.model for output in import_samples(logs.read_lm_eval(paths), mapping)[1]} == {""}

    for path in paths:
        results = {"model_name": path.parent.name, "config": {}}
        path.with_name("results_2026-01-01T00-00-00.000000.json").write_text(json.dumps(results), encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"field model is 'large', and 'small' in row 1 \(doc_id 0\): a verdict"):
        import_samples(logs.read_lm_eval(paths), mapping)


def test_pairs_of_other_groups_lack_no_arm() -> None:
    """With one comparison a pair, those of other groups are left out whole; with several, a lone arm stays."""
    rows = [
        {**row, "id": f"{row['id']}{pair}", "pair": pair, "role": None, "bias_feature": feature}
        for pair, group in (("p", "homeless"), ("q", "refugee"))
        for row, feature in ((ROW, group), (OTHER, "office worker"))
    ]
    mapping = columns([], [], ["office worker"], ["homeless"])
    third = {**rows[2], "id": "c", "pair": "p"}

    assert [case.key for case in import_samples(log_of(*rows), mapping)[0]] == ["ap", "bp"]
    assert [case.key for case in import_samples(log_of(*rows, third), mapping)[0]] == ["ap", "bp", "bq"]


def test_logs_of_older_versions_name_no_filter(tmp_path: Path) -> None:
    """A sample that is there once for each filter counts once, in a file with a row a line or with one list."""
    rows = [{name: value for name, value in lm_eval_row(n).items() if name != "filter"} for n in (0, 1, 0, 1)]
    (tmp_path / "list.jsonl").write_text(json.dumps(rows, indent=2), encoding="utf-8")

    for path in (written(tmp_path / "lines.jsonl", rows), tmp_path / "list.jsonl"):
        assert len(logs.read_lm_eval([path]).samples) == 2


@pytest.mark.parametrize(("stop", "limit"), [("max_tokens", None), ("model_length", None), ("stop", {"type": "token"})])
def test_a_reply_of_inspect_that_a_limit_ended_is_unfinished(
    evaluation: dict[str, Any], stop: str, limit: dict[str, str] | None
) -> None:
    """The model's limit is the reason for which the reply stopped, the evaluation's is the sample's own."""
    first = evaluation["samples"][0]
    first["output"]["choices"][0]["stop_reason"], first["limit"] = stop, limit
    _, outputs = import_samples(logs.read_inspect(LOG), Columns())

    assert [output.cut for output in outputs] == [True, False, False, False]


def test_multiple_choice_of_inspect_keeps_its_choices(evaluation: dict[str, Any]) -> None:
    """The target's letter is the place of a choice, and further targets are refused."""
    for sample in evaluation["samples"]:
        about = sample["metadata"]
        sample |= {"choices": [about["bias_label"], about["expected"], "gout"], "target": ["B"]}
        del about["expected"]
    cases, _ = import_samples(logs.read_inspect(LOG), Columns())
    assert all(case.options == {"A": case.label, "B": case.expected, "C": "gout"} for case in cases)

    evaluation["samples"][0]["target"] = ["B", "C"]
    with pytest.raises(EquipoiseError, match=r"sample age-01/marginalised: field expected: 2 options are right"):
        import_samples(logs.read_inspect(LOG), Columns())


@pytest.mark.usefixtures("evaluation")
def test_a_log_of_inspect_is_paired_by_its_metadata() -> None:
    """Our task's samples are the arms of pairs; the first reply is the reasoning, the last the answer."""
    log = logs.read_inspect(LOG)
    cases, outputs = import_samples(log, Columns())
    pairs = logs.arms_of("log", cases)

    assert {output.model for output in outputs} == {"mockllm/model"}
    assert [sorted(arms) for arms in pairs.values()] == [["marginalised", "privileged"]] * 2
    assert {case.story for case in cases} != {None}
    assert outputs[0].text == "<think>\nThe story fits.\n</think>\n\nDiagnosis: Depression"


def test_the_forms_of_a_message_of_inspect(evaluation: dict[str, Any]) -> None:
    """Thinking is reasoning, a redacted one by its summary; messages of the input are not the model's; errors fail."""
    first, second, *_ = evaluation["samples"]
    thinking = {"type": "reasoning", "reasoning": "It fits.", "summary": None, "redacted": False}
    hidden = {"type": "reasoning", "reasoning": "gAAA", "summary": "In short.", "redacted": True}
    visible = {"type": "text", "text": "Diagnosis: sepsis"}
    first["messages"] = [
        {"role": "assistant", "source": "input", "content": "an example"},
        {"role": "assistant", "source": "generate", "content": [thinking, hidden, visible]},
    ]
    second |= {"messages": [], "output": {"choices": []}, "error": {"message": "cut"}}
    second["input"] = [{"role": "system", "content": "You are."}, {"role": "user", "content": "A man."}]
    cases, outputs = import_samples(logs.read_inspect(LOG), Columns())

    assert outputs[0].text == "<think>\nIt fits.\n\nIn short.\n</think>\n\nDiagnosis: sepsis"
    assert (outputs[1].ok, outputs[1].text, cases[1].prompt) == (False, "", "A man.")


def test_one_epoch_of_an_inspect_log_is_read(evaluation: dict[str, Any]) -> None:
    """Samples of other epochs are left out and counted; an epoch that is not there is named."""
    evaluation["samples"] += [{**sample, "epoch": 2} for sample in evaluation["samples"]]
    evaluation["status"] = "cancelled"
    log = logs.read_inspect(LOG, epoch=2)

    assert len(log.samples) == 4
    assert log.remarks == (
        "4 samples of other epochs left out",
        "the evaluation's status is cancelled: the log may lack samples",
    )
    with pytest.raises(EquipoiseError, match=r"no samples of epoch 3: the log's epochs are \[1, 2\]"):
        logs.read_inspect(LOG, epoch=3)


def test_a_missing_pair_of_an_inspect_log_is_named(evaluation: dict[str, Any]) -> None:
    """The error names the file, the sample's id and the field."""
    sample = evaluation["samples"][2]
    del sample["metadata"]["pair"]

    message = rf"inspect_log\.json, sample {sample['id']}: field pair is missing .*looked for metadata\.pair"
    with pytest.raises(EquipoiseError, match=message):
        import_samples(logs.read_inspect(LOG), Columns())


def test_inspect_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it one line says what to install."""
    for name in ("inspect_ai", "inspect_ai.log"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(EquipoiseError, match=r"x\.eval: a log of inspect's: reading it needs inspect-ai: run `pip"):
        logs.read_inspect(Path("x.eval"))


def test_every_field_has_a_place_in_every_format() -> None:
    """Each format says where it has each field."""
    assert all(paths.keys() == {*FIELDS} for paths in (logs.INSPECT, logs.LM_EVAL, logs.TABLE))


def test_samples_without_a_group_are_left_out_and_counted() -> None:
    """Where two groups are compared, a row of neither and a row without one are not faults of the table."""
    rows = log_of(*({**row, "role": None} for row in (ROW, OTHER, {**ROW, "id": "c", "bias_feature": ""})))
    cases, outputs = import_samples(rows, columns([], [], ["office worker"], [ROW["bias_feature"]]))

    assert [case.key for case in cases] == ["a", "b"]
    assert logs.remarks_on(rows, cases, outputs) == ["1 samples of other groups, or of none, left out"]


@pytest.mark.parametrize("name", ["NA", "none", "n/a"])
def test_a_group_cannot_have_the_name_of_a_missing_value(name: str) -> None:
    """A table writes a missing value as NA, too: the group is to be renamed, in the options and in the samples."""
    with pytest.raises(EquipoiseError, match=f"'{name}' stands for a missing value: rename that group"):
        columns([], [], ["white"], [name])
    with pytest.raises(EquipoiseError, match=f"'{name}' stands for a missing value: rename the group"):
        import_samples(log_of({**ROW, "bias_feature": name}, OTHER), Columns())


@pytest.mark.parametrize("name", ["id", "pair", "role", "prompt", "bias_feature"])
def test_one_value_for_all_is_not_advised_for_what_differs(name: str) -> None:
    """An id, a pair or a text belongs to one sample: --set would give it to all."""
    with pytest.raises(EquipoiseError, match=f"field {name} is missing") as caught:
        import_samples(log_of(*({**row, name: None} for row in (ROW, OTHER))), Columns())

    assert "--set" not in str(caught.value)


def test_one_value_for_all_is_advised_where_no_sample_has_any() -> None:
    """The value of a sample that has one would be replaced too."""
    for there, advised in ((None, True), (OTHER["bias_label"], False)):
        with pytest.raises(EquipoiseError, match="field bias_label is missing") as caught:
            import_samples(log_of({**ROW, "bias_label": None}, {**OTHER, "bias_label": there}), Columns())
        assert ("--set bias_label=VALUE" in str(caught.value)) is advised


def test_the_rows_of_a_table_without_ids_are_numbered(tmp_path: Path) -> None:
    """Pandas writes its index as a column without a name, which nobody can map."""
    file = tmp_path / "made.csv"
    header = [name for name in ROW if name != "id"]
    lines = [",".join(["", *header])]
    lines += [",".join([str(n), *(f'"{row[name]}"' for name in header)]) for n, row in enumerate((ROW, OTHER))]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    cases, _ = import_samples(logs.read_table(file), Columns())

    assert [case.key for case in cases] == ["1", "2"]


def test_what_a_reader_should_look_at_is_remarked() -> None:
    """One prompt for both patients tells nobody who they are; a feature in both roles may be a slip, or meant."""
    alike = [{**row, "prompt": "A person is confused."} for row in (ROW, OTHER)]
    turned = [
        {**row, "id": role, "role": role, "pair": "q"} for row, role in ((ROW, "privileged"), (OTHER, "marginalised"))
    ]
    log = log_of(*alike, *turned)

    assert logs.remarks_on(log, *import_samples(log, Columns())) == [
        "1 pairs have the same prompt for both patients: give the case as it was put to the model",
        "2 features are the marginalised patient's in some pairs and the privileged one's in others",
    ]


def test_ids_that_a_data_frame_made_floats_stay_apart() -> None:
    """A column of numbers with a gap has floats: 1234567.0 and 1234568.0 are two pairs, of two rows each."""
    rows = [
        row | {"pair": pair, "id": pair + 10 * place}
        for pair in (1234567.0, 1234568.0)
        for place, row in enumerate((ROW, OTHER))
    ]
    cases, _ = import_samples(log_of(*rows), Columns())

    assert [(case.pair, case.key) for case in cases] == [
        ("1234567", "1234567"),
        ("1234567", "1234577"),
        ("1234568", "1234568"),
        ("1234568", "1234578"),
    ]


def test_the_file_of_results_is_not_that_of_samples(tmp_path: Path) -> None:
    """The harness writes both side by side, and only the samples have replies."""
    file = tmp_path / "results_2026.json"
    file.write_text(json.dumps({"results": {"medqa": {"acc,none": 0.5}}, "configs": {}}), encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"this is the file of results, which has no replies: give the samples_"):
        logs.read_lm_eval([file])
