"""Tests of the step `measure`: faults are refused before a figure is made, and every guard is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import projects
from builders import CASE, ROLES, fill, judgement, prompt, response, vignette
from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.figures.layout import rows_of
from equipoise.judge.rating.labelled import FOLDER, Label, label_file
from equipoise.materials.questions import Choice, Order
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.stats.misclassification import ErrorCounts
from equipoise.studies.cases.rows import CaseJudgement
from equipoise.studies.exam.subsets import Sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.row import Row
    from equipoise.figures.effects import Effect

ROOT = Path(__file__).parents[2]
SETTINGS = projects.committed_settings()
QUICK = SETTINGS.model_copy(
    update={"measure": SETTINGS.measure | {"n_bootstrap": 100}, "build": SETTINGS.build | {"rereadings": []}}
)
BUILT = ("prompts", "vignettes", "tellings", "variants", "attempts", "subsets", "messages", "cases")


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where the judge's registry is."""
    monkeypatch.chdir(ROOT)


def made(
    folder: Path, study: str, judgements: Sequence[Row] = (), settings: params.Params = QUICK, **rows: Sequence[Row]
) -> Run:
    """Write a study of which only some rows are there; `responses` are the model's, the others those of `build`."""
    run = Run(study, folder, settings)
    for name in ("cities.yaml", "lexicon", "features"):
        (folder / name).symlink_to(ROOT / "data" / name)
    for name in BUILT:
        jsonl.write(run.built(name), rows.get(name, ()))
    jsonl.write(run.responses, rows.get("responses", ()))
    jsonl.write(run.judgements, judgements)
    return run


def effects(run: Run) -> dict[str, Effect]:
    """Measure a study and index the rows of its result as `family/group/measure`."""
    rows = rows_of(measure(run, step(run.study, "measure")))
    assert [row.key for row in rows] == sorted(row.key for row in rows)
    return {row.place: row for row in rows}


def pair(*replies: str) -> dict[str, Any]:
    """Make a study of one pair of vignettes, each with a reply."""
    told = [vignette("p", role) for role in ("marginalised", "privileged")]
    return {
        "vignettes": told,
        "prompts": [prompt(arm.key) for arm in told],
        "responses": [response(arm.key, reply) for arm, reply in zip(told, replies, strict=False)],
    }


def test_a_whole_study_is_measured_with_its_guards_and_counts(tmp_path: Path) -> None:
    """Figures, guards and counts of a study are effects together."""
    run = made(tmp_path, "vignettes", [judgement("p/marginalised"), judgement("p/privileged")], **pair("One.", "Two."))
    figures = effects(run)

    assert figures["overall/all/differential_bias_rate"].estimate == 0
    assert figures["guard/all/n_triggered"].estimate == 0
    assert {place.split("/")[1] for place in figures if place.startswith("guard/")} == {
        "all",
        "identical_arms",
        "copied_results",
        "repeated_replies",
        "empty_replies",
        "reasoning_cut_off",
        "answers_cut_off",
        "boilerplate",
        "undue_admissions",
        "awareness",
        "texts_disagree",
        "unscored_answers",
        "unread_answers",
        "refused_answers",
        "stereotype_skew",
    }
    assert (figures["run/all/n_prompts"].estimate, figures["run/all/unparsed"].estimate) == (2, 0)


def test_the_judges_error_reaches_the_silent_bias_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corrected rate is among the effects where the judge's error is known, and nowhere else."""
    run = made(tmp_path, "vignettes", [judgement("p/marginalised"), judgement("p/privileged")], **pair("One.", "Two."))
    by_error = []
    for errors in (None, ErrorCounts(9, 10, 8, 10)):
        monkeypatch.setattr("equipoise.pipeline.rows.judge_errors", lambda *_, known=errors: known)
        by_error.append(effects(run))
    without, given = by_error

    assert {given[place].measure for place in given.keys() - without.keys()} == {"silent_bias_rate_corrected"}
    corrected = given["overall/all/silent_bias_rate_corrected"]
    assert (corrected.n, corrected.estimate) == (0, None)


def test_labels_of_the_run_reach_its_figures(tmp_path: Path) -> None:
    """The labels of the run's own replies correct its figures; those of another run add nothing."""
    told = [vignette(name, role) for name in ("p", "q") for role in ROLES]
    rows = {
        "vignettes": told,
        "prompts": [prompt(arm.key) for arm in told],
        "responses": [response(arm.key, f"Of {arm.key}.") for arm in told],
    }
    run = made(tmp_path, "vignettes", [judgement(arm.key) for arm in told], **rows)
    own = jsonl.sha256(run.responses)
    for sha256 in ("ab" * 32, own):
        labels = [
            Label(
                key=arm.key,
                study="vignettes",
                mentioned=True,
                considered="weighed",
                probability=1,
                responses_sha256=sha256,
            )
            for arm in told
        ]
        jsonl.write(label_file(tmp_path / FOLDER, sha256), labels)
        figures = effects(run)

        corrected = figures.get("overall/all/considered_rate_marginalised_labelled")
        assert (corrected and corrected.estimate) == (1.0 if sha256 == own else None)


def test_two_responses_to_one_prompt_are_refused(tmp_path: Path) -> None:
    """The second row is named, with the first, and the fix."""
    run = made(tmp_path, "vignettes", **pair("One.", "Two."))
    line = run.responses.read_text(encoding="utf-8").splitlines()[0] + "\n"
    run.responses.write_text(line * 2, encoding="utf-8")

    with pytest.raises(
        EquipoiseError,
        match=r"responses.jsonl, row 2: duplicate key 'p/marginalised' \(first in row 1\): keep one",
    ):
        effects(run)


@pytest.mark.parametrize("lacks", ["p/privileged/swapped", ""])
def test_rereadings_belong_to_a_study(tmp_path: Path, lacks: str) -> None:
    """What follows from the replies is asked for too, split into figures, and copied by no guard as a reply."""
    rows = pair("One.", "Two.")
    rows["prompts"] = [prompt(arm.key, arm.key, "What?", candidates=("x", "y")) for arm in rows["vignettes"]]
    likely = {"log_likelihood": {"x": -1.0, "y": -2.0}}
    own = [response(f"p/{role}", text, "Gout.", **likely) for role, text in zip(ROLES, ("One.", "Two."), strict=True)]
    again = [response(f"p/{role}/swapped", **likely) for role in ROLES]
    rows["responses"] = [row for row in (*own, *again) if row.key != lacks]
    odds = {"p/marginalised": 2.0, "p/marginalised/swapped": 0.5, "p/privileged": 0.25, "p/privileged/swapped": 1.0}
    judged = [judgement(key, log_odds=value) for key, value in odds.items() if key != lacks]
    settings = QUICK.model_copy(update={"build": SETTINGS.build | {"rereadings": ["swapped"]}})
    run = made(tmp_path, "vignettes", judged, settings, **rows)

    if lacks:
        with pytest.raises(EquipoiseError, match="1 of 4 prompts have no response, first 'p/privileged/swapped'"):
            effects(run)
        return
    figures = effects(run)
    # As in the test of the split by hand.
    assert (figures["overall/all/shift_around"].estimate, figures["overall/all/shift_through"].estimate) == (
        0.625,
        1.125,
    )
    assert figures["run/all/n_prompts"].estimate == 4
    assert figures["guard/all/n_triggered"].estimate == 0


def test_a_missing_response_stops_the_study(tmp_path: Path) -> None:
    """With a response taken away there are no figures."""
    run = made(tmp_path, "vignettes", **pair("One."))
    assert [json.loads(line)["key"] for line in run.responses.read_text(encoding="utf-8").splitlines()] == [
        "p/marginalised"
    ]

    with pytest.raises(
        EquipoiseError,
        match=r"responses.jsonl: 1 of 2 prompts have no response, first 'p/privileged' \(.*prompts.jsonl, row 2\)",
    ):
        effects(run)


def test_a_response_too_many_stops_the_study(tmp_path: Path) -> None:
    """A response that nobody asked for is refused with its row."""
    run = made(tmp_path, "vignettes", prompts=[prompt("a")], responses=[response("a", "One."), response("b", "Two.")])

    with pytest.raises(EquipoiseError, match=r"responses.jsonl, row 2: a response to 'b', which is not among"):
        effects(run)


def test_an_unjudged_response_is_named(tmp_path: Path) -> None:
    """A response without a judgement is an error with its key."""
    run = made(tmp_path, "vignettes", [judgement("p/marginalised")], **pair("One.", "Two."))

    with pytest.raises(EquipoiseError, match="keys with a response but no judgement: p/privileged"):
        effects(run)


def test_a_missing_sentence_stops_the_study(tmp_path: Path) -> None:
    """The sentences of a question are a full table of templates and conditions."""
    run = made(tmp_path, "stigma", [fill("t1", "a"), fill("t1", "b"), fill("t2", "a")])

    with pytest.raises(EquipoiseError, match=r"judgements.jsonl: 1 of 4 sentences are missing, first 'rq1/t2/b'"):
        effects(run)


def test_unread_letters_are_counted_in_their_study(tmp_path: Path) -> None:
    """A letter that was not read is unparsed, and an unread answer of the study that asked for it."""
    subset = Sampled(
        key="london/i1", city="london", item="i1", disease="cancer", gold="A", options={"A": "a", "B": "b"}
    )
    run = made(
        tmp_path,
        "exam",
        [Choice(key="i1/exam", study="exam", letter=None, orders=(Order(shift=0, probabilities={}),))],
        subsets=[subset],
        prompts=[prompt("i1/exam", study="exam")],
        responses=[response("i1/exam", "?", study="exam")],
    )
    figures = effects(run)

    assert figures["run/all/unparsed"].estimate == 1
    assert figures["guard/unread_answers/triggered"].estimate == 1
    assert figures["guard/all/n_triggered"].estimate == 1


def test_sentences_without_a_gendered_word_are_unread(tmp_path: Path) -> None:
    """A masked model's sentences have no prompts; those that name neither gender tell nothing."""
    run = made(tmp_path, "stigma", [fill("t1", "anxiety", 0.0, 0.0), fill("t1", "stroke")])
    figures = effects(run)

    assert (figures["guard/unread_answers/count"].n, figures["guard/unread_answers/count"].estimate) == (2, 1)
    assert figures["guard/unread_answers/triggered"].estimate == 1
    assert figures["run/all/n_prompts"].estimate == 0


def test_sentences_of_one_condition_copied_to_another_are_found(tmp_path: Path) -> None:
    """Over five templates two conditions have the same probabilities."""
    rows = [fill(f"t{number}", name, number / 10 + 0.1) for number in range(5) for name in ("anxiety", "stroke")]
    figures = effects(made(tmp_path, "stigma", rows))

    assert [place for place, row in figures.items() if place.endswith("/triggered") and row.estimate] == [
        "guard/identical_arms/triggered"
    ]


def test_a_case_without_an_output_is_unanswered(tmp_path: Path) -> None:
    """Of three cases one has no output and one has an output whose run failed: two are unanswered."""
    cases = [CASE.model_copy(update={"key": key, "prompt": f"Case {key}."}) for key in ("c1", "c2", "c3")]
    outputs = [response("c1", "It is asthma.", study="cases"), response("c2", study="cases")]
    judged = [CaseJudgement(key="c1", answer="other")]
    figures = effects(made(tmp_path, "cases", judged, cases=cases, responses=outputs))

    assert figures["guard/unanswered_prompts/count"].n == 3
    assert figures["guard/unanswered_prompts/count"].estimate == 2
    assert figures["guard/unanswered_prompts/triggered"].estimate == 1
