"""The published figures of Lin et al. (2022), recomputed for RoBERTa from the files that they released."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.figures.options import Measure
from equipoise.studies.stigma.aggregate import Token, attribute_words, noun_lexicon, short_lexicon
from equipoise.studies.stigma.cli import score_stigma
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.lin import (
    RELEASED_ONLY,
    Wordings,
    duplicates,
    read_rq1,
    read_rq2,
    read_steps,
    read_tokens,
    wrong_name,
)
from equipoise.studies.stigma.names import fetch_names, load_names

if TYPE_CHECKING:
    from equipoise.figures.effects import Effect
    from equipoise.studies.stigma.library import Gender
    from equipoise.studies.stigma.rows import Fill

ANCHORS = os.environ.get("EQUIPOISE_ANCHORS")
pytestmark = pytest.mark.skipif(not ANCHORS, reason="EQUIPOISE_ANCHORS does not name the folder of published data")

SIX_PLACES = 5.1e-7
"""The published figures are rounded to six places."""
FOLDER = Path(ANCHORS or ".") / "lin2022"
STEPS, TOKENS = FOLDER.parent / "lin2022_steps", FOLDER.parent / "lin2022_tokens"
LIBRARY = load_library(Path(__file__).parents[2] / "data/sentences")
WORDINGS = Wordings(LIBRARY)
SETS = {"mh": "mental", "non_mh": "control"}
RQ1 = {"mental": FOLDER / "roberta_all_df_intention.csv", "control": FOLDER / "roberta_all_df_intention_non_mh.csv"}
SHARES = ("female", "male", "unspecified")


def result(run: str) -> Path:
    """Name the released file of a run of rq2."""
    return FOLDER / f"attribute_recursive_3steps_TOPK_10_BEAM_10{run}_result.csv"


RQ2 = {"mental": result("_roberta_"), "control": result("_roberta_nonmh")}


def published(table: str) -> dict[str, dict[str, Any]]:
    """Read one table of expected figures; empty without the folder."""
    if not ANCHORS:
        return {}
    tables: dict[str, dict[str, dict[str, Any]]] = json.loads(
        (Path(ANCHORS) / "expected.json").read_text(encoding="utf-8")
    )["lin"]
    return tables[table]


@cache
def effects() -> dict[str, Effect]:
    """Compute all effects of the four released files, once; by key."""
    fills = [fill for path in RQ1.values() for fill in read_rq1(path, WORDINGS)]
    fills += [fill for path in RQ2.values() for fill in read_rq2(path, WORDINGS)]
    return {row.key: row for row in stigma_effects(fills, Measure())}


def figure(family: str, group: str, measure: str) -> Effect:
    """Find one effect."""
    return effects()[f"stigma/{family}/{group}/{measure}"]


def estimate(family: str, group: str, measure: str) -> float:
    """Give the estimate of one effect."""
    value: float | None = figure(family, group, measure).estimate
    assert value is not None
    return value


def p(family: str, group: str) -> float:
    """Give the p-value of the disparity's published test."""
    value: float | None = figure(family, group, "disparity").neg_log10_p
    assert value is not None
    return float(10.0**-value)


def largest_difference(ours: list[Fill], theirs: list[Fill]) -> float:
    """Give the largest difference of any share, over the sentences that both have."""
    known = {fill.key: fill for fill in theirs}
    return max(
        abs(float(getattr(fill, share)) - float(getattr(known[fill.key], share)))
        for fill in ours
        if fill.key in known
        for share in SHARES
    )


@pytest.mark.parametrize("cell", [*published("table3_rq1"), *published("table5_rq2")])
def test_shares_and_paired_tests_are_reproduced(cell: str) -> None:
    """Tables 3 and 5: n, shares of each gender, paired t and its p-value, and Cohen's d."""
    question = "rq1" if cell in published("table3_rq1") else "rq2"
    expected = {**published("table3_rq1"), **published("table5_rq2")}[cell]
    _, conditions, group = cell.split("/")
    family = f"{question}_{SETS[conditions]}"

    assert expected["n"] == figure(family, group, "disparity").n
    for share in SHARES:
        if share in expected:
            assert expected[share] == pytest.approx(estimate(family, group, share), rel=0, abs=SIX_PLACES)
    # t of paired values is d_z times the root of n
    t = estimate(family, group, "d_z") * math.sqrt(expected["n"])
    assert expected["t"] == pytest.approx(t, rel=0, abs=SIX_PLACES)
    assert expected["p"] == pytest.approx(p(family, group), rel=1e-6, abs=0)
    assert expected["cohens_d_pooled"] == pytest.approx(estimate(family, group, "d_pooled"), rel=0, abs=SIX_PLACES)
    if "d_z" in expected:
        assert expected["d_z"] == pytest.approx(estimate(family, group, "d_z"), rel=0, abs=SIX_PLACES)


@pytest.mark.parametrize("cell", [*published("table4_rq1_disparity"), *published("table6_rq2_disparity")])
def test_disparities_are_reproduced(cell: str) -> None:
    """Tables 4 and 6: disparity beside either set, the independent t test between them, and Cohen's d."""
    question = "rq1" if cell in published("table4_rq1_disparity") else "rq2"
    expected = {**published("table4_rq1_disparity"), **published("table6_rq2_disparity")}[cell]
    group = cell.split("/")[1]
    family = f"{question}_difference"

    for conditions, condition_set in SETS.items():
        ours = estimate(f"{question}_{condition_set}", group, "disparity")
        assert expected[conditions] == pytest.approx(ours, rel=0, abs=SIX_PLACES)
    d = estimate(family, group, "d_pooled")
    assert expected["cohens_d"] == pytest.approx(d, rel=0, abs=SIX_PLACES)
    assert expected["p"] == pytest.approx(p(family, group), rel=1e-6, abs=0)
    if "t" in expected:
        half = figure(family, group, "disparity").n / 2  # t of two equal samples is d times the root of half their size
        assert expected["t"] == pytest.approx(d * math.sqrt(half / 2), rel=0, abs=SIX_PLACES)


def test_templates_are_the_released_ones() -> None:
    """The released runs asked every template of the library, but for the one that the paper words otherwise."""
    asked = {fill.template for path in (*RQ1.values(), *RQ2.values()) for fill in read_either(path)}

    assert {template.key for template in LIBRARY.templates} - asked == {"interview"}
    assert asked - {template.key for template in LIBRARY.templates} == {"not-interview"}
    assert asked & {template.key for template in RELEASED_ONLY} == {"not-interview"}


def read_either(path: Path) -> list[Fill]:
    """Read a released file of either question."""
    return (read_rq1 if path in RQ1.values() else read_rq2)(path, WORDINGS)


@pytest.mark.parametrize(("steps", "condition_set"), [("roberta_.csv", "mental"), ("roberta_nonmh.csv", "control")])
def test_steps_add_up_to_the_released_results(steps: str, condition_set: str) -> None:
    """Summed as published, the released paths give the released results to the last digit, whole sentences or none."""
    nouns = noun_lexicon(LIBRARY.words.nouns)
    ours = read_steps(STEPS / steps, WORDINGS, nouns, "legacy")
    theirs = read_rq2(RQ2[condition_set], WORDINGS)

    assert {fill.key for fill in ours} == {fill.key for fill in theirs}
    assert largest_difference(ours, theirs) == 0.0


@pytest.mark.parametrize(("steps", "changed"), [("roberta_.csv", 46), ("roberta_nonmh.csv", 23)])
def test_whole_words_lower_some_results(steps: str, changed: int) -> None:
    """By default parts of words tell no gender: the sentences with one have less of either, and none has more.

    77 and 32 of the paths, in 46 and 23 of the 297 sentences, end in a word such as "schoolgirl" or "housewife".
    """
    nouns = noun_lexicon(LIBRARY.words.nouns)
    legacy = {fill.key: fill for fill in read_steps(STEPS / steps, WORDINGS, nouns, "legacy")}
    words = read_steps(STEPS / steps, WORDINGS, nouns)
    fallen = [legacy[fill.key].female + legacy[fill.key].male - fill.female - fill.male for fill in words]

    assert sum(fall > 1e-12 for fall in fallen) == changed
    assert min(fallen) > -1e-12


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Gender, tuple[str, ...]]:
    """Import the lists of first names from the published data: their hashes are those of words.yaml."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    files: dict[Gender, Path] = {
        "female": FOLDER / "women_top_1000_names_only.csv",
        "male": FOLDER / "men_top_1000_names_only.csv",
    }
    fetch_names(LIBRARY.words.names, files)
    return load_names(LIBRARY.words.names)


def test_predictions_add_up_to_the_released_results(names: dict[Gender, tuple[str, ...]]) -> None:
    """Summed with the lists of first names, the logged predictions give the released probabilities of rq1.

    The log holds 20 predictions a sentence where the study read 100, and two sentences that were later reworded;
    of the other nine none has a 21st prediction above the threshold.
    """
    ours = read_tokens(TOKENS / "output_roberta.txt", WORDINGS, short_lexicon(LIBRARY.words.short, names))
    theirs = read_rq1(TOKENS / "roberta_all_df.csv", WORDINGS)
    shared = {fill.key for fill in ours} & {fill.key for fill in theirs}

    assert len(shared) == 99  # 9 sentences x 11 conditions
    assert largest_difference(ours, theirs) <= 2e-5
    # the same sentences were asked again for the published table
    assert largest_difference(ours, read_rq1(RQ1["mental"], WORDINGS)) <= 2e-5


def test_an_earlier_aggregation_is_reproduced(names: dict[Gender, tuple[str, ...]]) -> None:
    """Without a threshold the sums are those of the earlier log, names among them."""
    lexicon = short_lexicon(LIBRARY.words.short, names)
    text = (TOKENS / "output_roberta_aggregated.txt").read_text(encoding="utf-8")
    tokens: list[Token] = []
    sums = 0
    for line in text.split("\n"):
        if match := re.match(r"end of finding .* score_m = (\S+), score_f = (\S+)", line):
            shares = attribute_words(tokens, lexicon, threshold=0.0)
            assert (shares.male, shares.female) == (float(match[1]), float(match[2]))
            tokens, sums = [], sums + 1
        elif match := re.match(r"(\d\S*), (.*?), ", line):
            tokens.append(Token(match[2], float(match[1])))

    assert sums == 121  # 11 sentences x 11 conditions


def test_noun_lists_are_the_released_ones() -> None:
    """The noun lists are those released, each word once; short lists and names have their own sources."""
    for gender, name in (("female", "women"), ("male", "men")):
        released = (FOLDER / f"{name}_nouns.csv").read_text(encoding="utf-8").split()
        assert list(getattr(LIBRARY.words.nouns, gender)) == list(dict.fromkeys(released))


def test_duplicates_are_found() -> None:
    """Among the released files of rq2 two hold the same values, and a third is that run with three words corrected."""
    runs = ("", "_roberta_", "_roberta_non", "_roberta_nonmh", "_roberta")
    pairs = duplicates({result(run): read_rq2(result(run), WORDINGS) for run in runs})

    assert {(pair.first, pair.second, pair.kind, pair.equal) for pair in pairs} == {
        (result(""), result("_roberta"), "values", 297),
        (result(""), result("_roberta_"), "some", 264),  # 27 sentences less the three with a misspelt word, x 11
        (result("_roberta_"), result("_roberta"), "some", 264),
    }


def test_a_file_of_another_model_is_refused(tmp_path: Path) -> None:
    """A file that bears RoBERTa's name is a byte copy of MentalRoBERTa's: known alone, and caught beside its origin."""
    copy = result("_roberta_non")
    origin = Path(shutil.copyfile(copy, tmp_path / copy.name.replace("roberta", "mentalroberta")))

    assert wrong_name(origin) is None
    assert [path for path in sorted(FOLDER.glob("*.csv")) if wrong_name(path)] == [copy]
    with pytest.raises(EquipoiseError, match=r"roberta_non_result\.csv: wrong name: it holds the bytes of Mental"):
        score_stigma(rq2=[RQ2["mental"], copy])
    (duplicate,) = duplicates({path: read_rq2(path, WORDINGS) for path in (origin, copy)})
    assert duplicate.kind == "bytes"
