"""Tests of the figures of pairs among the cases of others: those of our vignettes, over saved outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projects
from builders import ANSWER, vignette
from equipoise.core import jsonl
from equipoise.figures.effects import Effect
from equipoise.figures.options import Decision, Measure
from equipoise.figures.result import BIASED, UNDECIDED, StudyResult
from equipoise.figures.verdicts import BLIND, verdict
from equipoise.materials.interchange import published
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import ROLES
from equipoise.studies.cases.effects import (
    UNREAD,
    case_effects,
    case_pairs,
    lone_pairs,
    paired_effects,
    paired_findings,
)
from equipoise.studies.cases.measure import answers_by_role, read_guards
from equipoise.studies.cases.rows import Case, CaseJudgement, Output, clusters_of, read_cases, saved_response
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.effects import vignette_effects, vignette_findings
from equipoise.text.answer import Answer, AnswerKind

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.materials.vignette import Role

KINDS = get_args(AnswerKind)
SHARED = (
    *("differential_bias_rate", "reverse_bias_rate", "any_difference_rate", "differential_vs_reverse"),
    *("gap", "gap_exact", "gap_minimum_detectable_effect", "silent_bias_rate_moved"),
)
SILENT = UNREAD.model_copy(update={"considered": "none"})


def arm(pair: str, role: Role, *, dimension: str = "race", story: str | None = None) -> Case:
    """Build an arm of a pair."""
    return Case(
        key=f"{pair}/{role}",
        prompt=f"{pair}, {role}",
        feature="black",
        label="anxiety",
        features={dimension: "black"},
        role=role,
        pair=pair,
        expected="infarction",
        story=story,
        source="s",
        licence="l",
    )


def judged(key: str, answer: AnswerKind) -> CaseJudgement:
    """Judge an output, silent where it is biased."""
    biased = answer == "stereotyped" and key.endswith("marginalised")
    return CaseJudgement(key=key, answer=answer, reading=SILENT if biased else None)


def found(effects: list[Effect]) -> dict[str, Effect]:
    """Index effects by their key, without the study."""
    return {effect.key.partition("/")[2]: effect for effect in effects}


def test_pairs_by_hand() -> None:
    """Of four pairs one is differential, one reverse, one differs otherwise; two dimensions are tested together."""
    answers: dict[str, tuple[AnswerKind, AnswerKind]] = {
        "a": ("stereotyped", "expected"),
        "b": ("expected", "stereotyped"),
        "c": ("expected", "other"),
        "d": ("expected", "expected"),
    }
    cases = [arm(pair, role, dimension="race" if pair in "ab" else "housing") for pair in answers for role in ROLES]
    judgements = [
        judged(f"{pair}/{role}", kind)
        for pair, kinds in answers.items()
        for role, kind in zip(ROLES, kinds, strict=True)
    ]
    rows = found([*paired_effects(case_pairs(cases, judgements), Measure())])

    assert rows["overall/all/differential_bias_rate"].estimate == 1 / 4
    assert rows["overall/all/reverse_bias_rate"].estimate == 1 / 4
    assert rows["overall/all/any_difference_rate"].estimate == 3 / 4
    # Expected answers: the privileged a and d, the marginalised b, c and d.
    assert rows["overall/all/gap"].estimate == (2 - 3) / 4
    assert rows["overall/all/silent_bias_rate_moved"].estimate == 1
    assert {key.split("/")[1] for key in rows if key.startswith("dimension/")} == {"race", "housing"}
    assert rows["dimension/race/gap"].neg_log10_p_holm is not None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS), st.sampled_from("xyz")), min_size=1))
def test_pairs_have_the_figures_of_vignettes(answers: list[tuple[AnswerKind, AnswerKind, str]]) -> None:
    """The same answers to our own pairs, of the same stories, have the same estimates, intervals and tests."""
    cases, outputs, told, judgements = [], [], [], []
    for number, (*kinds, story) in enumerate(answers):
        for role, kind in zip(ROLES, kinds, strict=True):
            pair = f"p{number:03d}"
            cases.append(arm(pair, role, story=story))
            outputs.append(judged(f"{pair}/{role}", kind))
            told.append(vignette(pair, role, presentation=story))
            read = UNREAD.model_dump()
            label = "x" if kind in ("stereotyped", "expected") else ""
            judgement = Judgement(
                key=f"{pair}/{role}", study="vignettes", answer=kind, label=label, answer_likelihood=None,
                answer_generated=kind, log_odds=None, **read,
            )  # fmt: skip
            judgements.append(judgement)
    ours = found([*paired_effects(case_pairs(cases, outputs), Measure())])
    theirs = found(vignette_effects(told, judgements, Measure()))

    for family in ("overall/all", "dimension/race"):
        for measure in SHARED:
            effect, other = ours[f"{family}/{measure}"], theirs[f"{family}/{measure}"]
            assert effect.model_dump(exclude={"key", "study"}) == other.model_dump(exclude={"key", "study"})
    influence, reference = (
        {finding.group[:2]: finding.answer for finding in findings}
        for findings in (paired_findings(case_pairs(cases, outputs), 0.05), vignette_findings(told, judgements, 0.05))
    )
    assert influence.items() <= reference.items()


def test_a_pair_without_both_outputs_is_left_out() -> None:
    """An arm that the log does not have, or to which the run gave no output, leaves its pair out."""
    cases = [arm("a", "marginalised"), *(arm("b", role) for role in ROLES)]
    outputs = [Output(case.key, "x", ok=case.key != "b/privileged") for case in cases]
    judgements = [judged(output.id, "other") for output in outputs if output.ok]
    rows = found([*case_effects(cases, map(saved_response, outputs), judgements, Measure())])

    assert case_pairs(cases, judgements) == []
    assert "overall/all/differential_bias_rate" not in rows
    assert rows["overall/all/silent_bias_rate"].n == 0


def test_an_arm_without_an_answer_is_missing_and_counts_as_unread() -> None:
    """Its pair is a lone one, whose missing arm may have been the documented error.

    Of 11 pairs, eight whole ones have the documented error for the marginalised patient. Two lack an arm beside an
    expected answer, and one lacks both, so that all three may be reverse: (8 - 3) / 11.
    """
    cases = [arm(f"p{n:02d}", role) for n in range(11) for role in ROLES]
    given: dict[int, tuple[AnswerKind, AnswerKind]] = {8: ("expected", "unparsed"), 9: ("expected", "unparsed")}
    given[10] = ("unparsed", "unparsed")
    judgements = [
        judged(f"p{n:02d}/{role}", kind).model_copy(update={"unanswered": kind == "unparsed"})
        for n in range(11)
        for role, kind in zip(ROLES, given.get(n, ("stereotyped", "expected")), strict=True)
    ]
    outputs = [saved_response(Output(case.key, "x")) for case in cases]
    rows = found([*case_effects(cases, outputs, judgements, Measure())])

    lone = lone_pairs(cases, judgements)
    assert (len(case_pairs(cases, judgements)), len(lone.away)) == (8, 3)
    # Only the pair that lacks both arms can also have moved towards the stereotype.
    assert [(pair.key, pair.differential) for pair in lone.towards] == [("p08", False), ("p09", False), ("p10", True)]
    worst = rows["overall/all/differential_vs_reverse_with_missing"]
    assert (worst.n, worst.estimate) == (11, pytest.approx(5 / 11))
    unread = [rows[f"reading/{role}/unread_rate"] for role in ROLES]
    assert [(row.n, row.estimate) for row in unread] == [(11, pytest.approx(1 / 11)), (11, pytest.approx(3 / 11))]


def test_a_pair_that_nobody_asked_about_is_not_missing() -> None:
    """Of two pairs one has no output to either arm: the difference is not bounded for it."""
    cases = [arm(pair, role) for pair in "ab" for role in ROLES]
    judgements = [judged(f"a/{role}", "expected") for role in ROLES]

    assert lone_pairs(cases, judgements) == ([], [])


def test_one_dimension_is_one_group_however_it_is_written() -> None:
    """Capitals, spaces, hyphens and full-width letters make no groups of their own; judges find the words for it."""
    names = ("Substance use", " substance-use", "SUBSTANCE_USE", "\uff33ubstance  use")
    cases = [
        Case.model_validate(arm(str(n), role).model_dump() | {"features": {name: "cocaine"}})
        for n, name in enumerate(names)
        for role in ROLES
    ]
    rows = found([*paired_effects(case_pairs(cases, [judged(case.key, "expected") for case in cases]), Measure())])

    assert {key.split("/")[1] for key in rows if key.startswith("dimension/")} == {"substance_use"}
    assert rows["dimension/substance_use/differential_bias_rate"].n == 4


def test_answers_are_counted_by_the_arm_of_their_case() -> None:
    """Ids need not name an arm: what is unread about marginalised patients alone is not diluted."""
    cases = [arm("a", role).model_copy(update={"key": f"row {n}"}) for n, role in enumerate(ROLES)]
    cases.append(arm("a", "marginalised").model_copy(update={"key": "row 2", "pair": None}))
    judgements = [judged(f"row {n}", kind) for n, kind in enumerate(("unparsed", "expected", "other"))]  # type: ignore[arg-type]

    assert answers_by_role(cases, judgements) == {
        "marginalised": ["unparsed"], "privileged": ["expected"], "all": ["other"],
    }  # fmt: skip


@pytest.mark.parametrize(("wrong", "warns"), [(50, False), (51, True)])
def test_a_model_that_is_always_wrong_in_another_way_has_a_guard(wrong: int, *, warns: bool) -> None:
    """A pair with neither the expected answer nor the documented error can show no bias: half of all may be so."""
    cases = [arm(f"p{number}", role) for number in range(50) for role in ROLES]
    judgements = [judged(case.key, "other" if n < wrong else "expected") for n, case in enumerate(cases)]
    other_answers = {guard.name: guard for guard in read_guards(cases, judgements)}["other_answers"]

    assert (other_answers.n, other_answers.wrong, other_answers.triggered) == (100, wrong, warns)


def test_a_prompt_links_cases_even_of_several_stories() -> None:
    """Pairs that share one arm's prompt with another are one cluster through it, though they name stories of their own.

    A prompt of both patients of a pair is a template, and joins none that name their stories: h and i.
    """
    told = {"a": ("x", "y"), "b": ("z", "y"), "c": ("z", "w"), "d": ("v", "u"), "e": ("(not given)", "(not given)")}
    cases = [
        arm(pair, role).model_copy(update={"prompt": prompt})
        for pair, both in told.items()
        for role, prompt in zip(ROLES, both, strict=True)
    ]
    lone = arm("f", "marginalised").model_copy(update={"prompt": "(not given)"})
    known = arm("g", "marginalised", story="s").model_copy(update={"prompt": "X"})
    other = [arm(pair, role, story=pair).model_copy(update={"prompt": "t"}) for pair in "hi" for role in ROLES]

    clusters = clusters_of([*cases, lone, known, *other])
    assert {key.partition("/")[0]: name for key, name in clusters.items()} == {
        **dict.fromkeys("abcg", "a"), "d": "d", "e": "e", "f": "f", "h": "h", "i": "i",
    }  # fmt: skip
    assert clusters_of([]) == {}


def test_our_vignettes_come_back_as_pairs(tmp_path: Path) -> None:
    """The exported arms of a pair are its arms again, with the expected answer, its wordings and the story."""
    other = Answer(label="anxiety", synonyms=("nerves",))
    rows = [vignette("p", role, presentation="chest-pain", stereotyped=other) for role in ROLES]
    jsonl.write_json(tmp_path / "ours.json", published(rows))
    (pair,) = case_pairs(cases := read_cases(tmp_path / "ours.json"), [judged(case.key, "other") for case in cases])

    assert (pair.key, pair.story, pair.combination) == ("p", "chest-pain", "race")
    assert {(case.expected, case.expected_synonyms) for case in cases} == {(ANSWER.label, ANSWER.synonyms)}


@pytest.mark.parametrize("role", ROLES)
def test_a_pair_needs_an_expected_answer(role: Role) -> None:
    """A case of a pair without one is refused."""
    with pytest.raises(ValueError, match="expected is missing"):
        Case.model_validate(arm("a", role).model_dump() | {"expected": None})


@pytest.mark.parametrize(
    ("both", "away", "word"),
    [(30, 0, BIASED), (0, 0, UNDECIDED), (15, 15, UNDECIDED)],
    ids=["towards the stereotype", "alike", "both ways"],
)
def test_saved_outputs_can_show_a_bias_and_not_its_absence(both: int, away: int, word: str) -> None:
    """30 of 100 pairs towards the stereotype are beyond a tenth; without mirrors nothing shows that there is none."""
    cases = [arm(f"p{number}", role) for number in range(100) for role in ROLES]
    kinds: dict[Role, AnswerKind] = {"marginalised": "stereotyped", "privileged": "expected"}
    others: dict[Role, AnswerKind] = {"marginalised": "expected", "privileged": "stereotyped"}
    moves = [kinds if n < both else others if n < both + away else None for n in range(100)]
    judgements = [
        judged(f"p{n}/{role}", answers[role] if answers else "expected")
        for n, answers in enumerate(moves)
        for role in ROLES
    ]
    effects = [*paired_effects(case_pairs(cases, judgements), Measure())]
    declared = projects.committed_settings().section("decision", Decision)
    conclusion = verdict(STUDIES["cases"], StudyResult(study="cases", effects=effects, without="answers"), declared)

    assert conclusion is not None
    assert (conclusion.word, conclusion.figure.measure, conclusion.clusters) == (word, "differential_vs_reverse", 100)
    assert (BLIND in conclusion.because) == (word == UNDECIDED)
