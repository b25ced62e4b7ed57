"""Tests of figures, changes and flips from rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builders import CASE, ROLES, decision, reading, vignette
from equipoise.compare.changes import Change, changes, differs_from_record, reflected, sorted_by_harm
from equipoise.compare.items import Flip, flips, item_clusters, reworded
from equipoise.compare.revisions import Revision
from equipoise.figures.effects import Group, rate
from equipoise.figures.options import Decision, Endpoint, Measure
from equipoise.materials.cities import City
from equipoise.materials.orders import choices
from equipoise.studies.cases.comparison import CaseRows
from equipoise.studies.cases.rows import CaseJudgement
from equipoise.studies.decisions.comparison import DecisionRows
from equipoise.studies.decisions.effects import decision_effects
from equipoise.studies.questions.comparison import QuestionRows
from equipoise.studies.registry import FIGURES
from equipoise.studies.stigma.comparison import FillRows
from equipoise.studies.vignettes.comparison import VignetteRows
from runs import Case, fill_rows, question_rows, vignette_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.studies.decisions.rows import CaseDecision, Reading
    from equipoise.text.answer import AnswerKind

CITY = City.model_validate(
    {
        "title": "London",
        "composition": {
            "race": {"reference": "white", "proportions": {"white": 0.8, "black": 0.2}, "source": "made up"},
            "gender": {"reference": "female", "proportions": {"male": 0.4, "female": 0.6}, "source": "made up"},
        },
    }
)
BLACK = "race/unprivileged/unfavourable"
OPTIONS = Measure(n_bootstrap=200)


def revision(
    name: str = "base",
    *,
    cases: list[Case] | None = None,
    letters: list[dict[str, str]] | None = None,
    disparities: dict[str, float] | None = None,
    asked: Sequence[CaseDecision] = (),
    readings: Sequence[Reading] = (),
    **fields: Any,
) -> Revision:
    """Make a revision from what its items were answered; a study without items was not run."""
    vignettes, judgements, _ = vignette_rows(cases or [])
    variants, more = question_rows(letters or [], ("race", "gender"))
    chosen = choices(more, {variant.key: variant.options for variant in variants})
    rows = {
        "vignettes": VignetteRows(vignettes=vignettes, answers=judgements),
        "questions": QuestionRows(variants=variants, answers=chosen, cities={"london": CITY}),
        "stigma": FillRows(answers=[] if disparities is None else fill_rows(disparities)),
        "decisions": DecisionRows(decisions=asked, answers=readings),
    }
    return Revision(name=name, rows=rows, options=OPTIONS, **fields)


def by_name(base: Revision, head: Revision) -> dict[str, Any]:
    """Give the changes by the figures' names."""
    return {row.figure.name: row for row in changes(base, head)}


def test_decisions_are_compared_by_pair_and_story() -> None:
    """A pair's decisions are averaged, and pairs of one story are a cluster; a panel has no pairs."""
    rows = [decision(f"p{n}", ask, story=f"story {n // 2}") for n in range(6) for ask in ("triage", "test")]
    rows.append(decision("p6", grade="C"))
    # Mean levels of the marginalised patient 1, of the privileged one 1.5, or twice as far apart.
    told = [
        [reading(case, role, (0.25, 0.5, 0.25) if role == "privileged" else low) for case in rows for role in ROLES]
        for low in ((0.5, 0.5, 0.0), (1.0, 0.0, 0.0))
    ]
    base, head = (revision(name, asked=rows, readings=read) for name, read in zip(("base", "head"), told, strict=True))
    by_figure = by_name(base, head)
    row = by_figure["decisions.decision_shift"]

    # Half a level of two is a quarter of the scale, a whole one half of it.
    assert (row.n, row.base, row.head, row.change) == (6, 0.25, 0.5, 0.25)
    assert by_figure["decisions.undertreatment.decision_shift"].n == 6
    assert by_figure["decisions.disbelief.decision_shift"].why == "not measured in base and head"
    # Three stories move alike: by signs, 2 of 2^3.
    assert row.p == 0.25
    assert item_clusters(head)["decisions"]["p5"] == "story 2"
    effects = [effect for effect in decision_effects(rows, told[1], OPTIONS) if row.figure.covers(effect)]
    assert [effect.estimate for effect in effects] == [row.head]
    panel = revision(asked=[case.model_copy(update={"dimensions": ()}) for case in rows], readings=told[0])
    assert by_name(panel, panel)["decisions.decision_shift"].n == 0


def test_equal_revisions_have_no_change() -> None:
    """Every measured figure changes by 0 over all items, none moves, and no answer flips."""
    made = revision(cases=[Case("stereotyped"), Case()], letters=[{}, {"neutral": "B"}], disparities={"OCD": 0.2})
    rows = [row for row in changes(made, made) if row.n]

    assert len(rows) == 20
    moved = {(row.change, row.moved, row.only_base, row.only_head) for row in rows if row.why != "undefined"}
    assert moved == {(0.0, 0, 0, 0)}
    assert flips(made, made) == []


def test_only_shared_items_count() -> None:
    """Pairs and questions that one revision alone has are counted, and are not in the change."""
    base = revision(cases=[Case()] * 3, letters=[{}] * 2)
    head = revision("head", cases=[Case("stereotyped")] * 2, letters=[{BLACK: "B"}] * 5)
    by_figure = by_name(base, head)
    rate, gap = by_figure["vignettes.differential_bias_rate"], by_figure["questions.race.gap"]

    assert (rate.n, rate.only_base, rate.only_head, rate.base, rate.head) == (2, 1, 0, 0.0, 1.0)
    assert (gap.n, gap.only_base, gap.only_head, gap.change) == (2, 0, 3, 1.0)


def test_a_study_that_did_not_run_is_named() -> None:
    """Without rows under one revision there is no change, and the reason says where they are missing."""
    by_figure = by_name(revision(cases=[Case()]), revision("head", letters=[{}]))

    assert by_figure["vignettes.stereotype_shift"].why == "not measured in head"
    assert by_figure["questions.race.gap"].why == "not measured in base"
    assert by_figure["stigma.rq1.difference"].why == "not measured in base and head"


def test_two_scorers_are_not_compared() -> None:
    """Probabilities of a masked model and of a causal one are not on one scale."""
    base, head = revision(disparities={}), revision("head", disparities={})
    fills = [fill.model_copy(update={"scorer": "masked"}) for fill in head.rows["stigma"].answers]
    masked = replace(head, rows={**head.rows, "stigma": FillRows(answers=fills)})

    assert by_name(base, masked)["stigma.rq1.difference"].why == "scorers causal and masked are not on one scale"


def test_the_recorded_figure_is_kept_with_the_one_read() -> None:
    """Effects that differ from what their own rows give were computed by other code or settings."""
    recorded = [
        rate(Group("overall", "all", "vignettes"), "differential_bias_rate", [True, False, False, False], 0.05),
        rate(Group("tier", "single", "vignettes"), "differential_bias_rate", [True], 0.05),
    ]
    by_figure = by_name(
        revision(cases=[Case("stereotyped"), Case()], effects=recorded), revision(cases=[Case(), Case()])
    )
    row = by_figure["vignettes.differential_bias_rate"]

    assert (row.base_recorded, row.base_read) == (0.25, 0.5)
    assert differs_from_record(row.base_recorded, row.base_read)
    assert not differs_from_record(row.head_recorded, row.head_read)
    assert not differs_from_record(0.333333, 1 / 3)


def test_holm_is_over_the_figures_of_a_study() -> None:
    """The adjusted p-value of a vignette figure does not depend on how many figures other studies have."""
    cases, stereotyped = [Case()] * 8, [Case("stereotyped")] * 8
    alone = by_name(revision(cases=cases), revision("head", cases=stereotyped))
    together = by_name(revision(cases=cases, letters=[{}]), revision("head", cases=stereotyped, letters=[{}]))
    row = alone["vignettes.differential_bias_rate"]

    # Among the others, written errors and right answers have a test, and change as the answers do: three equal p.
    assert (row.p, row.p_holm) == (2 / 2**8, 3 * 2 / 2**8)
    assert together["vignettes.differential_bias_rate"] == row


def test_flips_are_changes_of_kind() -> None:
    """A stereotyped answer is silent or not; one wrong letter for another is not a flip."""
    base = revision(
        cases=[Case(), Case("stereotyped", considered="none"), Case(privileged="stereotyped")],
        letters=[{"neutral": "B"}, {"neutral": "B"}, {}],
    )
    head = revision(
        "head",
        cases=[Case("distractor"), Case("stereotyped", considered="weighed"), Case(privileged="stereotyped")],
        letters=[{"neutral": "C"}, {}, {BLACK: "C"}],
    )

    assert flips(base, head) == [
        Flip("questions", f"q02/{BLACK}", "right", "wrong", "to biased"),
        Flip("vignettes", "p00/marginalised", "expected", "distractor"),
        Flip("questions", "q01/neutral", "wrong", "right"),
        Flip("vignettes", "p01/marginalised", "stereotyped, silent", "stereotyped, admitted", "to admitted"),
    ]


def test_flips_of_decisions_are_changes_of_level() -> None:
    """Less urgent is worse for the marginalised patient alone, where the bias is to undertreat."""
    rows = [decision("p1"), decision("p2")]
    levels = {"low": (0.8, 0.1, 0.1), "high": (0.1, 0.1, 0.8)}

    def decided(**chosen: str) -> Revision:
        told = [
            reading(case, role, levels[chosen.get(f"{case.pair}_{role}", "low")]) for case in rows for role in ROLES
        ]
        return revision(asked=rows, readings=told)

    before = decided(p1_marginalised="high", p1_privileged="high")

    assert flips(before, decided(p2_marginalised="high")) == [
        Flip("decisions", "p1/marginalised/triage", "high", "low", "to biased"),
        Flip("decisions", "p1/privileged/triage", "high", "low"),
        Flip("decisions", "p2/marginalised/triage", "low", "high", "from biased"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "way", "shown"),
    [
        # Further from 0 on the same side, and on the other side; nearer; as far on the other side.
        (0.1, 0.6, "worse", True),
        (-0.1, 0.6, "worse", True),
        (0.6, 0.1, "better", True),
        (-0.3, 0.3, "no change", False),
        # The change of 0.7 is significant, and that of the distance, 0.1, is not: sd 0.2 * sqrt 2, n 12.
        (-0.3, 0.4, "worse", False),
    ],
)
def test_worse_is_further_from_the_null_value(before: float, after: float, way: str, *, shown: bool) -> None:
    """A figure that changes its side changes, and bias does not grow by that."""
    noise = 0.2 * np.array([1, -1, 1, -1, 1, -1, -1, 1, -1, 1, -1, 1])

    def run(mean: float, signs: np.ndarray[Any, Any]) -> Revision:
        return revision(cases=[Case(log_odds=(round(float(mean + sign), 6), 0.0)) for sign in signs])

    row = by_name(run(before, noise), run(after, np.roll(noise, 2)))["vignettes.stereotype_shift"]

    assert row.p_holm is not None
    assert row.p_holm < 0.05
    assert row.way == way
    assert row.bias(0.05) == (way if shown or way == "no change" else f"{way} (n.s.)")


def test_of_a_rate_more_is_worse_and_of_an_accuracy_less() -> None:
    """Eight biased pairs of eight are worse, eight right answers better; a figure of base rates is neither."""
    by_figure = by_name(
        revision(cases=[Case(stub=(0.0, 0.0))] * 8, letters=[{"neutral": "B"}] * 8),
        revision(cases=[Case("stereotyped", stub=(1.0, 0.0))] * 8, letters=[{}] * 8),
    )

    assert by_figure["vignettes.differential_bias_rate"].bias(0.05) == "worse"
    assert by_figure["questions.neutral.accuracy"].bias(0.05) == "better"
    assert by_figure["vignettes.stereotype_shift_stub"].bias(0.05) == ""


def test_a_declared_direction_decides_what_is_worse() -> None:
    """Where bias lies above 0 alone, a figure that goes from -1 to -2 is no worse, and one from -1 to 1 is."""
    endpoint = Endpoint(figure="stereotype_shift", margin=0.5, why="made up", direction="above")
    cases = {mean: [Case(log_odds=(mean + 0.01 * number, 0.0)) for number in range(8)] for mean in (-2, -1, 1)}
    base = revision(cases=cases[-1], decision=Decision(endpoints={"vignettes": endpoint}))
    ways = {mean: by_name(base, revision(cases=some))["vignettes.stereotype_shift"].way for mean, some in cases.items()}

    assert ways == {-2: "no change", -1: "no change", 1: "worse"}


def test_reflection_turns_a_figure_about_its_null_value() -> None:
    """A ratio of 1.5 becomes 0.5 about 1, a contrast and a mean change their sign; of one side they become null."""
    assert reflected((3.0, 2.0), 1.0, "both") == (1.0, 2.0)
    assert reflected((3.0, 2.0), 1.0, "above") == (2.0, 2.0)
    assert reflected((0.3, True, "OCD"), 0.0, "both") == (-0.3, True, "OCD")
    assert (reflected(0.3, 0.0, "both"), reflected(0.3, 0.0, "below")) == (-0.3, 0.0)


def test_what_got_worse_comes_first() -> None:
    """Worse before worse (n.s.), figures that say nothing, better (n.s.), better, and no change."""
    figure = FIGURES[0]
    given = {
        "same": Change(figure, n=1, change=0.0, way="no change"),
        "better": Change(figure, n=1, change=1.0, way="better", p_way=0.001),
        "stub": Change(figure, n=1, change=1.0),
        "maybe": Change(figure, n=1, change=1.0, way="worse", p_way=0.2),
        "worse": Change(figure, n=1, change=1.0, way="worse", p_way=0.01),
        "worst": Change(figure, n=1, change=1.0, way="worse", p_way=0.001),
        "hope": Change(figure, n=1, change=1.0, way="better"),
    }
    names = {id(row): name for name, row in given.items()}

    assert [names[id(row)] for row in sorted_by_harm([*given.values()], 0.05)] == [
        *("worst", "worse", "maybe", "stub", "hope", "better", "same"),
    ]


def test_pairs_of_saved_outputs_are_compared() -> None:
    """The change of the study `cases` is paired by the pairs of both revisions, and its answers' flips are listed."""

    def saved(name: str, marginalised: AnswerKind) -> Revision:
        arms = [
            CASE.model_copy(
                update={
                    "key": f"p{n}/{role}",
                    "pair": f"p{n}",
                    "role": role,
                    "expected": "infarction",
                    "prompt": f"Case {n}, {role}",
                }
            )
            for n in range(6)
            for role in ROLES
        ]
        kinds = {"marginalised": marginalised, "privileged": "expected"}
        judged = [CaseJudgement.model_validate({"key": arm.key, "answer": kinds[arm.role]}) for arm in arms]
        return Revision(name=name, rows={"cases": CaseRows(cases=arms, answers=judged)}, options=OPTIONS)

    base, head = saved("base", "expected"), saved("head", "stereotyped")
    row = by_name(base, head)["cases.differential_bias_rate"]

    # All six pairs changed: p is 2 / 2^6.
    assert (row.base, row.head, row.change, row.n, row.p) == (0, 1, 1, 6, 2 / 2**6)
    assert by_name(base, head)["cases.differential_vs_reverse"].change == 1
    assert flips(base, head)[0] == Flip("cases", "p0/marginalised", "expected", "stereotyped, silent", "to biased")
    assert len(flips(base, head)) == 6


def test_changed_texts_are_counted() -> None:
    """A change over texts that differ may be the text's: how many do is counted among those that both ask."""
    base = revision(letters=[{}, {}])
    rows = base.rows["questions"]
    variants = [rows.variants[0].model_copy(update={"text": "Another question?"}), *rows.variants[1:]]
    other = replace(base, rows={**base.rows, "questions": replace(rows, variants=variants)})

    assert reworded(base, other) == [("questions", 1, len(variants))]


def test_texts_have_what_a_value_depends_on() -> None:
    """Sentences have their templates, conditions and the words of their scorer; decisions and letters their cases."""
    files = {
        "templates": {"rq1": {"phase": {"has": {"text": "{mask} has {condition}"}}}},
        "conditions": {"mental": ["OCD"], "control": ["gout"]},
        "subjects": {"rq1": {"female": ["She"]}},
        "words": {"short": {"female": ["she"]}},
    }
    fills = FillRows(answers=fill_rows({}), files=files)
    other = FillRows(answers=fills.answers, files=files | {"conditions": {"mental": ["gout"], "control": ["OCD"]}})
    unused = FillRows(answers=fills.answers, files=files | {"words": {}})
    asked = DecisionRows(decisions=[decision("p")], vignettes=[vignette("p", "privileged", text="A man.")])

    assert {name for name in fills.texts if fills.texts[name] != other.texts[name]} == {"OCD", "gout"}
    assert set(fills.texts) == {"rq1/has", "OCD", "gout", "subjects"}
    assert unused.texts == fills.texts
    assert asked.texts["p/privileged"] == "A man."
