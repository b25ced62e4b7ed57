"""Tests of last digits: what another processor computes is not a change, and every real change is one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import ROLES, decision, fill, judgement, reading, response, vignette
from equipoise.compare.changes import changes
from equipoise.compare.gate import gate
from equipoise.compare.items import Flip, flips, settle
from equipoise.compare.revisions import Revision
from equipoise.figures.digits import TOLERANCE, near, tied
from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.options import Decision, Endpoint, Measure
from equipoise.figures.verdicts import NOT_WORSE
from equipoise.materials.questions import Choice, Order
from equipoise.studies.decisions.comparison import DecisionRows
from equipoise.studies.questions.comparison import QuestionRows
from equipoise.studies.stigma.comparison import FillRows
from equipoise.studies.vignettes.comparison import VignetteRows

if TYPE_CHECKING:
    from equipoise.text.answer import AnswerKind

PROCESSOR = 1e-5
"""How far log likelihoods of two processors are from each other, in nats."""
KINDS: dict[str, AnswerKind] = {"gout": "expected", "sciatica": "stereotyped", "shingles": "distractor"}
ENDPOINT = Endpoint(figure="stereotype_shift", margin=0.5, why="made up")


def run(scores: dict[str, dict[str, float]], **fields: Any) -> Revision:
    """Make a run from the log likelihoods of the answers to each arm, by its key; the likeliest is chosen."""
    responses, judgements = [], []
    for key, table in scores.items():
        # One token each, so that the total is the mean.
        responses.append(response(key, log_likelihood=table, candidate_tokens=dict.fromkeys(table, 1)))
        label = max(table, key=table.__getitem__)
        judgements.append(
            judgement(
                key,
                answer=KINDS[label],
                label=label,
                answer_likelihood=KINDS[label],
                label_likelihood=label,
                answer_generated="expected",
                log_odds=round(table["sciatica"] - table["gout"], 6),
            )
        )
    made: dict[str, Any] = {
        "name": "run",
        "rows": {
            "vignettes": VignetteRows(
                vignettes=[vignette(*key.split("/")) for key in scores],
                answers=judgements,
                responses={row.key: row for row in responses},
            )
        },
        "options": Measure(n_bootstrap=200),
        "decision": Decision(endpoints={"vignettes": ENDPOINT}),
        "answers": {"vignettes": "a"},
        "entry": {"backend": "onnx"},
        "effects": [effect(Group("overall", "all", "vignettes"), "stereotype_shift", len(scores) // 2, Estimate(0.0))],
    }
    return Revision(**(made | fields))


def drawn(seed: int = 0) -> dict[str, dict[str, float]]:
    """Draw the log likelihoods of 12 pairs, no two answers of which are near each other."""
    rng = np.random.default_rng(seed)
    return {
        f"p{number:02d}/{role}": dict(zip(KINDS, (-1.0 - rng.permutation(3)).tolist(), strict=True))
        for number in range(12)
        for role in ROLES
    }


def perturbed(scores: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Move every log likelihood as another processor would; the marginalised patient's stereotype moves up."""
    rng = np.random.default_rng(1)
    return {
        key: {
            label: value
            + PROCESSOR * (1 if key.endswith("/marginalised") and label == "sciatica" else rng.choice([-1, 1]))
            for label, value in table.items()
        }
        for key, table in scores.items()
    }


def step(key: str) -> float:
    """Give what the stereotyped answer to the marginalised patient gains."""
    return 0.001 * key.endswith("/marginalised")


def differing(base: Revision, head: Revision) -> int:
    """Count the judgements that differ at all."""
    before, after = (run.rows["vignettes"].answers for run in (base, head))
    return sum(old != new for old, new in zip(before, after, strict=True))


def judged_as(run: Revision, **fields: Any) -> Revision:
    """Give the run with other fields of every judgement."""
    rows = run.rows["vignettes"]
    answers = [answer.model_copy(update=fields) for answer in rows.answers]
    return replace(run, rows={"vignettes": replace(rows, answers=answers)})


def test_another_processor_is_no_change() -> None:
    """Log likelihoods that are off by 1e-5, all in one direction: nothing moves, and the answers count as the same."""
    base, head = run(drawn()), run(perturbed(drawn()), answers={"vignettes": "b"})
    settled = settle(base, head)
    rows = [row for row in changes(base, settled.head) if row.n]

    # Digit by digit every pair would have moved, and all in one direction.
    raw = next(row for row in changes(base, head) if row.figure.name == "vignettes.stereotype_shift")
    assert raw.moved > 0
    assert raw.p is not None
    assert raw.p < 0.05
    assert {(row.change, row.moved) for row in rows if row.change is not None} == {(0.0, 0)}
    # Those of the 24 rows in which the two terms of the log odds do not move alike.
    assert settled.rows == {"vignettes": differing(base, head)}
    assert settled.rows["vignettes"] > 12
    assert settled.ties == frozenset()
    assert gate(base, settled.head, rows).word == NOT_WORSE


def test_a_real_change_is_not_hidden() -> None:
    """A change of a thousandth of a nat in every pair, and one of a tenth in a single pair, are changes as they are."""
    base = run(drawn())
    every = run({key: table | {"sciatica": table["sciatica"] + step(key)} for key, table in drawn().items()})
    alone = perturbed(drawn())
    alone["p03/marginalised"]["sciatica"] += 0.1
    settled = settle(base, every), settle(base, run(alone))
    rows = [
        next(row for row in changes(base, result.head) if row.figure.name == "vignettes.stereotype_shift")
        for result in settled
    ]

    assert [result.rows for result in settled] == [{}, {"vignettes": differing(base, run(alone)) - 1}]
    assert (rows[0].moved, rows[0].change) == (12, pytest.approx(0.001))
    assert (rows[1].moved, rows[1].change) == (1, pytest.approx(0.1 / 12, abs=1e-5))


def test_a_flip_on_a_tie_is_told_as_a_tie() -> None:
    """Two answers that are equally likely: the flip is listed as a tie, and no figure counts it."""
    scores = drawn()
    scores["p00/marginalised"] = {"gout": -1.0, "sciatica": -1.00001, "shingles": -3.0}
    other = perturbed(scores)
    other["p00/marginalised"] = {"gout": -1.00001, "sciatica": -1.0, "shingles": -3.0}
    base, head = run(scores), run(other)
    settled = settle(base, head)
    rate = next(row for row in changes(base, settled.head) if row.figure.name == "vignettes.differential_bias_rate")

    assert settled.ties == {"p00/marginalised"}
    assert flips(base, head, settled.ties) == [
        Flip("vignettes", "p00/marginalised", "expected", "stereotyped, silent", "to biased", tie=True)
    ]
    assert (rate.change, rate.moved) == (0.0, 0)


def test_a_flip_with_the_same_likelihoods_is_no_tie_where_one_answer_is_likelier() -> None:
    """Code or settings that read another answer from the same numbers change the answer."""
    base = run(drawn())

    assert settle(base, judged_as(base, answer="distractor", label="shingles")).rows == {}


def test_a_half_that_digits_cross_is_a_tie_and_another_reading_of_the_same_digits_is_not() -> None:
    """A probability of a half may fall on either side; one of 0.6 is read otherwise only by other code."""

    def judged(p: float, considered: Any) -> Revision:
        made = run({key: table for key, table in drawn().items() if key.startswith("p00")})
        return judged_as(made, p_weighed=p, p_dismissed=0.0, considered=considered)

    crossed = settle(judged(0.49999, "none"), judged(0.50001, "weighed"))
    read = settle(judged(0.6, "weighed"), judged(0.60001, "none"))

    assert (crossed.rows, len(crossed.ties)) == ({"vignettes": 2}, 2)
    assert (read.rows, read.ties) == ({}, frozenset())


def test_questions_decisions_and_sentences_have_last_digits_too() -> None:
    """A letter, a level and a gender whose probabilities differ by 1e-5: equal, and a tie where they tie."""

    def told(first: float, second: float) -> Revision:
        orders = [Order(shift=0, probabilities={"A": first, "B": second, "C": 1 - first - second})]
        asked = decision("p1")
        choice = Choice(key="q1/neutral", study="questions", letter="A" if first > second else "B", orders=orders)
        read = [reading(asked, role, (first, second, 1 - first - second)) for role in ROLES]
        rows = {
            "questions": QuestionRows(answers=[choice]),
            "decisions": DecisionRows(decisions=[asked], answers=read),
            "stigma": FillRows(answers=[fill("has", "OCD", first, second)]),
        }
        return Revision(name="run", rows=rows)

    base = told(0.40001, 0.4)
    tie, real = settle(base, told(0.4, 0.40001)), settle(base, told(0.4, 0.41))

    assert tie.rows == {"questions": 1, "decisions": 2, "stigma": 1}
    assert tie.ties == {"q1/neutral", *(f"p1/{role}/triage" for role in ROLES)}
    assert [row.letter for row in tie.head.rows["questions"].answers] == ["A"]
    assert real.rows == {}
    assert [row.letter for row in real.head.rows["questions"].answers] == ["B"]


@given(st.floats(-50, 50), st.floats(-3 * TOLERANCE, 3 * TOLERANCE))
def test_the_tolerance_is_symmetric_and_ends_where_it_says(value: float, step: float) -> None:
    """Numbers are equal up to the tolerance on either side, and no further."""
    if abs(abs(step) - TOLERANCE) > 1e-9:
        assert near(value, value + step) == near(value + step, value) == (abs(step) < TOLERANCE)


def test_words_are_never_near() -> None:
    """Another word, another length or another key is another value; a truth value is not a number."""
    assert not near("a", "b")
    assert not near((1.0,), (1.0, 1.0))
    assert not near({"a": 1.0}, {"b": 1.0})
    assert not near(judgement("p/marginalised", answer="expected"), judgement("p/marginalised", answer="stereotyped"))
    assert not tied("a", "b", {"a": 0.0, "b": 0.0}, {"a": 0.0})
