"""Tests of the page: what is data stays text, the page is whole, and equal reports give equal bytes."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING

import pytest
from reported import HOSTILE, ROOT, effect, effects, read, report_of

from equipoise.core import jsonl
from equipoise.core.display import number
from equipoise.core.errors import EquipoiseError
from equipoise.core.visible import SIGNS
from equipoise.report.headlines import effect_of
from equipoise.report.page import identity, inline, page, read_report
from equipoise.studies.registry import BOARD, TITLES

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.report.page import Report


def test_hostile_text_shows_as_text(written: str) -> None:
    """Markup in a reply is shown character for character and is not an element; control characters become signs."""
    document = read(written)

    assert HOSTILE.translate(SIGNS).split("<b>")[0] in document.text
    assert "<i>x</i>" in document.text
    # What would turn the line round is written out.
    assert "\\u202e" in document.text
    assert "\u202e" not in document.text
    # The engine fills in no braces of a reply.
    assert "{{ 7 * 7 }}" in document.text


def test_the_intended_use_is_repeated_where_stated(report: Report, written: str) -> None:
    """A use is shown as text, not as markup; without one the page says nothing about it."""
    assert "Intended use" not in read(written).text
    assert (
        "Intended use: <b>triage</b> & advice"
        in read(page(report._replace(intended_use="<b>triage</b> & advice"))).text
    )


def test_no_script_but_ours_and_no_handler(written: str) -> None:
    """The page has its data and two scripts, no element with a handler, and loads the record of its run alone."""
    document = read(written)
    nonce = {"nonce": identity(written)}

    # The specifications, the record, the bundle, the page's own.
    assert len(document.scripts) == 4
    assert [attributes for tag, attributes in document.elements if tag == "script" and attributes.get("src")] == [
        {"src": "run.js", **nonce}
    ]
    for tag, attributes in document.elements:
        assert tag not in {"img", "iframe", "object", "embed", "link", "base", "form", "svg"}
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "srcdoc"}]
        assert tag == "script" or "src" not in attributes
        # Links to the web are in our documentation alone; following one is up to the reader.
        assert attributes.get("href", "#").startswith(("#", "https://"))


def test_policy_names_the_scripts_and_the_style_by_their_hashes(written: str) -> None:
    """The policy allows nothing by default, exactly the hashes of what is in the page, and the record by a nonce."""
    document = read(written)
    policy = next(a["content"] for _, a in document.elements if a.get("http-equiv") == "Content-Security-Policy")
    style = written[written.index("<style>") + 7 : written.index("</style>")]

    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (*document.scripts[2:], style)
    ]

    assert policy
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert re.findall(r"'nonce-([^']+)'", policy) == [identity(written)]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_page_is_well_formed(written: str) -> None:
    """Each element is closed, ids are unique, each label that is named exists, and tables have captions and scopes."""
    document = read(written)
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]

    assert document.open == []
    assert len(ids) == len(set(ids))
    for tag, attributes in document.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids
        assert attributes.get("href", f"#{ids[0]}").removeprefix("#") in ids or attributes["href"].startswith(
            "https://"
        )
        assert tag != "th" or attributes["scope"] in {"row", "col"}
    tags = [tag for tag, _ in document.elements]
    assert tags.count("table") == tags.count("caption") > 0
    assert tags.count("h1") == 1
    assert dict(document.elements)["html"] == {"lang": "en"}


def test_every_headline_figure_is_on_the_page(written: str) -> None:
    """Each headline figure of the run is on the page with its interval; those of other studies are named."""
    text = read(written).text

    for headline in BOARD:
        headline_effect = effect_of(headline, effects())
        assert headline.title in text
        if headline_effect is None:
            assert f"{TITLES[headline.study]}: {headline.title}" in text
        else:
            assert f"\n{number(headline_effect.estimate or 0)}\n" in text
            assert (
                f"95 % interval {number(headline_effect.ci_low or 0)} to {number(headline_effect.ci_high or 0)}" in text
            )


def test_same_rows_give_the_same_bytes(report: Report, written: str, tmp_path: Path) -> None:
    """A page depends on the run's rows alone, not on when or where it was made."""
    again = report_of(tmp_path / "elsewhere")

    assert again == report
    assert page(again) == written


def test_the_id_of_a_page_is_the_hash_of_the_page_without_it(report: Report, written: str) -> None:
    """Equal pages have equal ids, another page has another one, and an earlier version's page has none."""
    own = identity(written)
    other = identity(page(report._replace(title="Another model")))

    assert own == hashlib.sha256(written.replace(own, "").encode()).hexdigest()
    assert other not in {"", own}
    assert identity("<html></html>") == ""


def test_sampling_and_seeds_are_on_the_page(report: Report, written: str) -> None:
    """How the model's tokens are chosen, every seed, and the sha256 of the judge's weights."""
    drawn, judge = dict(report.provenance.drawing), dict(report.provenance.judge)

    # models/smollm2.yaml is greedy, and params.yaml has four seeds.
    assert drawn["model.generation.temperature"] == "0.0"
    assert {name: value for name, value in drawn.items() if "seed" in name} == {
        "decision.seed": "0",
        "measure.partition_seed": "42",
        "measure.seed": "0",
        "sample.seed": "0",
    }
    assert judge["sha256 of model.onnx"] == jsonl.sha256(ROOT / "judge/reader/model.onnx")
    assert judge["sha256 of model.onnx"] in read(written).text


def test_limits_are_those_of_the_readme(written: str) -> None:
    """The page's limits begin as the README's do."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    limits = readme.partition("## What it does not measure")[2].partition("\n## ")[0]
    text = read(written).text

    leads = re.findall(r"^- \*\*(.+?)\*\*", limits, re.MULTILINE)

    assert leads
    assert [lead for lead in leads if lead not in text] == []


def test_a_script_that_would_end_its_element_is_refused() -> None:
    """A bundle that holds a closing tag would let what follows it be read as markup."""
    with pytest.raises(EquipoiseError, match="which ends it: install another vl-convert"):
        inline("script", "x = '</SCRIPT>'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "effects.jsonl: no figure of the study: run `dvc repro --force measure@vignettes`"),
        ("[]\n", "effects.jsonl, row 1: "),
        ("[" * 100_000 + "\n", "effects.jsonl, row 1: nested too deeply"),
        ('{"key": ' * 50_000 + "1" + "}" * 50_000, "effects.jsonl, row 1: nested too deeply"),
        ('{"key": "a", "n": ' + "1" * 5000 + "}\n", "effects.jsonl, row 1: "),
    ],
    ids=["empty", "list", "deep list", "deep object", "long number"],
)
def test_malformed_figures_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    """Figures that are empty, a list, or nested deeply name the file and the fix."""
    report_of(tmp_path)
    (tmp_path / "vignettes/effects.jsonl").write_text(text, encoding="utf-8")

    with pytest.raises(EquipoiseError) as caught:
        read_report(tmp_path, ROOT / ".dvc/plots", ROOT / "docs", ROOT)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_guard_without_its_figures_is_one_line(tmp_path: Path) -> None:
    """Rows of figures that belong together and are cut off name the study to measure again."""
    report_of(tmp_path)
    guard = effect("vignettes/guard/answers_cut_off/count", 9, 1.0)
    jsonl.write(tmp_path / "vignettes/effects.jsonl", [guard])

    with pytest.raises(EquipoiseError, match="the guard answers_cut_off has no threshold: run `dvc repro --force"):
        read_report(tmp_path, ROOT / ".dvc/plots", ROOT / "docs", ROOT)
