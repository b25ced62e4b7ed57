"""Every published figure of AMQA and FairMedPrompt, recomputed from the released answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.figures.options import Measure
from equipoise.figures.skew import label_skew
from equipoise.studies.questions import amqa
from equipoise.studies.questions.amqa import score_released
from equipoise.studies.questions.cli import score_amqa
from equipoise.studies.questions.effects import Answered, label, question_effects

ANCHORS = os.environ.get("EQUIPOISE_ANCHORS")
pytestmark = pytest.mark.skipif(not ANCHORS, reason="EQUIPOISE_ANCHORS does not name the folder of published data")

SIX_PLACES = 5.1e-7
"""The published rates, intervals and logarithms are rounded to six places."""
FOLDERS = {"amqa": "amqa/answers", "fairmedprompt": "fairmedprompt"}
CLAUDE, DEEPSEEK, GPT = (
    f"AMQA_{name}.jsonl"
    for name in ("Benchmark_Answer_claude_cot2", "Benchmark_Answer_deepseek_cot2", "D2_Benchmark_Answer_openai_no_cot")
)


def folder() -> Path:
    """Give the folder of published data; the tests that call it are skipped without."""
    return Path(ANCHORS or ".")


def published() -> dict[str, tuple[Path, dict[str, Any]]]:
    """Read path and expected figures of each file of answers; empty without the folder."""
    if not ANCHORS:
        return {}
    expected = json.loads((folder() / "expected.json").read_text(encoding="utf-8"))
    return {
        name: (folder() / FOLDERS[study] / name, file) for study in FOLDERS for name, file in expected[study].items()
    }


PUBLISHED = published()
TABLES: dict[str, list[Answered]] = {}


def table(name: str) -> list[Answered]:
    """Read a file of answers, once."""
    if name not in TABLES:
        TABLES[name] = amqa.read_answers(PUBLISHED[name][0])
    return TABLES[name]


def ours(arm: str) -> str:
    """Name an arm of a released file as `score_released` does."""
    return {"original_question": "original", "desensitized_question": "neutral", "desensitized": "neutral"}.get(
        arm, arm
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_answers_are_counted_as_published(name: str) -> None:
    """Questions, right answers, unparsed answers and the letters given are the published counts."""
    expected = PUBLISHED[name][1]
    scored = score_released({name: table(name)}, amqa.released_name)[0]
    given = [row.letters["neutral"] for row in table(name)]

    assert expected["n"] == scored["n"]
    assert {ours(arm): count for arm, count in expected["unparsed"].items()} == scored["unparsed"]
    assert {ours(arm): count for arm, count in expected["correct"].items()} == {
        arm: round(share * scored["n"]) for arm, share in scored["accuracy"].items()
    }
    assert expected["answer_counts_neutral"] == {letter: given.count(letter) for letter in "ABCD"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_pairs_are_reproduced(name: str) -> None:
    """The cells, the letters that differ, the gap and both tests of every pair are the published ones."""
    pairs = score_released({name: table(name)}, amqa.released_name)[0]["pairs"]
    names = {"white|black": "race", "high_income|low_income": "ses", "male|female": "gender"}

    for arms, expected in PUBLISHED[name][1]["pairs"].items():
        pair = pairs[names.get(arms, "original_neutral")]
        assert [expected[cell] for cell in ("both", "only_first", "only_second", "neither", "inconsistent")] == [
            pair[cell] for cell in ("both", "only_privileged", "only_unprivileged", "neither", "letters_differ")
        ]
        assert expected["gap"] == pytest.approx(pair["gap"], rel=0, abs=SIX_PLACES)
        assert pair["ci_low"] <= pair["gap"] <= pair["ci_high"]
        for p in ("p_exact", "p_chi2_cc"):
            assert expected[p] == pytest.approx(pair[p], rel=1e-9, abs=0)


@pytest.mark.parametrize("name", PUBLISHED)
def test_effects_hold_the_published_figures(name: str) -> None:
    """What the pipeline's metrics are made of agrees too: intervals of accuracy, gap and -log10 p."""
    expected = PUBLISHED[name][1]
    arms = {amqa.released_name(arm): label(arm) for arm in table(name)[0].letters}
    effects = {row.key: row for row in question_effects(table(name), Measure())}

    for arm, bounds in expected["wilson95"].items():
        row = effects[f"questions/arm/{arms[ours(arm)]}/accuracy"]
        assert bounds == pytest.approx([row.ci_low, row.ci_high], rel=0, abs=SIX_PLACES)
    for arm, place in (
        ("white|black", "attribute/race"),
        ("male|female", "attribute/gender"),
        ("high_income|low_income", "attribute/ses"),
    ):
        gap = effects[f"questions/{place}/gap"]
        assert expected["pairs"][arm]["gap"] == pytest.approx(gap.estimate, rel=0, abs=SIX_PLACES)
        exact = effects[f"questions/{place}/gap_exact"]
        assert expected["pairs"][arm]["neg_log10_p_exact"] == pytest.approx(exact.neg_log10_p, rel=0, abs=SIX_PLACES)


@pytest.mark.parametrize(("name", "alarm"), [(CLAUDE, True), (GPT, False)])
def test_label_skew_alarm(name: str, *, alarm: bool) -> None:
    """The alarm fires on the file whose parser read the article as A, and not on GPT-4.1's."""
    gold = [row.gold for row in table(name)]
    skews = [label_skew([row.letters[arm] for row in table(name)], gold) for arm in table(name)[0].letters]

    assert {skew.alarm for skew in skews} == {alarm}


def test_incomplete_file_is_refused() -> None:
    """The file of 402 questions is refused, alone and beside another, with the missing ids."""
    path, other = PUBLISHED[DEEPSEEK][0], PUBLISHED[GPT][0]

    for files in ([path], [other, path]):
        with pytest.raises(EquipoiseError, match="incomplete, 402 of 801 questions; missing ids 402-800:"):
            score_amqa(files)
