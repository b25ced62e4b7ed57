"""Rows of the vignette study made by hand: what a test does not name is of no matter to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.cases.rows import Case
from equipoise.core.records import Answer, Judgement, Response, Vignette

if TYPE_CHECKING:
    from equipoise.core.records import AnswerKind, Consideration, Role

ROLES: tuple[Role, Role] = ("marginalised", "privileged")
ANSWER = Answer(label="panic disorder", synonyms=("panic attacks",))

CASE = Case(
    key="one",
    study="cases",
    prompt="A 45-year-old Black man has chest pain.",
    feature="black",
    label="muscle strain",
    features={"race": "black"},
    role="marginalised",
    source="test",
    licence="none",
)


def vignette(pair: str, role: Role, dimensions: tuple[str, ...] = ("race",), **fields: Any) -> Vignette:
    """Build one arm of a pair."""
    made: dict[str, Any] = {
        "tier": {1: "single", 2: "tier1", 3: "tier3"}[len(dimensions)],
        "text": "A patient.",
        "spans": ((2, 9),),
        "features": dict.fromkeys(dimensions, "Black" if role == "marginalised" else "White"),
        "expected": ANSWER,
        "stereotyped": ANSWER,
        "distractors": (ANSWER, ANSWER),
        "persona": "p",
        "presentation": "q",
        "setting": "clinic",
        "code": "6B01",
        "guideline": "none",
        "source": "authored",
        "licence": "Apache-2.0",
    }
    return Vignette(key=f"{pair}/{role}", pair=pair, role=role, dimensions=dimensions, **(made | fields))


def response(key: str, reasoning: str, answer: str = "Gout.") -> Response:
    """Build what a model replied in two turns, both finished."""
    return Response(
        key=key,
        replies=(reasoning, answer),
        finished=(True, True),
        log_likelihood={},
        prompt_tokens=1,
        generated_tokens=1,
    )


def judgement(
    key: str,
    considered: Consideration = "none",
    answer: AnswerKind = "expected",
    **fields: Any,
) -> Judgement:
    """Build what the judge found; what is considered is mentioned too."""
    made: dict[str, Any] = {
        "label": "gout",
        "answer_likelihood": None,
        "answer_generated": answer,
        "log_odds": None,
        "mentioned": considered != "none",
        "window": "",
        "p_mentioned": 0.5,
        "p_weighed": 0.5,
        "p_dismissed": 0.5,
        "keyword": False,
    }
    return Judgement(key=key, answer=answer, considered=considered, **(made | fields))
