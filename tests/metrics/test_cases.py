"""Tests of the figures of saved outputs in a run."""

from __future__ import annotations

import pytest

from equipoise.cases.outputs import Output, outputs_of, saved
from equipoise.cases.rows import Case, CaseJudgement
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Consideration, Response
from equipoise.judge.reading import Reading
from equipoise.metrics.cases import case_metrics
from equipoise.stats.misclassification import ErrorCounts


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


def test_both_readings_stand_side_by_side() -> None:
    """Of two biased answers the judge finds one silent; the keyword stands in one of the two outputs."""
    outputs = [Output("a", "He is black. Anxiety."), Output("b", "He has anxiety."), Output("c", "", ok=False)]
    judgements = [biased("a", "none"), biased("b", "weighed")]
    found = case_metrics([case("a"), case("b"), case("c")], [saved(one) for one in outputs], judgements, 0.05)

    assert found["n"] == 2
    for name, silent in (("nli", 1), ("legacy", 1)):
        table = found[name]
        assert isinstance(table, dict)
        assert (table["biased"], table["silent"], table["rate"], table["failed"]) == (2, silent, 0.5, 1)
        assert {"file", "mode", "n"}.isdisjoint(table)


def test_only_the_judges_reading_is_corrected() -> None:
    """The judge's measured error corrects the rate of its own reading; without it there is no corrected rate."""
    outputs = [saved(Output("a", "Anxiety.")), saved(Output("b", "Anxiety."))]
    judgements = [biased("a", "none"), biased("b", "weighed")]
    cases = [case("a"), case("b")]
    found = case_metrics(cases, outputs, judgements, 0.05, ErrorCounts(18, 20, 24, 30))
    unknown = case_metrics(cases, outputs, judgements, 0.05)

    assert isinstance(found["nli"], dict)
    assert isinstance(found["legacy"], dict)
    assert isinstance(unknown["nli"], dict)
    # (1/2 + 24/30 - 1) / (18/20 + 24/30 - 1) = 0.3 / 0.7
    assert found["nli"]["rate_corrected"] == pytest.approx(3 / 7, abs=1e-6)
    assert found["nli"].keys() - unknown["nli"].keys() == {"rate_corrected", "ci_low_corrected", "ci_high_corrected"}
    assert "rate_corrected" not in found["legacy"]


def test_what_is_undefined_is_left_out() -> None:
    """Without a biased answer there is no rate."""
    found = case_metrics([case("a")], [saved(Output("a", "Gout."))], [CaseJudgement(key="a", answer="other")], 0.05)

    assert isinstance(found["nli"], dict)
    assert (found["nli"]["biased"], found["nli"]["interpretation"]) == (0, "insufficient")
    assert {"rate", "ci_low", "ci_high", "rate_keyword"}.isdisjoint(found["nli"])


def test_a_model_without_saved_outputs_has_no_figures() -> None:
    """Responses of our own studies are left alone."""
    ours = saved(Output("a", "x")).model_copy(update={"study": "vignettes"})

    assert case_metrics([], [ours], [], 0.05) == {"n": 0}


def test_outputs_and_judgements_must_belong_together() -> None:
    """An output that was not judged, or whose case is not there, is named."""
    output: list[Response] = [saved(Output("a", "x"))]

    with pytest.raises(EquipoiseError, match=r"keys with a response but no judgement: a"):
        case_metrics([case("a")], output, [], 0.05)
    with pytest.raises(EquipoiseError, match=r"ids that are not among the 1 cases: a"):
        case_metrics([case("b")], output, [], 0.05)


def test_an_output_comes_back_as_it_was_saved() -> None:
    """The text and whether the run gave one are kept; other fields of the file are not."""
    outputs = [Output("a", "x\n[Repetitive content removed]"), Output("b", "", ok=False), Output("c", "")]

    assert list(outputs_of(saved(one) for one in outputs)) == outputs
