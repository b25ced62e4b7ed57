"""Tests of one declaration a figure: what its items contribute is what `measure` writes, and it is found everywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builders import CASE, ROLES, decision, fill, judgement, reading
from equipoise.compare.changes import changes
from equipoise.compare.gate import gate
from equipoise.compare.revisions import Revision
from equipoise.figures.aggregates import item_effects, item_values, level, remaining
from equipoise.figures.figure import Figure
from equipoise.figures.options import Component, Decision, Measure
from equipoise.figures.result import UNDECIDED
from equipoise.figures.verdicts import WORSE
from equipoise.judge.passages import MANNERS
from equipoise.materials.cities import load_cities
from equipoise.materials.orders import choices
from equipoise.materials.questions import ATTRIBUTES
from equipoise.materials.stories.endpoints import FAMILIES
from equipoise.materials.versions import INFERRED, PROBES, STUBS
from equipoise.studies.cases.comparison import CaseRows
from equipoise.studies.cases.effects import paired_effects
from equipoise.studies.cases.rows import CaseJudgement
from equipoise.studies.decisions.comparison import DecisionRows
from equipoise.studies.decisions.effects import decision_effects
from equipoise.studies.letters.comparison import LetterRows
from equipoise.studies.letters.effects import letter_effects
from equipoise.studies.letters.parts import CLASSES
from equipoise.studies.letters.rows import Reading
from equipoise.studies.questions.city_effects import city_effects
from equipoise.studies.questions.comparison import QuestionRows
from equipoise.studies.questions.effects import question_effects
from equipoise.studies.registry import FIGURES, STUDIES
from equipoise.studies.stigma.comparison import FillRows
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.vignettes.comparison import VignetteRows
from equipoise.studies.vignettes.effects import vignette_effects
from projects import committed_settings
from runs import CONDITIONS, drawn_cases, fill_rows, question_rows, vignette_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from equipoise.figures.comparison import RunRows
    from equipoise.figures.effects import Effect

ROOT = Path(__file__).parents[2]
OPTIONS = Measure(n_bootstrap=100)
ADDED = """
FIGURES += (
    Figure(
        name="vignettes.distractor_rate",
        measure="distractor_rate",
        title="distractor rate",
        sentence="Share of pairs in which the marginalised patient gets a distractor.",
        value=lambda pair: pair.marginalised.answer == "distractor",
        unit="pairs",
        change="share",
        worse="higher",
        board=True,
        page="metrics/answer_rates",
    ),
)
"""


def vignettes(rng: np.random.Generator) -> tuple[RunRows[Any], Iterable[Effect]]:
    """Draw pairs of every grade, with stubs and names, whose answers were read again after other reasonings."""
    rows, judged, _ = vignette_rows(drawn_cases(rng, 40))
    likeliest = {"answer_likelihood": "expected"}
    judged = [row.model_copy(update={"p_error": round(float(rng.uniform()), 6), **likeliest}) for row in judged]
    again = [f"{row.key}/{name}" for row in rows for name in ("swapped", "blinded", "blinded-swapped", "unreasoned")]
    ends = (*STUBS, *INFERRED["name"], *(end for probe in PROBES["name"] for end in probe))
    stubs = [f"{pair}/{end}" for pair in sorted({row.pair for row in rows}) for end in ends]
    judged += [
        judgement(key, log_odds=round(float(rng.normal()), 6), p_error=round(float(rng.uniform()), 6))
        for key in (*again, *stubs)
    ]
    return VignetteRows(vignettes=rows, answers=judged), vignette_effects(rows, judged, OPTIONS)


def questions(rng: np.random.Generator) -> tuple[RunRows[Any], Iterable[Effect]]:
    """Draw the answers to questions in the crossed design of every attribute."""
    arms = [row.key.removeprefix("q00/") for row in question_rows([{}], ATTRIBUTES)[0]]
    letters = [{arm: "AABC"[rng.integers(4)] for arm in arms} for _ in range(30)]
    variants, responses = question_rows(letters, ATTRIBUTES)
    answers = choices(responses, {row.key: row.options for row in variants})
    made = QuestionRows(variants=variants, answers=answers, cities=load_cities(ROOT / "data/cities.yaml"))
    table = [*made.items.values()]
    return made, [*question_effects(table, OPTIONS), *city_effects(table, made.cities, OPTIONS)]


def stigma(rng: np.random.Generator) -> tuple[RunRows[Any], Iterable[Effect]]:
    """Draw sentences of both questions."""
    conditions = [(name, kind) for kind, names in CONDITIONS.items() for name in names]
    fills = fill_rows({name: round(float(rng.uniform(-0.3, 0.3)), 6) for name, _ in conditions})
    fills += [
        fill("angry", name, round(float(rng.uniform()), 6), question="rq2", group="anger", condition_set=kind)
        for name, kind in conditions
    ]
    return FillRows(answers=fills), stigma_effects(fills, OPTIONS)


def decisions(rng: np.random.Generator) -> tuple[RunRows[Any], Iterable[Effect]]:
    """Draw decisions of every family about pairs that share stories, one of them of grade C."""
    asked = [
        decision(f"p{number}", ask, family=family, story=f"story {number // 2}", grade="C" if number == 0 else "A")
        for number in range(10)
        for family in FAMILIES
        for ask in (f"{family}_a", f"{family}_b")
    ]
    read = [
        reading(
            row,
            role,
            rng.dirichlet([1, 1, 1]).round(6).tolist(),
            tilt=round(float(rng.normal()), 6),
            said=row.levels[rng.integers(3)],
        )
        for row in asked
        for role in ROLES
    ]
    return DecisionRows(decisions=asked, answers=read), decision_effects(asked, read, OPTIONS)


def cases(rng: np.random.Generator) -> tuple[RunRows[Any], Iterable[Effect]]:
    """Draw the outputs to the arms of pairs."""
    arms = [
        CASE.model_copy(update={"key": f"p{number}/{role}", "pair": f"p{number}", "role": role, "expected": "gout"})
        for number in range(12)
        for role in ROLES
    ]
    kinds = ("expected", "stereotyped")
    judged = [CaseJudgement.model_validate({"key": arm.key, "answer": kinds[rng.integers(2)]}) for arm in arms]
    made = CaseRows(cases=arms, answers=judged)
    return made, paired_effects(made.pairs, OPTIONS)


def letters(rng: np.random.Generator) -> tuple[RunRows[Any], Iterable[Effect]]:
    """Draw letters with two facts of every class."""
    told = [kind for kind in CLASSES for _ in range(2)]
    read = [
        Reading(
            key=f"p{number}/{role}",
            pair=f"p{number}",
            role=role,
            story=f"story {number // 2}",
            dimensions=("race",),
            main=True,
            kind="other",
            words=int(rng.integers(50, 200)),
            stigmatising=("claims",) * int(rng.integers(3)),
            classes=tuple(told),
            manners=tuple(rng.choice(MANNERS, len(told)).tolist()),
            others=tuple(rng.choice(MANNERS, len(told)).tolist()),
        )
        for number in range(12)
        for role in ROLES
    ]
    return LetterRows(answers=read), letter_effects(read, OPTIONS)


RUNS = {
    "vignettes": vignettes,
    "questions": questions,
    "stigma": stigma,
    "decisions": decisions,
    "letters": letters,
    "cases": cases,
}


def test_every_study_with_compared_figures_has_a_run_here() -> None:
    """No study is left out below, and each says how its runs are compared."""
    assert {figure.study for figure in FIGURES if figure.change} == {*RUNS}
    assert {name for name, study in STUDIES.items() if study.comparison} == {*RUNS}


@pytest.mark.parametrize("study", RUNS)
def test_what_items_contribute_is_what_measure_writes(study: str) -> None:
    """Items have values of every figure that is compared, and put together these are the estimate of its effect."""
    rows, written = RUNS[study](np.random.default_rng(0))
    effects = list(written)
    figures = [member for figure in STUDIES[study].figures if figure.change for member in figure.expanded(rows)]
    values = item_values(STUDIES[study].figures, rows)

    assert remaining(figures, effects) == []
    for figure in figures:
        (effect,) = [row for row in effects if figure.covers(row)]
        contributed = values[figure.name]
        assert level(figure.change, [*contributed.values()]) == pytest.approx(effect.estimate, abs=1e-6), figure.name
        assert contributed.keys() <= rows.items.keys()


@pytest.mark.parametrize("study", RUNS)
def test_the_gate_judges_by_whatever_an_endpoint_can_read(study: str) -> None:
    """Two runs get a word by each declared endpoint, with likelihoods and without, whatever figure bounds it."""
    declared = committed_settings().section("decision", Decision).endpoints[study]
    runs = [(rows, [*effects]) for rows, effects in (RUNS[study](np.random.default_rng(seed)) for seed in (0, 1))]
    places = [f"{figure.family}/{figure.group}/{figure.measure}" for figure in STUDIES[study].figures if figure.value]
    every = {place: Component(margin=0.1, why="made up") for place in places}

    for endpoint in filter(None, (declared, declared.without_likelihoods)):
        bounded = endpoint.model_copy(update={"bounds": every | endpoint.bounds, "without_likelihoods": None})
        made = {"decision": Decision(endpoints={study: bounded}), "options": OPTIONS}
        base, head = (Revision(name="r", rows={study: rows}, effects=effects, **made) for rows, effects in runs)
        (verdict,) = gate(base, head, changes(base, head)).studies
        assert verdict.word in (WORSE, UNDECIDED)
        assert {part.figure.name for part in verdict.parts} <= {figure.name for figure in STUDIES[study].figures}


def test_a_figure_that_a_study_leaves_to_its_items_is_estimated_alike() -> None:
    """A mean, a share and a contrast have the interval and test of the study's own; a ratio has its value."""
    for study, names in {
        "vignettes": ("stereotype_shift_net", "differential_bias_rate", "silent_bias_rate"),
        "stigma": ("rq1.difference",),
    }.items():
        rows, effects = RUNS[study](np.random.default_rng(0))
        figures = [figure for figure in STUDIES[study].figures if figure.name.removeprefix(f"{study}.") in names]
        own = {row.key: row for row in effects}
        for row in item_effects(figures, rows, OPTIONS.alpha):
            alike = ("estimate", "ci_low", "ci_high", "neg_log10_p")
            if row.measure == "silent_bias_rate":
                alike = ("estimate",)
            for field in alike:
                assert getattr(row, field) == pytest.approx(getattr(own[row.key], field)), (row.key, field)
    assert [*item_effects(STUDIES["vignettes"].figures, VignetteRows(), OPTIONS.alpha)] == []


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({"change": "mean", "unit": "pairs"}, "give all of `value`"),
        ({"change": "mean", "value": lambda pair: pair.shift}, "and `unit`, or none"),
        ({"value": lambda pair: pair.shift}, "`change` and `unit`, or none"),
        ({"board": True}, "needs the `page`"),
    ],
)
def test_a_figure_that_could_not_be_compared_or_explained_is_refused(fields: dict[str, Any], needed: str) -> None:
    """What is compared has a function of its items, and a card leads to a page."""
    with pytest.raises(ValueError, match=needed):
        Figure(name="vignettes.shift", measure="shift", title="shift", **fields)


def test_a_headline_figure_is_one_declaration(tmp_path: Path) -> None:
    """A figure added to a copy of the library is found in metrics, report, leaderboard, results and `compare`."""
    home = tmp_path / "src/equipoise"
    shutil.copytree(ROOT / "src/equipoise", home, ignore=shutil.ignore_patterns("__pycache__"))
    declared = home / "studies/vignettes/figures.py"
    declared.write_text(declared.read_text(encoding="utf-8") + ADDED, encoding="utf-8")
    places = os.pathsep.join([str(home.parent), str(ROOT / "tests")])
    script = [sys.executable, str(Path(__file__).with_name("added.py")), str(tmp_path / "data")]
    printed = subprocess.run(
        script, cwd=ROOT, env={**os.environ, "PYTHONPATH": places}, check=True, capture_output=True, text=True
    )
    by_place = json.loads(printed.stdout)

    # Nine of twelve pairs, and none of the base.
    assert by_place["metrics"]["estimate"] == 0.75
    assert by_place["leaderboard"] == [0.75, by_place["metrics"]["ci_low"], by_place["metrics"]["ci_high"]]
    assert by_place["results"] == 0.75
    assert by_place["card"][:2] == ["0.750", "doc-answer_rates"]
    assert by_place["compare"] == {"base": 0.0, "head": 0.75, "change": 0.75, "n": 12, "p": 2 / 2**9, "way": "worse"}
