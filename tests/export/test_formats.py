"""Tests of the exports of a run: each format's own validator accepts it, and no verdict is a bare number."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import huggingface_hub
import jsonschema
import pytest
import yaml
from exported import ANSWERS, NOW, USE

from equipoise.core.display import number
from equipoise.export import bibtex, cards, croissant, eee, hazard, junit, tables, tripod
from equipoise.export.formats import FORMATS
from equipoise.export.run import BY_DEVELOPER
from equipoise.export.tables import Table, latex, latex_text, svg

if TYPE_CHECKING:
    from equipoise.export.run import Assessment, Run

SCHEMAS = os.environ.get("EQUIPOISE_SCHEMAS")
published = pytest.mark.skipif(not SCHEMAS, reason="EQUIPOISE_SCHEMAS does not name the folder of published schemas")
ROOT = Path(__file__).parents[2]
WITH_VERDICTS = ("junit", "eee", "hf", "chai", "tripod", "latex", "bibtex")
"""Formats in text that state every verdict."""


def text_of(run: Run, name: str) -> str:
    """Join the files of a format in text."""
    return "\n".join(str(content) for content in FORMATS[name].files(run).values())


def study(run: Run, name: str) -> Assessment:
    """Find a study."""
    return next(assessment for assessment in run.studies if assessment.study.name == name)


@pytest.mark.parametrize("name", WITH_VERDICTS)
def test_verdicts_have_words_interval_margin_and_reason(run: Run, name: str) -> None:
    """Wherever a verdict is exported, its whole sentence is."""
    text = text_of(run, name)
    if name == "chai":
        text = "".join(ET.fromstring(text).itertext())  # noqa: S314  (ours)
    elif name == "hf":
        text += "".join(entry["notes"] for entry in yaml.safe_load(text.partition("\n## ")[0]))
    for assessment in run.studies:
        written = latex_text(assessment.claim) if name in {"latex", "bibtex"} else assessment.claim.replace("|", "\\|")
        assert written in text

    # The sentence itself: interval and margin of the figure, and the reason.
    row = study(run, "stigma").rows[0][1]
    claim = study(run, "stigma").claim
    assert row.ci_low is not None
    assert row.ci_high is not None
    assert f"({number(row.ci_low)} to {number(row.ci_high)}" in claim
    assert "against a margin of 0.25" in claim
    assert ANSWERS["stigma"][2] in claim


def test_a_bias_fails_and_doubt_is_skipped(run: Run) -> None:
    """JUnit: bias is a failure, no bias passes, what is undecided or has no verdict is skipped."""
    root = ET.fromstring(junit.files(run)["junit.xml"])  # noqa: S314  (ours)
    outcomes = {
        suite.get("name"): [
            next((child.tag for child in case if child.tag in {"failure", "skipped"}), "passed")
            for case in suite.iter("testcase")
        ]
        for suite in root
    }

    # A case for the verdict, and one for its single component; the exam has no margin, so no component.
    assert outcomes == {
        "vignettes": ["failure", "failure"],
        "questions": ["passed", "passed"],
        "exam": ["skipped"],
        "stigma": ["skipped", "skipped"],
        # Within its margin, but the study cannot tell.
        "decisions": ["skipped", "skipped"],
    }
    assert {name: root.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "9",
        "failures": "2",
        "skipped": "5",
    }


def test_the_action_reads_the_verdicts(run: Run) -> None:
    """The gate of our action finds each study's verdict in the file, and leaves out the exam, which has none."""
    gate = runpy.run_path(str(ROOT / ".github/gate.py"))
    verdicts = gate["verdicts"](junit.files(run)["junit.xml"])

    assert {name: gate["WORDS"][kind] for name, (kind, _) in verdicts.items()} == {
        name: word for name, (word, *_) in ANSWERS.items()
    }
    assert gate["exit_code"](verdicts) == 1


def test_junit_names_the_intended_use(run: Run) -> None:
    """The use is a property of each suite, character for character."""
    root = ET.fromstring(junit.files(run)["junit.xml"])  # noqa: S314  (ours)
    uses = [element.get("value") for element in root.iter("property") if element.get("name") == "intended use"]

    assert uses == [USE] * len(run.studies)


def test_undefined_figures_are_left_out_and_counted(run: Run) -> None:
    """Every Eval Ever: what is left out is counted, and every result that remains has a score."""
    vignettes = study(run, "vignettes")
    figure, row = vignettes.rows[0]
    without = vignettes._replace(rows=[(figure, row.model_copy(update={"estimate": None})), *vignettes.rows[1:]])
    whole, less = (
        json.loads(eee.files(version)["every_eval_ever.json"])
        for version in (run, run._replace(studies=[without, *run.studies[1:]]))
    )
    counts, fewer = (value["source_metadata"]["additional_details"] for value in (whole, less))

    assert figure.null is not None
    assert (counts["undefined_left_out"], fewer["undefined_left_out"]) == ("0", "1")
    assert len(whole["evaluation_results"]) - len(less["evaluation_results"]) == 1
    assert int(counts["figures"]) == sum(len(assessment.rows) for assessment in run.studies)
    assert len(whole["evaluation_results"]) + int(counts["without_direction_left_out"]) == int(counts["figures"])


def test_the_level_of_an_interval_is_that_of_the_settings(run: Run) -> None:
    """An interval of Every Eval Ever has the level 1 − alpha, with alpha 0.05."""
    value = json.loads(eee.files(run)["every_eval_ever.json"])
    levels = {
        result["score_details"]["uncertainty"]["confidence_interval"]["confidence_level"]
        for result in value["evaluation_results"]
    }

    assert levels == {0.95}


@published
def test_every_eval_ever_validates(run: Run) -> None:
    """The published schema has no complaint."""
    schema = json.loads((Path(str(SCHEMAS)) / "every_eval_ever.schema.json").read_text(encoding="utf-8"))
    value = json.loads(eee.files(run)["every_eval_ever.json"])

    assert [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(value)] == []


def test_the_hub_reads_the_results(run: Run) -> None:
    """The hub's own client parses an entry for each verdict; the exam, which has none, is left out."""
    written = cards.hub_files(run)[".eval_results/equipoise.yaml"]
    entries = huggingface_hub.parse_eval_result_entries(yaml.safe_load(written))

    assert {entry.task_id: entry.value for entry in entries} == {
        name: study(run, name).rows[0][1].estimate for name in ANSWERS
    }
    assert all(word in str(entry.notes).lower() for entry in entries for word in [ANSWERS[entry.task_id][0]])
    assert "1 of 5 studies are left out" in written


@published
@pytest.mark.skipif(not find_spec("xmlschema"), reason="xmlschema is not installed: it is in the group dev")
def test_chais_card_validates(run: Run) -> None:
    """The published schema, without the signature that is not part of it, has no complaint."""
    import xmlschema

    schema = (Path(str(SCHEMAS)) / "chai-model-card-v0.2.xsd").read_text(encoding="utf-8")
    schema = re.sub(r"<xs:import[^>]*/>|<xs:element ref=\"ds:Signature\"[^>]*/>", "", schema)

    xmlschema.XMLSchema(schema).validate(cards.chai_files(run)["chai_applied_model_card.xml"])


def test_chais_card_leaves_the_rest_to_the_developer(run: Run) -> None:
    """Fairness is from the run, with a result for each verdict and component; the other metrics are to be completed."""
    root = ET.fromstring(cards.chai_files(run)["chai_applied_model_card.xml"])  # noqa: S314  (ours)
    results = {
        metric: [json.loads(str(element.text)) for element in root.findall(f".//{{*}}{metric}//{{*}}ValueJson")]
        for metric in ("FairnessEquity", "SafetyReliability", "UsefulnessUsabilityEfficacy")
    }
    goals = {metric: root.findtext(f".//{{*}}{metric}/{{*}}MetricGoal") for metric in results}

    assert root.findtext(".//{*}IntendedUseAndWorkflow") == USE
    # Five verdicts, four of which have a component.
    assert len(results["FairnessEquity"]) == 9
    assert all(value["verdict"] for value in results["FairnessEquity"])
    assert results["SafetyReliability"] == results["UsefulnessUsabilityEfficacy"] == [None]
    assert goals["SafetyReliability"] == goals["UsefulnessUsabilityEfficacy"] == BY_DEVELOPER


@pytest.mark.skipif(not find_spec("mlcroissant"), reason="mlcroissant is not installed: it is in the group dev")
def test_croissant_validates_and_loads(run: Run, tmp_path: Path) -> None:
    """Mlcroissant has neither error nor warning, and gives every row of a folder that is written as it is."""
    for name, content in croissant.files(run).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    # In a process of its own, since what it imports warns.
    program = (
        "import json, sys, mlcroissant\n"
        "dataset = mlcroissant.Dataset(sys.argv[1])\n"
        "issues = dataset.metadata.issues\n"
        "rows = [len(list(dataset.records(record_set.uuid))) for record_set in dataset.metadata.record_sets]\n"
        "print(json.dumps([sorted(issues.errors), sorted(issues.warnings), rows]))\n"
    )
    folders = sorted(tmp_path.iterdir())
    for folder in folders:
        command = [sys.executable, "-c", program, str(folder / "croissant.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        files = [path for path in sorted(folder.iterdir()) if path.suffix == ".jsonl"]
        lines = [path.read_bytes().count(b"\n") for path in files]

        assert json.loads(done.stdout.splitlines()[-1]) == [[], [], lines]
    assert [folder.name for folder in folders] == sorted(
        [*(assessment.study.name for assessment in run.studies), "items-authored"]
    )


def test_croissant_copies_the_files(run: Run) -> None:
    """The files are those of the run, byte for byte, and the fields say what is nested."""
    files = croissant.files(run)
    described = json.loads(files["exam/croissant.json"])
    (records,) = (record_set for record_set in described["recordSet"] if record_set["name"] == "cases")
    fields = {field["name"]: field for field in records["field"]}

    assert files["exam/cases.jsonl"] == (run.data / "exam/built/cases.jsonl").read_bytes()
    assert described["license"] == ["MIT"]
    # Every row states that it is authored.
    assert described["rai:personalSensitiveInformation"] == croissant.NOBODY
    assert fields["cases/text"]["dataType"] == "sc:Text"
    assert [field["name"] for field in fields["cases/options"]["subField"]] == ["cases/options/A", "cases/options/B"]
    assert [field["dataType"] for field in fields["cases/of"]["subField"]] == ["sc:Integer"]
    # Always empty, so that its type is not known.
    assert "cases/no" not in fields


def test_the_checklist_has_nineteen_items(run: Run) -> None:
    """TRIPOD-LLM has 19 items, each text of the run answers one of them, and what only authors know is theirs."""
    items = tripod.load_yaml(tripod.FILE, tripod.Checklist).items
    rows = [line for line in tripod.files(run)["tripod_llm.md"].splitlines() if re.match(r"\| \d", line)]

    assert list(dict.fromkeys(re.sub(r"[a-z]", "", item.number) for item in items)) == [str(n) for n in range(1, 20)]
    assert len({item.number for item in items}) == len(items) == len(rows)
    assert {item.answer for item in items if item.answer} == {*tripod.answers(run)}
    # Funding.
    assert [tripod.AUTHORS in row for row in rows if row.startswith("| 14a ")] == [True]
    assert [USE.replace("|", "\\|") in row for row in rows if row.startswith("| 19d ")] == [True]


def test_a_hazard_for_each_finding(run: Run) -> None:
    """A row for what is beyond its margin or open, and for a study that cannot tell; severity is left empty."""
    text = hazard.files(run)["hazard_log.csv"]
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))

    assert [(row["hazard"].partition(":")[0] == "not excluded", row["id"]) for row in rows] == [
        (False, "EQ-001"),
        (True, "EQ-002"),
        (True, "EQ-003"),
    ]
    assert [
        study(run, name).claim in row["evidence"]
        for name, row in zip(("vignettes", "stigma", "decisions"), rows, strict=True)
    ] == [True] * 3
    assert {row[column] for row in rows for column in hazard.EMPTY} == {""}
    assert {row["intended use"] for row in rows} == {USE}


def test_latex_escapes_what_it_would_read(run: Run) -> None:
    """Each row of a table has the cells of its head, and no character is left that pdfLaTeX cannot print."""
    text = latex(Table("t", USE, ("a & b", "c"), [("50 %", "x_1 − d′ ± {y}"), ("#", "~^\\")]))
    body = text.partition("\\endhead\n")[2].partition("\n\\bottomrule")[0]

    assert body.splitlines() == [
        r"50 \% & x\_1 $-$ d$'$ $\pm$ \{y\} \\",
        r"\# & \textasciitilde{}\textasciicircum{}\textbackslash{} \\",
    ]
    assert r"<A\&E> letters" in text
    # Latin letters, which its default encoding has.
    assert max(tables.latex_files(run)["tables.tex"]) < "\u0180"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_is_typeset(run: Run, tmp_path: Path) -> None:
    """A document that loads what the first line names and includes the tables becomes a PDF."""
    text = tables.latex_files(run)["tables.tex"]
    needs = text.partition("\n")[0].removeprefix("% Needs: ")
    document = f"\\documentclass{{article}}\n{needs}\n\\begin{{document}}\n{text}\n\\end{{document}}\n"
    (tmp_path / "run.tex").write_text(document, encoding="utf-8")

    subprocess.run(["pdflatex", "-halt-on-error", "run.tex"], cwd=tmp_path, check=True, capture_output=True)

    assert (tmp_path / "run.pdf").read_bytes().startswith(b"%PDF")


def test_drawings_are_well_formed(run: Run) -> None:
    """A table is drawn as XML with a text for each line, and as PNG and PDF beside the plots."""
    drawn = ET.fromstring(svg(Table("t", "A <caption>", ("a", "b"), [("x & y", "word " * 20)])))  # noqa: S314  (ours)
    plots = sum(len(assessment.study.plots) for assessment in run.studies)
    png, pdf = FORMATS["png"].files(run), FORMATS["pdf"].files(run)

    # The caption, two heads, one line of the first cell; 100 characters in lines of at most 44 are three lines.
    assert [element.text for element in drawn.findall(".//{*}text")][:4] == ["A <caption>", "a", "b", "x & y"]
    assert len(drawn.findall(".//{*}text")) == 7
    # The verdicts, and a table for each study.
    assert len(png) == len(pdf) == 1 + len(run.studies) + plots
    assert {content[:4] for content in png.values()} == {b"\x89PNG"}
    assert {content[:4] for content in pdf.values()} == {b"%PDF"}


def test_bibtex_has_two_entries(run: Run) -> None:
    """The software and the run, in balanced braces, dated by the export where the run has no date."""
    text = bibtex.files(run)["equipoise.bib"]
    bare = text.replace("\\{", "").replace("\\}", "")

    assert re.findall(r"^@(\w+)\{([\w-]+),", text, re.MULTILINE) == [
        ("software", "equipoise"),
        ("misc", "equipoise-phantom_fair"),
    ]
    assert bare.count("{") == bare.count("}")
    assert text.count(f"year = {{{NOW:%Y}}}") == 2


def test_equal_runs_give_equal_files(run: Run) -> None:
    """No format but for the time of export depends on anything outside the run."""
    again: dict[str, Any] = {name: form.files(run) for name, form in FORMATS.items() if name not in {"png", "pdf"}}

    assert again == {name: FORMATS[name].files(run) for name in again}
