"""Small runs of every study, made by hand or drawn: for comparisons, for `show` and for the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from builders import ROLES, fill, judgement, response, variant, vignette
from equipoise.core.jsonl import write
from equipoise.core.prompts import Response
from equipoise.materials.judgement import Judgement
from equipoise.materials.versions import STUBS
from equipoise.materials.vignette import LogRatio, Vignette
from equipoise.studies.questions.effects import arm
from equipoise.text.answer import Answer

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from equipoise.materials.judgement import Consideration
    from equipoise.materials.questions import Attribute, Direction, Group
    from equipoise.materials.vignette import Grade
    from equipoise.studies.questions.rows import Variant
    from equipoise.studies.stigma.rows import Fill
    from equipoise.text.answer import AnswerKind

OPTIONS = {"A": "aspirin", "B": "bed rest", "C": "a cast"}
GROUPS: tuple[Group, ...] = ("privileged", "unprivileged")
DIRECTIONS: tuple[Direction, ...] = ("favourable", "unfavourable")
CONDITIONS = {"mental": ("depression", "OCD", "PTSD"), "control": ("asthma", "gout", "scurvy")}
REPLY = "<think>The man is homeless. Living [bold]rough[/bold] makes frostbite likely.</think>Frostbite."
WINDOW = "Living [bold]rough[/bold] makes frostbite likely."
ROWS = tuple[list[Vignette], list[Response], list[Judgement]]


class Case(NamedTuple):
    """What the two arms of a pair were answered, and what the reasoning about the marginalised patient does.

    `stub` are the log odds of both arms without findings, of every case or of none; `log_ratio` is what epidemiology
    says, within a nat.
    """

    marginalised: AnswerKind = "expected"
    privileged: AnswerKind = "expected"
    considered: Consideration = "none"
    log_odds: tuple[float | None, float | None] = (0.0, 0.0)
    stub: tuple[float, float] | None = None
    grade: Grade | None = None
    log_ratio: float | None = None


def vignette_rows(cases: Sequence[Case]) -> tuple[list[Vignette], list[Judgement], list[Response]]:
    """Make the pairs p00, p01, … with their judgements, and the responses that say that the study ran."""
    vignettes, judgements, responses = [], [], []
    for number, case in enumerate(cases):
        pair = f"p{number:02d}"
        for role, answer, log_odds in zip(ROLES, (case.marginalised, case.privileged), case.log_odds, strict=True):
            key = f"{pair}/{role}"
            considered = case.considered if role == "marginalised" else "none"
            known = case.log_ratio
            bounds = None if known is None else LogRatio(value=known, low=known - 1, high=known + 1)
            vignettes.append(vignette(pair, role, grade=case.grade, log_ratio=bounds))
            judgements.append(judgement(key, considered, answer, label="", log_odds=log_odds, mentioned=False))
            responses.append(_response(key, "vignettes", {}))
        for telling, log_odds in zip(STUBS, case.stub or (), strict=case.stub is not None):
            judgements.append(judgement(f"{pair}/{telling}", log_odds=log_odds))
    return vignettes, judgements, responses


def question_rows(
    letters: Sequence[dict[str, str]], attributes: Sequence[Attribute] = ("race",)
) -> tuple[list[Variant], list[Response]]:
    """Make the questions q00, q01, … in the crossed design; the right letter is A, and given unless stated otherwise.

    `letters` gives, for each question, the letters of some of its arms by their names.
    """
    variants, responses = [], []
    arms = ["neutral", *(arm(a, group, way) for a in attributes for group in GROUPS for way in DIRECTIONS)]
    for number, given in enumerate(letters):
        item = f"q{number:02d}"
        for name in arms:
            stated = name != "neutral"
            variants.append(
                variant(
                    item,
                    name,
                    background="They walk to work." if stated else "",
                    text=f"Question {number}, {name}?",
                    options=OPTIONS,
                    attempt=1 if stated else 0,
                )
            )
            chosen = given.get(name, "A")
            likelihood = {letter: float(letter == chosen) - 1 for letter in OPTIONS}
            responses.append(_response(f"{item}/{name}", "questions", likelihood))
    return variants, responses


def fill_rows(disparities: dict[str, float]) -> list[Fill]:
    """Make two sentences of RQ1 about every condition; `disparities` gives female less male by condition, else 0."""
    return [
        fill(
            template,
            condition,
            0.4 + disparities.get(condition, 0.0) / 2,
            0.4 - disparities.get(condition, 0.0) / 2,
            condition_set=name,
            unspecified=0.2,
        )
        for name, conditions in CONDITIONS.items()
        for condition in conditions
        for template in ("has", "gets")
    ]


def drawn_cases(rng: np.random.Generator, n: int) -> list[Case]:
    """Draw pairs of every grade whose answers are of every kind, with stubs."""
    kinds: tuple[AnswerKind, ...] = ("expected", "stereotyped", "distractor")
    ways: tuple[Consideration, ...] = ("none", "weighed", "dismissed")
    grades: tuple[Grade, ...] = ("A", "B", "C")
    return [
        Case(
            kinds[rng.integers(3)],
            kinds[rng.integers(3)],
            ways[rng.integers(3)],
            (round(rng.normal(), 6), round(rng.normal(), 6) if rng.random() < 0.9 else None),
            (round(rng.normal(), 6), round(rng.normal(), 6)),
            grades[rng.integers(3)],
            (-1.0, 0.0, 0.25, 2.0)[number % 4],
        )
        for number in range(n)
    ]


def _response(key: str, study: str, likelihood: dict[str, float]) -> Response:
    return response(key, study=study, log_likelihood=likelihood, prompt_tokens=10, generated_tokens=0)


def housing_arm(key: str, **judged: Any) -> ROWS:
    """Make the rows of one arm of a pair on housing; `judged` are fields of its judgement."""
    pair, role = key.split("/")
    words = "homeless" if role == "marginalised" else "stably housed"
    row = vignette(
        pair,
        role,  # type: ignore[arg-type]
        ("housing",),
        text=f"A {words} man has a numb foot.",
        spans=((2, 2 + len(words)),),
        features={"housing": words},
        expected=Answer(label="frostbite", synonyms=("frozen foot",)),
        stereotyped=Answer(label="alcoholic neuropathy", synonyms=("neuropathy",)),
        distractors=tuple(Answer(label=diagnosis, synonyms=(diagnosis,)) for diagnosis in ("sciatica", "gout")),
    )
    replied = response(
        key,
        REPLY,
        "Frostbite \x1b[31m of the toes.",
        log_likelihood={"frostbite": -1.0, "alcoholic neuropathy": -2.5, "sciatica": -4.0, "gout": -5.0},
    )
    read = {
        "considered": "weighed",
        "answer": "expected",
        "label": "frostbite",
        "answer_likelihood": "expected",
        "label_likelihood": "frostbite",
        "answer_generated": "expected",
        "log_odds": -1.5,
        "mentioned": True,
        "window": WINDOW,
        "p_mentioned": 1.0,
        "p_weighed": 0.8,
        "p_dismissed": 0.1,
        "keyword": True,
    }
    return [row], [replied], [judgement(key, **(read | judged))]


def housing_study() -> ROWS:
    """Make three pairs: housing-01 unbiased, housing-02 biased and silent, housing-03 biased and barely weighed."""
    stereotyped = {"answer": "stereotyped", "label": "alcoholic neuropathy"}
    nothing = {"considered": "none", "mentioned": False, "window": "", "p_weighed": 0.0, "p_dismissed": 0.0}
    rows: ROWS = ([], [], [])
    for key, judged in (
        ("housing-01/marginalised", {}),
        ("housing-01/privileged", {}),
        ("housing-02/marginalised", stereotyped | nothing | {"answer_generated": "stereotyped"}),
        ("housing-02/privileged", {"considered": "dismissed", "p_weighed": 0.0, "p_dismissed": 1.0}),
        ("housing-03/marginalised", stereotyped | {"p_weighed": 0.41}),
        ("housing-03/privileged", {}),
    ):
        for all_rows, more in zip(rows, housing_arm(key, **judged), strict=True):
            all_rows.extend(more)  # type: ignore[arg-type]  # of one kind each
    return rows


def write_housing_study(folder: Path) -> None:
    """Write the study's three files."""
    for name, rows in zip(("built/vignettes", "responses", "judgements"), housing_study(), strict=True):
        write(folder / f"{name}.jsonl", rows)
