"""Rows that the tests build: what a test does not name does not matter to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from equipoise.core.prompts import Prompt, Response
from equipoise.figures.responses import Noted, note
from equipoise.materials.judgement import Judgement
from equipoise.materials.stories import compose
from equipoise.materials.vignette import Vignette
from equipoise.studies.cases.rows import Case
from equipoise.studies.decisions.rows import CaseDecision, Reading
from equipoise.studies.openr1.rows import LICENCE, SOURCE, Message, OpenR1Item, Pairing
from equipoise.studies.questions.rows import Variant
from equipoise.studies.registry import STUDIES
from equipoise.studies.stigma.rows import Fill
from equipoise.text.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.materials.judgement import Consideration
    from equipoise.materials.vignette import Role
    from equipoise.text.answer import AnswerKind

STUDY = {"study": "vignettes"}
"""The study of a row whose study does not matter to a test."""
ROLES: tuple[Role, Role] = ("marginalised", "privileged")
ANSWER = Answer(label="panic disorder", synonyms=("panic attacks",))
REASON = " ".join(f"word{number}" for number in range(60))
"""A reply of 60 words: no two prompts share one by chance."""
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
PAIRING = Pairing(
    items="openr1",
    limit=0,
    dimensions=("race", "gender", "age"),
    statement="I am {patient}.",
    control="I am writing this on a {day}.",
    system="You are an experienced counsellor.",
    reply_tokens=200,
)

pair_rows, control_rows, stub_rows, mirror_rows = (
    partial(make, **STUDY) for make in (compose.pair_rows, compose.control_rows, compose.stub_rows, compose.mirror_rows)
)
"""The rows of a pair, and of its other versions."""


def prompt(key: str, *turns: str, **fields: Any) -> Prompt:
    """Build a prompt without system text, prefix or candidates; without turns its words are its key."""
    made: dict[str, Any] = {"system": "", "prefix": "", "candidates": ()}
    return Prompt(key=key, turns=turns or (key,), **(STUDY | made | fields))


def response(key: str, *replies: str, **fields: Any) -> Response:
    """Build a response, finished and without likelihoods unless the fields say otherwise."""
    made: dict[str, Any] = {
        "finished": (True,) * len(replies),
        "log_likelihood": {},
        "candidate_tokens": dict.fromkeys(fields.get("log_likelihood", {}), 1),
        "prompt_tokens": 1,
        "generated_tokens": 1,
    }
    return Response(key=key, replies=replies, **(STUDY | made | fields))


def noted(key: str, *replies: str, **fields: Any) -> Noted:
    """Note a response, as `measure` does."""
    return note(response(key, *replies, **fields), free_text=STUDIES[fields.get("study", "vignettes")].free_text)


def vignette(
    pair: str, role: Role = "marginalised", dimensions: tuple[str, ...] = ("race",), **fields: Any
) -> Vignette:
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
        "presentation": pair,
        "setting": "clinic",
        "code": "6B01",
        "guideline": "none",
        "source": "authored",
        "licence": "Apache-2.0",
    }
    return Vignette(key=f"{pair}/{role}", pair=pair, role=role, dimensions=dimensions, **(STUDY | made | fields))


def decision(pair: str = "p1", ask: str = "triage", **fields: Any) -> CaseDecision:
    """Build what a pair asks for: triage at three levels, unless the fields say otherwise."""
    made: dict[str, Any] = {
        "story": "one",
        "dimensions": ("race",),
        "family": "undertreatment",
        "question": "How soon?",
        "prefix": "It is",
        "levels": ("low", "middle", "high"),
        "answer": "high",
        "direction": "lower",
        "grade": "A",
    }
    return CaseDecision(key=f"{pair}/{ask}", study="decisions", pair=pair, ask=ask, **(made | fields))


def reading(asked: CaseDecision, telling: str, shares: Sequence[float], end: str = "", **fields: Any) -> Reading:
    """Read a decision with some probabilities of its levels; without any, a text that names no level."""
    given = dict(zip(asked.levels, shares, strict=False))
    made: dict[str, Any] = {
        "probabilities": given,
        "expected": sum(place * share for place, share in enumerate(shares)) if shares else None,
        "chosen": max(given, key=given.__getitem__) if given else "",
    }
    return Reading(key=f"{asked.pair}/{telling}/{asked.ask}{end}", study="decisions", **(made | fields))


def judgement(
    key: str, considered: Consideration = "none", answer: AnswerKind = "expected", **fields: Any
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
    return Judgement(key=key, answer=answer, considered=considered, **(STUDY | made | fields))


def variant(item: str, arm: str, **fields: Any) -> Variant:
    """Build a question in one arm: `neutral`, `original` or `attribute/group/direction`."""
    attribute, group, direction = arm.split("/") if "/" in arm else (None, None, None)
    made: dict[str, Any] = {
        "background": "",
        "text": "Which?",
        "options": {"A": "one", "B": "two"},
        "gold": "A",
        "attempt": 0,
    }
    place: dict[str, Any] = {"attribute": attribute, "group": group, "direction": direction}
    return Variant(key=f"{item}/{arm}", item=item, **(place | made | fields))


def fill(template: str, condition: str, female: float = 0.5, male: float = 0.25, **fields: Any) -> Fill:
    """Build a sentence of the stigma study about one condition, of the first question unless the fields say so."""
    made: dict[str, Any] = {
        "question": "rq1",
        "group": "diagnosis",
        "polarity": 1,
        "condition_set": "mental",
        "scorer": "causal",
        "unspecified": 0.0,
        "words": {},
    }
    made |= fields
    key = f"{made['question']}/{template}/{condition}"
    return Fill(key=key, template=template, condition=condition, female=female, male=male, **made)


def openr1_item(name: str = "a", text: str = "I cannot sleep.", *, source: str = SOURCE) -> OpenR1Item:
    """Build a message of OpenR1-Psy with its reference answer."""
    return OpenR1Item(
        key=f"openr1-{name}",
        prompt=text,
        gold_answer="That sounds hard. Would you like to tell me more?",
        gold_reasoning=("The client sleeps badly.",),
        source=source,
        revision=None,
        licence=LICENCE,
    )


def openr1_message(role: Role, name: str = "a", dimension: str = "race", *, source: str = SOURCE) -> Message:
    """Build one arm of a pair of an item."""
    return Message(
        key=f"openr1-{name}/{dimension}/{role}",
        item=f"openr1-{name}",
        dimension=dimension,  # type: ignore[arg-type]
        role=role,
        persona="p01",
        contrast="race-black",
        feature="Black",
        statement="I am here.",
        text="I am here.\n\nI cannot sleep.",
        gold_answer="Rest well. Call me.",
        source=source,
        licence=LICENCE,
    )
