"""Tests of `equipoise blind`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from builders import ROLES, judgement, response, vignette
from equipoise.cli.app import app
from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.core.sheets import table_text
from equipoise.judge.rating import content
from equipoise.judge.rating.agreement import LISTED
from equipoise.judge.rating.blind import COLUMNS, KeyRow, read_table
from equipoise.judge.rating.labelled import Label, label_file
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import Vignette

if TYPE_CHECKING:
    from typer.testing import Result

    from equipoise.materials.judgement import Consideration

KIND = "dimension: race\nsubject: ethnic origin\nkind: [race]\nfeatures:\n  black: {wordings: [black]}\n"
MODEL = "smollm2"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a run of eight pairs, the judge finding a feature weighed in every fourth response; work there."""
    vignettes: list[Vignette] = []
    responses: list[Response] = []
    judgements: list[Judgement] = []
    for number in range(8):
        for role in ROLES:
            key = f"race-{number}/{role}"
            considered: Consideration = "weighed" if number % 2 and role == "marginalised" else "none"
            vignettes.append(vignette(f"race-{number}", role))
            responses.append(response(key, f"=cmd|' /C calc'!A0\nThe toe, {len(responses)} times.", "Gout."))
            window = "=[b]He\x1b[31m is Black." if considered != "none" else ""
            judgements.append(judgement(key, considered, window=window))
    jsonl.write(tmp_path / "data/vignettes/built/vignettes.jsonl", vignettes)
    jsonl.write(tmp_path / "data/vignettes/responses.jsonl", responses)
    jsonl.write(tmp_path / "data/vignettes/judgements.jsonl", judgements)
    jsonl.write_text(tmp_path / "data/features/race.yaml", KIND)
    jsonl.write_text(tmp_path / "params.yaml", f"model: {MODEL}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def blind(*arguments: str) -> Result:
    """Run a command of the group."""
    return CliRunner().invoke(app, ["blind", *arguments])


def refused(*arguments: str) -> str:
    """Run a command that fails, and give its one line."""
    result = blind(*arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    return str(result.exception.code) if isinstance(result.exception.code, str) else result.output


def rate(folder: Path, name: str, **changes: tuple[str, str]) -> str:
    """Fill the exported sheet with the judge's findings but for some responses (by their row), and save it."""
    judgements = {row.key: row for row in jsonl.read(folder / "data/vignettes/judgements.jsonl", Judgement)}
    key = {row.key: judgements[row.response] for row in jsonl.read(folder / "ratings.key.jsonl", KeyRow)}
    rows = [cells for _, cells in read_table("ratings.csv", jsonl.read_text(folder / "ratings.csv"), COLUMNS)]
    for cells in rows:
        judge = key[cells["row"]]
        answers = changes.get(cells["row"], ("yes" if judge.mentioned else "no", judge.considered))
        cells.update(zip(("mentioned", "considered"), answers, strict=True))
    jsonl.write_text(folder / name, table_text(COLUMNS, rows))
    return name


def test_no_cell_tells_whose_the_reasoning_is(run: Path) -> None:
    """The sheet has every response, and neither model, arm, pair, feature nor anything that is computed."""
    printed = blind("export").stdout
    text = (run / "ratings.csv").read_text(encoding="utf-8")

    assert "ratings.csv: 16 of 16 responses to rate (the judge found 12 none, 4 weighed)" in printed
    assert text.startswith("\ufeff")
    assert not any(word in text.casefold() for word in (MODEL, *ROLES, "race", "black", "white", "weighed"))
    rows = [cells for _, cells in read_table("ratings.csv", text, COLUMNS)]
    assert {cells["kind"] for cells in rows} == {"ethnic origin"}
    assert text.count("\"'=cmd|") == len(rows) == 16


@pytest.mark.usefixtures("run")
def test_what_was_exported_is_printed_as_json() -> None:
    """With --json standard output is one object: both files with their rows, and what was drawn."""
    told = json.loads(blind("export", "--json").stdout)

    assert told == {
        "written": {"ratings.csv": 16, "ratings.key.jsonl": 16},
        "of": 16,
        "drawn": {"none": 12, "weighed": 4},
        "too_long_for_excel": [],
    }


def test_ratings_meet_the_judge(run: Path) -> None:
    """Ratings like the judge's agree with it; one that differs is listed, its sentence neutral in the CSV."""
    blind("export")
    key = {row.response: row.key for row in jsonl.read(run / "ratings.key.jsonl", KeyRow)}
    rate(run, "anna.csv", **{key["race-0/privileged"]: ("", "")})
    rate(run, "ben.csv", **{key["race-1/marginalised"]: ("yes", "none")})
    report: dict[str, Any] = json.loads(blind("import", "anna.csv", "ben.csv", "--out", "d.csv", "--json").stdout)

    assert report["raters"]["anna"]["unrated"] == 1
    assert report["raters"]["anna"]["three_way"]["kappa"]["estimate"] == 1.0
    # Of 16: agreed 15; by chance (3 x 4 + 13 x 12) / 256 = 168/256; (240 - 168) / (256 - 168) = 9/11.
    assert report["raters"]["ben"]["considered"]["kappa"]["estimate"] == pytest.approx(9 / 11, abs=1e-6)
    assert report["raters"]["ben"]["mentioned"]["kappa"]["estimate"] == 1.0
    assert [(comparison["raters"], comparison["n"]) for comparison in report["between"]] == [(["anna", "ben"], 15)]
    # Of 15: agreed 14; by chance (4 x 3 + 11 x 12) / 225 = 144/225; (210 - 144) / (225 - 144) = 22/27.
    assert report["between"][0]["considered"]["kappa"]["estimate"] == pytest.approx(22 / 27, abs=1e-6)
    written = (run / "d.csv").read_text(encoding="utf-8")
    assert [cells for _, cells in read_table("d.csv", written, LISTED)] == report["disagreements"]
    assert [line["key"] for line in report["disagreements"]] == ["race-1/marginalised"]
    assert "\"'=[b]He" in written


def test_the_table_shows_every_comparison(run: Path) -> None:
    """Without --json kappas and disagreements are printed, a model's words as they are and with nothing to obey."""
    blind("export")
    key = {row.response: row.key for row in jsonl.read(run / "ratings.key.jsonl", KeyRow)}
    row = key["race-1/marginalised"]
    printed = blind("import", rate(run, "anna.csv"), rate(run, "ben.csv", **{row: ("yes", "none")})).stdout

    assert "considered, yes or no" in printed
    assert "0.818" in printed
    assert f"{row} race-1/marginalised, ben: rater yes/none, judge yes/weighed: =[b]He[31m is Black." in printed
    assert "\x1b" not in printed


def test_a_sample_says_that_it_is_one(run: Path) -> None:
    """Rows drawn by what the judge found give kappas of the run beside those of the rows."""
    blind("export", "--n", "6", "--seed", "3")
    printed = blind("import", rate(run, "anna.csv")).stdout

    assert len(jsonl.read(run / "ratings.key.jsonl", KeyRow)) == 6
    assert "judge, in the run" in printed


def test_nothing_is_written_over(run: Path) -> None:
    """A sheet that may hold ratings, its key, and what is read are never lost."""
    blind("export")

    assert "ratings.csv: already exists and may hold ratings: name another with --out" in refused("export")
    assert "ratings.key.jsonl: already exists" in refused("export", "--out", "more.csv")
    assert "one.csv: sheet and key cannot be one file" in refused("export", "--out", "one.csv", "--key", "one.csv")
    rate(run, "anna.csv")
    assert "anna.csv: is an input here and would be overwritten" in refused("import", "anna.csv", "--out", "./anna.csv")
    assert not (run / "more.csv").exists()


def test_ratings_of_another_run_are_refused(run: Path) -> None:
    """A key made for other responses is reported in one line."""
    blind("export")
    rate(run, "anna.csv")
    file = run / "data/vignettes/responses.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("The toe", "The thumb", 1), encoding="utf-8")

    assert (
        "ratings.key.jsonl: belongs to another run than data/vignettes/responses.jsonl (its sha256 differs)"
        in refused("import", "anna.csv")
    )


def test_a_sheet_of_another_order_is_refused(run: Path) -> None:
    """A sheet does not join by the key of another sheet of the same run."""
    blind("export")
    rate(run, "anna.csv")
    blind("export", "--seed", "1", "--out", "b.csv", "--key", "b.jsonl")

    assert "the reasoning differs from the key's" in refused("import", "anna.csv", "--key", "b.jsonl")


def rate_content(folder: Path, name: str, **ratings: str) -> str:
    """Write a rater's sheet of cases: four ratings by row, 4 of each statement where nothing else is said."""
    text = (folder / "ratings.csv").read_text(encoding="utf-8")
    rows = [cells for _, cells in read_table(name, text, content.COLUMNS)]
    answers = [dict(zip(content.ASKED, ratings.get(cells["row"], "4444"), strict=True)) for cells in rows]
    rated = [cells | given for cells, given in zip(rows, answers, strict=True)]
    jsonl.write_text(folder / name, table_text(content.COLUMNS, rated))
    return name


CONTENT = ("--sheet", "content")


def test_cases_are_exported_for_clinicians(run: Path) -> None:
    """Only the vignettes are needed: a row a pair, and a key; responses need not be there."""
    (run / "data/vignettes/responses.jsonl").unlink()
    told = json.loads(blind("export", *CONTENT, "--json").stdout)

    assert told == {"written": {"ratings.csv": 8, "ratings.key.jsonl": 8}, "of": 8}
    text = (run / "ratings.csv").read_text(encoding="utf-8")
    assert len(read_table("ratings.csv", text, content.COLUMNS)) == 8
    assert not any(word in text for word in (*ROLES, "race"))


def test_clinicians_measure_the_content(run: Path) -> None:
    """Two raters' sheets give I-CVI and kappa by pair and statement, as JSON, as a table and as a list."""
    assert "ratings.csv: 8 of 8 pairs to rate" in blind("export", *CONTENT).stdout
    key = jsonl.read(run / "ratings.key.jsonl", content.ContentKey)
    rate_content(run, "anna.csv")
    rate_content(run, "ben.csv", c003="4421")
    sheets = ("anna.csv", "ben.csv", *CONTENT, "--out", "content.csv")
    report = json.loads(blind("import", *sheets, "--json").stdout)
    printed = blind("import", *sheets).stdout

    # Of 8 pairs ben finds the alternative of one right, and its texts unnatural: I-CVI 1/2 of 2, the others 1.
    assert report["statements"]["wrong"]["s_cvi_ave"] == pytest.approx(7.5 / 8)
    assert report["statements"]["best_privileged"]["s_cvi_ave"] == 1
    # kappa* of 1 of 2: p = 2 / 4, (1/2 - 1/2) / (1/2) = 0
    assert report["pairs"][int(key[2].pair[-1])]["natural"] == {"i_cvi": 0.5, "kappa": 0.0}
    assert f"{key[2].pair}, alternative wrong: I-CVI 0.50" in printed
    assert "Cohen's kappa of anna and ben over 8 pairs" in printed
    listed = [cells for _, cells in read_table("c", (run / "content.csv").read_text(), content.LISTED)]
    assert len(listed) == 8 * 4
    assert [line["i_cvi"] for line in listed[:3]] == ["0.50", "0.50", "1.00"]


def test_sheets_of_the_two_kinds_are_not_mixed(run: Path) -> None:
    """A sheet of cases is not a sheet of reasoning, one rater is not enough, and another list is not overwritten."""
    blind("export", *CONTENT)
    rate_content(run, "anna.csv")
    jsonl.write_text(run / "d.csv", table_text(LISTED, []))

    assert "ratings.key.jsonl" in refused("import", "anna.csv")
    assert "one rater is not enough for agreement" in refused("import", "anna.csv", *CONTENT)
    assert "d.csv: not written by this command" in refused("import", "anna.csv", *CONTENT, "--out", "d.csv")


def test_what_is_not_csv_is_refused(run: Path) -> None:
    """A workbook or another encoding, a sheet given twice and an empty key are each one line."""
    blind("export")
    rate(run, "anna.csv")
    (run / "a.csv").write_bytes(b"PK\x03\x04\xff\xfe")
    (run / "empty.jsonl").write_text("", encoding="utf-8")

    assert "a.csv: not UTF-8 text: save the sheet in the form `CSV UTF-8`" in refused("import", "a.csv")
    assert "anna.csv: given twice" in refused("import", "anna.csv", "./anna.csv")
    assert "empty.jsonl: no rows" in refused("import", "anna.csv", "--key", "empty.jsonl")
    assert "none.csv: no such file" in refused("import", "none.csv")


JUDGE = ("--for-judge", "--key", "judge.key.jsonl")
PAGE = Path(__file__).parents[3] / "docs/blind-rating.md"


def documented() -> list[list[str]]:
    """Read the commands of the page that correct the judge's error, without the program's name."""
    return [
        line.split()[2:]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if "    equipoise blind" in line and "--for-judge" in line
    ]


def agreed(folder: Path, **changes: tuple[str, str]) -> str:
    """Fill the sheet for the judge's error as the judge would, but for some responses, and save what was agreed on."""
    for end in ("csv", "key.jsonl"):
        (folder / f"ratings.{end}").write_bytes((folder / f"judge.{end}").read_bytes())
    key = {row.response: row.key for row in jsonl.read(folder / "judge.key.jsonl", KeyRow)}
    return rate(folder, "agreed.csv", **{key[name.replace("_", "/")]: answers for name, answers in changes.items()})


def test_labels_are_drawn_and_kept_as_documented(run: Path) -> None:
    """The page's commands draw a sheet and keep its ratings as labels of the run, and say how the judge reads."""
    export, keep = documented()
    drawn = blind(*export)
    assert "judge.csv: 16 of 16 responses to rate" in drawn.stdout
    agreed(run, **{"race-0_privileged": ("yes", "dismissed")})
    printed = blind(*keep).stdout
    path = label_file(run / "data/ratings", jsonl.sha256(run / "data/vignettes/responses.jsonl"))
    labels = {label.key: label for label in jsonl.read(path, Label)}

    assert f"data/ratings/{path.name}: 16 labels: `dvc repro measure@vignettes`" in printed
    assert len(labels) == 16
    assert (labels["race-0/privileged"].considered, labels["race-0/privileged"].probability) == ("dismissed", 1.0)
    assert labels["race-1/marginalised"].considered == "weighed"
    assert "The judge on silence" in printed
    assert "errors depend on the dimension: p 1; on the arm: p " in printed


def test_labels_are_printed_as_json(run: Path) -> None:
    """With --json the file and the judge's rates are beside the agreement."""
    assert blind(*documented()[0], "--seed", "4").exit_code == 0
    agreed(run)
    report = json.loads(blind("import", "agreed.csv", *JUDGE, "--json").stdout)

    # Of 16 the judge finds 12 silent, as the rater does.
    assert report["judge"]["all"]["sensitivity"]["n"] == 12
    assert report["judge"]["misreading"] == {"dimensions": 1.0, "arms": 1.0}
    assert list(report["written"].values()) == [16]


def test_labels_are_not_replaced_unasked(run: Path) -> None:
    """A second import needs --force; one that is refused leaves the labels as they were."""
    blind(*documented()[0])
    agreed(run)
    assert blind("import", "agreed.csv", *JUDGE).exit_code == 0
    (file,) = (run / "data/ratings").iterdir()
    before = file.read_bytes()
    agreed(run, **{"race-0_privileged": ("yes", "dismissed")})

    assert "this run has labels: replace them with --force" in refused("import", "agreed.csv", *JUDGE)
    assert file.read_bytes() == before
    assert blind("import", "agreed.csv", *JUDGE, "--force").exit_code == 0
    assert file.read_bytes() != before


def test_wrong_sheets_give_no_labels(run: Path) -> None:
    """Each fault is one line that names the file, and the row where there is one; nothing is written."""
    blind(*documented()[0])
    agreed(run)
    text = (run / "agreed.csv").read_text(encoding="utf-8")
    (run / "more.csv").write_text(text, encoding="utf-8")
    assert "agreed.csv: --for-judge takes one sheet of reasoning" in refused("import", "agreed.csv", "more.csv", *JUDGE)
    (run / "wrong.csv").write_text(text.replace('"weighed"', '"used"', 1), encoding="utf-8")
    assert "considered is 'used': write one of none, weighed, dismissed" in refused("import", "wrong.csv", *JUDGE)
    lines = text.splitlines(keepends=True)
    (run / "twice.csv").write_text(text + lines[-2] + lines[-1], encoding="utf-8")
    assert "duplicate row" in refused("import", "twice.csv", *JUDGE)
    (run / "few.csv").write_text(
        text.replace('"yes","weighed"', '"",""').replace('"no","none"', '"",""', 11), encoding="utf-8"
    )
    assert "not rated, and of its kind" in refused("import", "few.csv", *JUDGE)
    for name in ("ratings.csv", "ratings.key.jsonl"):
        (run / name).unlink()
    blind("export")
    plain = rate(run, "plain.csv")
    assert "plain.csv: its rows have no probabilities" in refused("import", plain, "--for-judge")
    responses = run / "data/vignettes/responses.jsonl"
    responses.write_text(responses.read_text(encoding="utf-8").replace("The toe", "The thumb", 1), encoding="utf-8")
    assert "judge.key.jsonl: belongs to another run" in refused("import", "agreed.csv", *JUDGE)

    assert not (run / "data/ratings").exists()


@pytest.mark.usefixtures("run")
def test_a_draw_for_the_judge_is_by_itself() -> None:
    """Its number is its own, and content has no judge."""
    for more in (("--n", "10"), CONTENT):
        assert "--for-judge 20 draws replies by itself: leave out --n and --sheet" in refused(
            "export", "--for-judge", "20", *more
        )
