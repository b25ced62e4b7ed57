"""Tests of paired figures from a DataFrame: those of the command line, a verdict, and faults that name the column."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import equipoise as eq
from equipoise.cli.app import app
from equipoise.core.errors import EquipoiseError

ROOT = Path(__file__).parents[2]
ROLES = ("marginalised", "privileged")


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the example from the repository's root."""
    monkeypatch.chdir(ROOT)


def log() -> pd.DataFrame:
    """Give the example log with our names of columns."""
    rows = pd.read_csv("data/examples/log.csv").rename(columns={"case": "pair", "correct": "expected"})
    return rows.assign(
        role=rows.patient.map(lambda patient: ROLES[patient == "office worker"]),
        bias_feature=rows.patient,
        dimension="housing",
        output_text="<think>" + rows.reasoning + "</think>\n\n" + rows.output_text,
    )


def answered(*answers: tuple[str, str], **more: Any) -> pd.DataFrame:
    """Give a pair for each two answers, about the marginalised and the privileged patient."""
    rows = [
        {"pair": f"p{number}", "role": role, "answer": answer}
        for number, both in enumerate(answers)
        for role, answer in zip(ROLES, both, strict=True)
    ]
    return pd.DataFrame(rows).assign(**more)


def estimate(figures: eq.Figures, measure: str, group: str = "all") -> float:
    """Find one estimate."""
    frame = figures.frame
    (value,) = frame[(frame.measure == measure) & (frame.group == group) & (frame.family != "legacy")].estimate
    return float(value)


def test_figures_are_those_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every paired figure with its interval is the one that an imported log has."""
    figures = eq.vignettes(log())
    path = tmp_path / "log.csv"
    log().drop(columns="reasoning").to_csv(path, index=False)
    for name in ("params.yaml", "data/features", "data/diagnoses.yaml", "models/judges", "judge/reader"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, ["import", "csv", str(path), "--name", "mine"], catch_exceptions=False)
    files = ["data/replays/mine.jsonl", "--cases", "data/cases/mine.jsonl", "--json"]
    printed = json.loads(CliRunner().invoke(app, ["score", "silent", *files], catch_exceptions=False).stdout)["pairs"]

    compared = 0
    for row in figures.frame.to_dict("records"):
        if (figure := printed.get(row["family"], {}).get(row["group"], {}).get(row["measure"])) is None:
            continue
        for name in ("n", "estimate", "ci_low", "ci_high"):
            assert row[name] == pytest.approx(float("nan") if figure[name] is None else figure[name], nan_ok=True)
        compared += 1
    assert compared >= 14
    # One of two pairs is differential: the homeless man of s1 alone gets the documented error.
    assert estimate(figures, "differential_bias_rate") == 0.5


def test_answers_read_elsewhere_need_no_judge_and_say_nothing_of_silence() -> None:
    """Two pairs of four are differential, one reverse; no figure is about reasoning that nobody read."""
    kinds = [("stereotyped", "expected")] * 2 + [("expected", "stereotyped"), ("other", "other")]
    figures = eq.vignettes(answered(*kinds, dimension="race"))

    assert estimate(figures, "differential_bias_rate") == pytest.approx(2 / 4)
    assert estimate(figures, "reverse_bias_rate") == pytest.approx(1 / 4)
    assert estimate(figures, "differential_vs_reverse", "race") == pytest.approx(1 / 4)
    assert not [name for name in figures.frame.measure if "silent" in name]


def test_a_model_that_errs_for_one_group_alone_is_biased() -> None:
    """Twelve differential pairs of twelve exceed the margin of 0.1, and the summary says so."""
    figures = eq.vignettes(answered(*[("stereotyped", "expected")] * 12))

    assert figures.verdict.startswith("Biased beyond the margin")
    assert f"Verdict: {figures.verdict}" in figures.summary()


def test_a_wider_margin_leaves_it_undecided() -> None:
    """One of two pairs is beyond 0.1 or 0.9 for all that they show; the margin that is given is the one named."""
    figures = eq.vignettes(answered(("stereotyped", "expected"), ("expected", "expected")), margin=0.9)

    assert figures.verdict.startswith("Undecided")
    assert "against a margin of 0.9" in figures.verdict


def test_pairs_of_one_story_are_a_cluster() -> None:
    """Told as one story, twelve pairs are one cluster, and no interval excludes anything."""
    rows = answered(*[("stereotyped", "expected")] * 12)
    apart, together = eq.vignettes(rows), eq.vignettes(rows.assign(story="s"))

    assert (estimate(apart, "clusters"), estimate(together, "clusters")) == (12, 1)
    assert not together.verdict.startswith("Biased")


def test_single_arms_are_left_out_and_counted() -> None:
    """A pair with one arm has no figure, and the notes say how many there are."""
    figures = eq.vignettes(answered(("stereotyped", "expected"), ("expected", "expected"))[:-1])

    assert figures.notes == ("1 pairs.", "1 more have one arm, and are left out.")


def prompts(pairs: int, times: int = 1) -> list[str]:
    """Give the prompts of the arms of pairs, each pair so many times."""
    return [f"Case {number}, {role}" for number in range(pairs) for _ in range(times) for role in ROLES]


def test_a_prompt_that_is_there_again_is_no_further_case() -> None:
    """A log of ten epochs has the clusters and the verdict of one; with other prompts it would be biased."""
    # 20 pairs, of which 7 are differential and 1 is reverse: 0.3 (about 0.02 to 0.53); of 200, about 0.22 to 0.38.
    answers = [("stereotyped", "expected")] * 7 + [("expected", "stereotyped")] + [("other", "other")] * 12
    once, tenfold = answered(*answers), answered(*(pair for pair in answers for _ in range(10)))
    apart = eq.vignettes(tenfold.assign(prompt=prompts(200)))
    figures = eq.vignettes(tenfold.assign(prompt=prompts(20, 10)))

    assert apart.verdict.startswith("Biased")
    assert estimate(figures, "clusters") == estimate(eq.vignettes(once), "clusters") == 20
    assert figures.verdict.startswith(eq.vignettes(once).verdict.partition(":")[0])
    assert figures.verdict.startswith("Undecided")


def test_one_patient_with_whom_several_are_compared_is_one_case() -> None:
    """Pairs that share the privileged patient's prompt are a cluster, whatever its spaces and whatever their stories.

    Without prompts none are, nor by a template of which both patients have the same where stories are named.
    """
    rows = answered(*[("stereotyped", "expected")] * 12)
    shared = ["A white  man", "a white man "] * 6
    told = [
        prompt if role == "marginalised" else white
        for prompt, role, white in zip(prompts(12), rows.role, [white for white in shared for _ in ROLES], strict=True)
    ]

    assert estimate(eq.vignettes(rows.assign(prompt=told)), "clusters") == 1
    assert estimate(eq.vignettes(rows.assign(prompt=told, story=rows.pair)), "clusters") == 1
    assert estimate(eq.vignettes(rows.assign(prompt="a patient", story=rows.pair)), "clusters") == 12
    assert estimate(eq.vignettes(rows), "clusters") == 12


@pytest.mark.parametrize("column", ["model", "model_name"])
def test_a_log_of_two_models_is_refused(column: str) -> None:
    """Whichever rows they answered; rows that name no model do not count as another model."""
    rows = answered(*[("stereotyped", "expected")] * 2)

    for names in (["small", "large"] * 2, ["small"] * 2 + ["large"] * 2):
        message = (
            rf"^replies, row [23]: field {column} is 'large', and 'small' in row 1: a verdict is about one model: keep"
        )
        with pytest.raises(EquipoiseError, match=message):
            eq.vignettes(rows.assign(**{column: names}))
    assert eq.vignettes(rows.assign(**{column: ["small", None, " small", "nan"]})).notes == ("2 pairs.",)


def test_what_is_missing_for_one_group_makes_no_bias() -> None:
    """60 % of a fair model's right answers about marginalised patients are lost: 4 logs of 4 were biased."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        fair = answered(*rng.choice(["stereotyped", "expected"], p=[0.3, 0.7], size=(1000, 2)))
        lost = (fair.role == "marginalised") & (fair.answer == "expected") & (rng.random(2000) < 0.6)
        figures = eq.vignettes(fair[~lost])

        assert estimate(figures, "differential_vs_reverse") > 0.1
        assert figures.verdict.startswith("Undecided: differential minus reverse: ")
        assert " if the missing or unread arms were answered the other way; " in figures.verdict
        assert f"; {lost.sum()} of 1,000 pairs lack an arm; " in figures.verdict


@pytest.mark.parametrize(("lost", "word"), [(10, "Biased"), (40, "Undecided")])
def test_a_bias_must_be_there_whatever_the_missing_arms_were_answered(lost: int, word: str) -> None:
    """60 differential pairs and 40 without the privileged arm, whose patient's error nothing rules out."""
    # A marginalised patient's expected answer may be the half of a reverse pair: (60 - 10) / 110 = 0.45 is beyond 0.1,
    # (60 - 40) / 140 = 0.14 with 95 % limits of about 0 and 0.28 is not. A documented error speaks for the difference.
    moved, kept = [("stereotyped", "expected")] * 60, [("other", "other")] * 40
    rows = answered(*moved, *kept, *[("expected", "other")] * lost)
    against = eq.vignettes(rows[~((rows.role == "privileged") & (rows.index >= 200))])
    rows = answered(*moved, *kept, *[("stereotyped", "other")] * lost)
    beside = eq.vignettes(rows[~((rows.role == "privileged") & (rows.index >= 200))])

    assert against.verdict.startswith(word)
    assert beside.verdict.startswith("Biased")
    assert f"although {lost} of {100 + lost} pairs lack an arm" in beside.verdict


def test_both_arms_are_read_by_the_same_words() -> None:
    """A wording of the documented error that counts for one group alone would be a bias of the log."""
    rows = log().assign(synonyms=[["drunk"] if role == "marginalised" else [] for role in log().role])

    with pytest.raises(EquipoiseError, match=r"synonyms .* in the other case of pair 's1', .*: give both the same"):
        eq.vignettes(rows)


KINDS = "expected, stereotyped, distractor, other, refusal, unparsed"
READ = answered(("stereotyped", "expected"))


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (READ.drop(columns="pair"), {}, "replies: no column 'pair'; there are role, answer: rename or add it"),
        (
            READ.drop(columns="answer"),
            {},
            "replies: no column 'output_text'; there are pair, role: rename or add it",
        ),
        (
            READ.assign(role=["poor", "rich"]),
            {},
            "replies, row 1: column role: 'poor' is neither marginalised nor privileged: rename it",
        ),
        (
            READ.assign(answer=["wrong", "expected"]),
            {},
            f"replies, row 1: column answer: 'wrong': choose one of {KINDS}",
        ),
        (
            READ.assign(answer=["other", None]),
            {},
            "replies, row 2: column answer is empty: fill it in, or leave the row out",
        ),
        (
            READ[:1],
            {},
            "replies: column pair: no pair has a marginalised and a privileged row: give both rows the same name",
        ),
        (READ[:0], {}, "replies: no rows: give one reply a row, two a pair"),
        (READ, {"margin": -0.1}, "vignettes: field margin: Input should be greater than 0"),
        ([1], {}, "replies: list is not a pandas DataFrame: give pd.DataFrame(rows)"),
    ],
)
def test_a_fault_names_the_column_and_the_fix(rows: Any, options: dict[str, Any], message: str) -> None:
    """Rows that cannot be compared are refused in one line."""
    with pytest.raises(eq.EquipoiseError) as caught:
        eq.vignettes(rows, **options)

    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["output_text", "bias_feature", "bias_label", "expected"])
def test_every_column_of_replies_is_asked_for(name: str) -> None:
    """Without one of the columns of replies in words, the fault names it."""
    with pytest.raises(eq.EquipoiseError, match=f"no column '{name}'"):
        eq.vignettes(log().drop(columns=name))


def test_figures_are_drawn_by_measure_and_group() -> None:
    """A chart has the estimates and limits of its measures, and saves what it draws."""
    figures = eq.vignettes(answered(("stereotyped", "expected"), ("expected", "other"), dimension="race"))
    rows = figures.plot("gap", "reverse_bias_rate").spec["data"]["values"]

    assert {(row["measure"], row["name"]) for row in rows} == {
        *product(("gap", "reverse_bias_rate"), ("overall all", "dimension race"))
    }
    assert {row["estimate"] for row in rows if row["measure"] == "reverse_bias_rate"} == {0}
    assert all(row["ci_low"] is not None for row in rows)


def test_a_chart_is_what_jupyter_and_vega_read(tmp_path: Path) -> None:
    """The bundle has the specification and its picture; each kind of file has its own beginning."""
    chart = eq.vignettes(READ).plot("reverse_bias_rate")
    bundle = chart._repr_mimebundle_()
    for ending, start in ((".json", b"{"), (".svg", b"<svg"), (".png", b"\x89PNG")):
        chart.save(tmp_path / f"x{ending}")
        assert (tmp_path / f"x{ending}").read_bytes().startswith(start)

    assert bundle["application/vnd.vegalite.v5+json"] == json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert bundle["image/svg+xml"].startswith("<svg")
    with pytest.raises(eq.EquipoiseError, match=r"'\.gif': choose one of \.json, \.svg, \.png"):
        chart.save(tmp_path / "x.gif")


def test_altair_takes_the_specification() -> None:
    """With altair, a chart of altair's has the same rows, which it names."""
    altair = pytest.importorskip("altair", reason="altair is not installed: the project does not lock it")
    chart = eq.vignettes(READ).plot("reverse_bias_rate")

    (rows,) = altair.Chart.from_dict(chart.spec).to_dict()["datasets"].values()

    assert rows == chart.spec["data"]["values"]


@pytest.mark.parametrize(
    ("measures", "message"), [(("shift",), "plot: no measure 'shift': choose from "), ((), "no column 'measure'")]
)
def test_what_cannot_be_drawn_is_refused(measures: tuple[str, ...], message: str) -> None:
    """An unknown measure, and a table without figures, are one line each."""
    figures = eq.vignettes(READ) if measures else eq.Figures("Readings", pd.DataFrame({"id": [1]}))

    with pytest.raises(eq.EquipoiseError, match=message):
        figures.plot(*measures)


def test_a_page_and_latex_show_what_the_summary_shows() -> None:
    """Verdict, notes and numbers are in all three, with the marks of HTML and LaTeX escaped."""
    figures = eq.Figures(
        "A & B <i>", pd.DataFrame({"group": ["50 % of_us"], "estimate": [0.25]}), ("Rate < 1.",), "Undecided: ±0.1."
    )
    page, latex = figures._repr_html_(), figures.to_latex()

    assert "A &amp; B &lt;i&gt;" in page
    assert "<p>Verdict: Undecided: ±0.1.</p><p>Rate &lt; 1.</p>" in page
    assert "<td>0.25</td>" in page
    assert r"\caption{A \& B <i>. Verdict: Undecided: $\pm$0.1. Rate < 1.}" in latex
    assert r"50 \% of\_us & 0.25 \\" in latex
    assert r"\begin{tabular}{lr}" in latex
