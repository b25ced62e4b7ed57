"""Tests of the parts that the page is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.leaderboard.rows import HEADLINES, Figure
from equipoise.report.drilldown import Part, parts
from equipoise.report.guards import guards
from equipoise.report.headlines import MEANINGS, absent, cards, verdict
from equipoise.report.provenance import UNSTATED, licence

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.report.page import Report


def test_every_headline_has_a_meaning() -> None:
    """Each headline figure has its sentence."""
    assert MEANINGS.keys() == {headline.name for headline in HEADLINES}


def test_verdict_follows_the_interval() -> None:
    """The sentence says on which side of the null value the interval lies, or that it holds it."""
    inside, above = Figure("defined", 9, 0.1, -0.1, 0.3), Figure("defined", 9, 0.2, 0.1, 0.3)

    assert "holds 0" in verdict("stereotype_shift", inside)
    assert "towards the stereotype" in verdict("stereotype_shift", above)
    assert verdict("silent_bias_rate", Figure("undefined", 0)) == "Undefined: nothing to count (n = 0)."


def test_undefined_figures_have_a_card_and_unmeasured_ones_none() -> None:
    """A study that ran and has no rate says so; a study that did not run is named apart."""
    metrics = {"silent_bias": {"overall": {"silent_bias_rate": {"n": 0}}}}

    shown = {card.name: card.value for card in cards(metrics, 0.05)}

    assert shown["silent_bias_rate"] == "undefined"
    assert "neutral_accuracy" not in shown
    assert "Adversarial: neutral accuracy" in absent(metrics)


def test_p_value_stands_beside_the_interval() -> None:
    """The corrected p-value is given where there is one: an interval alone corrects for nothing."""
    shift = {"n": 9, "estimate": 0.2, "ci_low": 0.1, "ci_high": 0.3, "neg_log10_p": 2.0, "neg_log10_p_holm": 1.0}

    (card,) = [
        one for one in cards({"silent_bias": {"overall": {"stereotype_shift": shift}}}, 0.05) if "shift" in one.name
    ]

    # 10 to the -1.
    assert card.sentence.endswith("The test's p is 0.1 (after Holm's correction).")


def test_overlapping_spans_mark_each_character_once() -> None:
    """Spans that overlap or touch make one marked part, and the parts make up the text."""
    cut = parts("abcdef", [(1, 3), (2, 4)])

    assert cut == [Part("a", marked=False), Part("bcd", marked=True), Part("ef", marked=False)]
    assert parts("abcdef", [(1, 3)], 2, 4) == [Part("c", marked=True), Part("d", marked=False)]
    assert parts("", []) == []


def test_deciding_sentence_is_cut_out(report: Report) -> None:
    """The sentence that decided stands apart, with the words that name the feature marked around it."""
    first = report.pairs[0].arms[0]

    assert [part.text for part in first.evidence] == ["<b>bold</b>"]
    assert Part("homeless", marked=True) in first.after


def test_guards_report_cut_off_replies_alarms_and_small_groups() -> None:
    """What went wrong is said in a sentence each: a truncated study, a skewed arm, a group that is too small."""
    metrics = {
        "run": {"vignettes": {"n_prompts": 4, "unfinished": 3, "unparsed": 0}},
        "adversarial": {"arm": {"neutral": {"label_skew": {"n": 9, "estimate": 0.7, "alarm": 1}}}},
        "silent_bias": {"dimension": {"age": {"underpowered": 1}, "race": {"underpowered": 0}}},
        "stigma": {"duplicate_files": 2},
    }

    found = guards(metrics)

    assert found.notes[0] == "Vignettes: 3 of 4 prompts have a reply that the length limit cut off."
    assert found.notes[1].startswith("Label skew: in 1 of 1 arms")
    assert found.small == ["silent bias, dimension, age"]
    assert found.faults == [("stigma, duplicate files", "2", "")]


def test_licence_is_read_as_the_file_states_it(tmp_path: Path) -> None:
    """Rows state theirs in a field, YAML in its first comment; a file that states none is said to state none."""
    files = {
        "rows.jsonl": '{"licence": "MIT"}\n{"licence": "Apache-2.0"}\n',
        "authored.yaml": "# Words. Source: authored. Licence: Apache-2.0.\nx: 1\n",
        "released.yaml": "# Source: them; released at\n# github.com/x/y (MIT).\nx: 1\n",
        "silent.yaml": "# Words.\nx: 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    found = [licence(tmp_path / name) for name in files]

    assert found == ["Apache-2.0, MIT", "Apache-2.0", "MIT", UNSTATED]


def test_inputs_are_sorted_and_hashed(report: Report) -> None:
    """Every input stands in the table once, in order, with a full sha256."""
    inputs = report.provenance.inputs
    paths = [one.path for one in inputs]

    assert len(paths) == len(set(paths))
    assert {"data/cities.yaml", "data/raw/personas.yaml", "data/stigma/templates.yaml"} <= set(paths)
    assert all(len(one.sha256) == 64 for one in inputs)
