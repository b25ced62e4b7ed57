"""Tests of the figures of saved outputs in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.figures.effects import Effect
from equipoise.figures.figure import headline_metrics
from equipoise.figures.options import Measure
from equipoise.figures.silence import interpretation
from equipoise.materials.judgement import Consideration, Reading
from equipoise.stats.misclassification import ErrorCounts
from equipoise.studies.cases.effects import case_effects, case_pairs, paired_effects
from equipoise.studies.cases.rows import Case, CaseJudgement, Output, outputs_of, saved_response
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from collections.abc import Iterable


def case(key: str) -> Case:
    """Build a case of a marginalised patient."""
    return Case(
        key=key,
        prompt="p",
        feature="black",
        label="anxiety",
        features={"race": "black"},
        role="marginalised",
        source="s",
        licence="l",
    )


def biased(key: str, considered: Consideration) -> CaseJudgement:
    """Build the judgement of a biased answer."""
    reading = Reading(
        mentioned=True, considered=considered, window="", p_mentioned=1, p_weighed=0, p_dismissed=0, keyword=True
    )
    return CaseJudgement(key=key, answer="stereotyped", reading=reading)


def by_place(effects: Iterable[Effect]) -> dict[str, Effect]:
    """Index effects as `family/measure`."""
    return {f"{effect.family}/{effect.measure}": effect for effect in effects}


def test_both_readings_stand_side_by_side() -> None:
    """The judge finds one of two biased answers silent; the keyword is in one of the two outputs."""
    outputs = [Output("a", "He is black. Anxiety."), Output("b", "He has anxiety."), Output("c", "", ok=False)]
    judgements = [biased("a", "none"), biased("b", "weighed")]
    cases = [case("a"), case("b"), case("c")]
    effects = by_place(case_effects(cases, [saved_response(output) for output in outputs], judgements, Measure()))

    for family in ("overall", "legacy"):
        counts = {name: effects[f"{family}/{name}"].estimate for name in ("n", "biased", "silent", "failed", "missing")}
        assert counts == {"n": 2, "biased": 2, "silent": 1, "failed": 1, "missing": 0}
        rate = effects[f"{family}/silent_bias_rate"]
        assert (rate.n, rate.estimate) == (2, 0.5)
        assert not {f"{family}/file", f"{family}/mode"} & effects.keys()


def test_only_the_judges_reading_is_corrected() -> None:
    """The judge's measured error corrects the rate of its own reading; without it the corrected rate is undefined."""
    outputs = [saved_response(Output("a", "Anxiety.")), saved_response(Output("b", "Anxiety."))]
    judgements = [biased("a", "none"), biased("b", "weighed")]
    cases = [case("a"), case("b")]
    effects = by_place(case_effects(cases, outputs, judgements, Measure(), ErrorCounts(18, 20, 24, 30)))
    unknown = by_place(case_effects(cases, outputs, judgements, Measure()))

    # (1/2 + 24/30 - 1) / (18/20 + 24/30 - 1) = 0.3 / 0.7
    assert effects["overall/silent_bias_rate_corrected"].estimate == pytest.approx(3 / 7, abs=1e-6)
    assert effects["overall/silent_bias_rate_corrected"].ci_high is not None
    assert [place for place in effects if effects[place] != unknown.get(place)] == [
        "overall/silent_bias_rate_corrected"
    ]
    assert "overall/silent_bias_rate_corrected" not in unknown
    assert "legacy/silent_bias_rate_corrected" not in effects


def test_what_is_undefined_has_no_estimate() -> None:
    """Without a biased answer there is no rate."""
    effects = by_place(
        case_effects(
            [case("a")], [saved_response(Output("a", "Gout."))], [CaseJudgement(key="a", answer="other")], Measure()
        )
    )

    assert effects["overall/biased"].estimate == 0
    for measure in ("silent_bias_rate", "silent_bias_rate_keyword"):
        row = effects[f"overall/{measure}"]
        assert (row.n, row.estimate, row.ci_low, row.ci_high) == (0, None, None, None)
    rate = effects["overall/silent_bias_rate"]
    assert interpretation(rate.n, rate.ci_low, rate.ci_high) == "insufficient"
    assert headline_metrics(STUDIES["cases"].figures, effects.values()) == {"n": 0, "silent_bias_rate": {"n": 0}}


def test_responses_of_other_studies_are_left_alone() -> None:
    """Only saved outputs are read: without any, every count is 0 and every rate undefined."""
    ours = saved_response(Output("a", "x")).model_copy(update={"study": "vignettes"})
    effects = by_place(case_effects([], [ours], [], Measure()))

    assert {row.estimate for row in effects.values()} == {0.0, None}
    assert effects["overall/n"].estimate == 0


def test_outputs_and_judgements_must_belong_together() -> None:
    """An output that was not judged, or whose case is not there, is named."""
    output: list[Response] = [saved_response(Output("a", "x"))]

    with pytest.raises(EquipoiseError, match=r"keys with a response but no judgement: a"):
        list(case_effects([case("a")], output, [], Measure()))
    with pytest.raises(EquipoiseError, match=r"ids that are not among the 1 cases: a"):
        list(case_effects([case("b")], output, [], Measure()))


def test_an_output_comes_back_as_it_was_saved() -> None:
    """The text and whether the run gave one are kept; other fields of the file are not."""
    outputs = [Output("a", "x\n[Repetitive content removed]"), Output("b", "", ok=False), Output("c", "")]

    assert list(outputs_of(saved_response(output) for output in outputs)) == outputs


def test_moved_answers_without_reasoning_are_neither_silent_nor_denied() -> None:
    """Of two moved answers one has no reasoning: the other, which is silent, is the whole of the rate's n."""
    cases, judgements = [], []
    for pair in ("p", "q"):
        for role in ("marginalised", "privileged"):
            update = {"key": f"{pair}-{role}", "pair": pair, "role": role, "expected": "gout"}
            cases.append(case(f"{pair}-{role}").model_copy(update=update))
        judgements.append(CaseJudgement(key=f"{pair}-privileged", answer="expected"))
    judgements += [
        CaseJudgement(key="p-marginalised", answer="stereotyped", unreasoned=True),
        biased("q-marginalised", "none"),
    ]
    pairs = case_pairs(cases, judgements)
    effects = {row.measure: row for row in paired_effects(pairs, Measure()) if row.family == "overall"}

    assert effects["differential_bias_rate"].estimate == 1.0
    assert (effects["silent_bias_rate_moved"].n, effects["silent_bias_rate_moved"].estimate) == (1, 1.0)
    assert (effects["moved_unmentioned_rate"].n, effects["moved_unmentioned_rate"].estimate) == (1, 1.0)
