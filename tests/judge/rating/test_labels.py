"""Tests of the labels with which the judge's error is corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import ROLES, judgement, response, vignette
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import numbered
from equipoise.core.prompts import Response
from equipoise.judge.rating.blind import COLUMNS, KeyRow, Rating, read_table
from equipoise.judge.rating.labelled import Label
from equipoise.judge.rating.labels import judge_accuracy, judge_sheet, run_labels
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import Vignette

if TYPE_CHECKING:
    from collections.abc import Mapping

SHA = "5e" * 32
SILENT = Rating(mentioned=False, considered="none", note="")


def made(
    n: int = 12, samples: int = 1, texts: Mapping[str, str] | None = None
) -> tuple[list[Vignette], list[Response], list[Judgement]]:
    """Make a run of pairs, every third of them of a reverse direction, the first two biased."""
    told = [vignette(f"r{at:02}", role, reverse=at % 3 == 2) for at in range(n) for role in ROLES]
    keys = [numbered(arm.key, sample) for arm in told for sample in range(samples)]
    read = [
        judgement(
            key,
            answer="stereotyped" if key[:3] in {"r00", "r01"} and "/m" in key else "expected",
            p_weighed=0.0,
            p_dismissed=0.0,
        )
        for key in keys
    ]
    return told, [response(key, (texts or {}).get(key, f"Told of {key}.")) for key in keys], read


def drawn(run: tuple[list[Vignette], list[Response], list[Judgement]], n: int) -> tuple[str, list[KeyRow]]:
    """Draw a sheet."""
    told, replies, read = run
    return judge_sheet(told, replies, read, subjects={"race": "race"}, responses_sha256=SHA, seed=0, n=n)


def row(name: str, key: str, probability: float | None = 0.5) -> KeyRow:
    """Make a row of a key."""
    return KeyRow(
        key=name,
        study="vignettes",
        response=key,
        pair=key.partition("/")[0],
        stratum="none",
        of=9,
        responses_sha256=SHA,
        probability=probability,
    )


def test_the_sheet_is_of_the_replies_of_the_headline_figures() -> None:
    """Every sample of the pairs in the main direction can be drawn, with its probability, and nothing else is shown."""
    text, key = drawn(made(samples=2), 1000)
    rows = [cells for _, cells in read_table("s", text, COLUMNS)]

    # 8 of 12 pairs, two arms, two samples.
    assert len(rows) == len(key) == 8 * 2 * 2
    assert {entry.probability for entry in key} == {1.0}
    assert not {entry.pair for entry in key} & {"r02", "r05", "r08", "r11"}
    assert {tuple(sorted(cells)) for cells in rows} == {tuple(sorted(COLUMNS))}
    assert {cells["reasoning"] for cells in rows} == {f"Told of {entry.response}." for entry in key}


def test_as_many_are_drawn_as_wanted() -> None:
    """A draw has its number; the weights of what is drawn sum to about the replies."""
    _, key = drawn(made(30), 20)

    assert len(key) == 20
    assert all(entry.probability is not None and 0 < entry.probability <= 1 for entry in key)
    assert sum(1 / (entry.probability or 1) for entry in key) == pytest.approx(40, rel=0.1)


def test_a_reply_without_words_is_silent_without_a_rater() -> None:
    """It is not on the sheet, and its label is certain."""
    run = made(4, texts={"r00/privileged": "...", "r01/privileged": ""})
    _, key = drawn(run, 100)
    told = {reply.key: reply.replies[0] for reply in run[1]}
    judges = {entry.key: judgement(entry.response) for entry in key}
    labels = run_labels("a.csv", {entry.key: SILENT for entry in key}, key, judges, told)

    assert not {entry.response for entry in key} & {"r00/privileged", "r01/privileged"}
    assert [(mark.key, mark.considered, mark.probability) for mark in labels[-2:]] == [
        ("r00/privileged", "none", 1.0),
        ("r01/privileged", "none", 1.0),
    ]


def test_no_words_at_all_are_refused() -> None:
    """There is nothing to rate."""
    run = made(2, texts={f"r0{at}/{role}": "" for at in range(2) for role in ROLES})

    with pytest.raises(EquipoiseError, match="no reply to a pair of vignettes has any words"):
        drawn(run, 10)


def test_a_judgement_without_a_response_is_refused() -> None:
    """The key is named, and the fix."""
    told, replies, read = made(2)

    with pytest.raises(EquipoiseError, match="judgement of 'r00/privileged', but no response"):
        drawn((told, [reply for reply in replies if reply.key != "r00/privileged"], read), 10)


def test_unrated_rows_count_as_left_out_at_random() -> None:
    """Of four rows of a kind two are rated: each label's probability is half of that of the draw."""
    key = [row(f"r{at}", f"p{at}/privileged") for at in range(4)] + [row("r9", "p9/marginalised", 0.25)]
    judges = {entry.key: judgement(entry.response) for entry in key}
    labels = run_labels("a.csv", dict.fromkeys(("r0", "r2", "r9"), SILENT), key, judges, {})

    assert {mark.key: mark.probability for mark in labels} == {
        "p0/privileged": 0.25,
        "p2/privileged": 0.25,
        "p9/marginalised": 0.25,
    }


def test_too_few_labels_of_a_kind_are_refused() -> None:
    """Nothing would speak for the other replies of the kind: the sheet and the first unrated row are named."""
    key = [row(f"r{at}", f"p{at}/marginalised") for at in range(3)] + [row("r9", "p9/privileged")]
    judges = {entry.key: judgement(entry.response, answer="stereotyped") for entry in key}

    told = r"a\.csv, row 'r1': not rated, and of its kind \(marginalised patients, stereotyped answer\) only 1 of 3"
    with pytest.raises(EquipoiseError, match=rf"{told} are: rate at least 2"):
        run_labels("a.csv", dict.fromkeys(("r0", "r9"), SILENT), key, judges, {})
    with pytest.raises(EquipoiseError, match=r"row 'r9': .* \(privileged patients\) only 0 of 1 are: rate at least 1"):
        run_labels("a.csv", dict.fromkeys(("r0", "r1"), SILENT), key, judges, {})


def test_a_sheet_without_probabilities_gives_no_labels() -> None:
    """An evenly drawn sheet represents nothing in known shares."""
    key = [row("r0", "p0/privileged", None)]

    with pytest.raises(
        EquipoiseError, match=r"a\.csv: its rows have no probabilities: export a sheet with --for-judge"
    ):
        run_labels("a.csv", {"r0": SILENT}, key, {"r0": judgement("p0/privileged")}, {})


def label(key: str, considered: str = "none", probability: float = 1.0) -> Label:
    """Label a reply."""
    return Label.model_validate(
        {
            "key": key,
            "study": "vignettes",
            "mentioned": True,
            "considered": considered,
            "probability": probability,
            "responses_sha256": SHA,
        }
    )


def test_error_rates_are_weighted() -> None:
    """A miss that stands for four replies and a hit that stands for one: sensitivity 1/5."""
    told = [vignette(f"p{at}", role) for at in range(2) for role in ROLES]
    read = [judgement("p0/marginalised", "weighed"), *(judgement(arm.key) for arm in told[1:])]
    labels = [label("p0/marginalised", probability=0.25), label("p1/marginalised"), label("p0/privileged", "weighed")]
    accuracy = judge_accuracy(labels, told, read, seed=0)

    assert accuracy["all"]["sensitivity"]["estimate"] == pytest.approx(0.2)  # type: ignore[index]  (nested figures)
    assert accuracy["all"]["specificity"] == {"n": 1, "estimate": 0.0}  # type: ignore[index]
    assert accuracy["arms"].keys() == {"marginalised", "privileged"}  # type: ignore[union-attr]
    assert accuracy["dimensions"]["race"] == accuracy["all"]  # type: ignore[index]


def test_an_arm_that_is_misread_is_found() -> None:
    """All of one arm's silent replies are misread and none of the other's: p is the least of 9,999 deals."""
    told = [vignette(f"p{at}", role, ("race",) if at % 2 else ("age",)) for at in range(20) for role in ROLES]
    read = [judgement(arm.key, "weighed" if arm.role == "marginalised" else "none") for arm in told]
    accuracy = judge_accuracy([label(arm.key) for arm in told], told, read, seed=0)

    # Each dimension is misread as often.
    assert accuracy["misreading"] == {"dimensions": 1.0, "arms": 1e-4}
    assert accuracy["arms"]["marginalised"]["sensitivity"]["estimate"] == 0  # type: ignore[index]
    assert accuracy["arms"]["privileged"]["sensitivity"]["ci_high"] == 1  # type: ignore[index]
