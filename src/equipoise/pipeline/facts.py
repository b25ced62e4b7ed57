"""What a phantom is told of a study's prompts: which answer is right, which is the stereotype, whose patient it is."""

from itertools import product

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.core.keys import numbered
from equipoise.core.prompts import Prompt
from equipoise.materials.asked import shown
from equipoise.materials.questions import ATTRIBUTES, GROUPS
from equipoise.materials.versions import MIRRORS, STUBS
from equipoise.materials.vignette import CONTROL, Vignette
from equipoise.pipeline.run import Run
from equipoise.studies.exam.asked import EXAM
from equipoise.studies.exam.subsets import Sampled
from equipoise.studies.openr1.rows import Message
from equipoise.studies.questions.rows import Neutralised
from equipoise.studies.questions.variants.agents import Perturb
from equipoise.studies.questions.variants.loop import ATTACK
from equipoise.studies.stigma.causal import everyone
from equipoise.studies.stigma.library import load_library
from equipoise.studies.vignettes.decisions import Asked, of_pairs
from equipoise.studies.vignettes.panel import Telling

DIMENSIONS = {"race": "race", "gender": "gender", "ses": "socioeconomic"}
"""The dimension of the vignettes that each attribute of the questions is."""


def facts(run: Run) -> list[Fact]:
    """Give the facts of a study's prompts, from the files that `build` wrote."""
    return {
        "vignettes": _vignettes,
        "questions": _questions,
        "exam": _exam,
        "stigma": _stigma,
        "decisions": _decisions,
        "openr1": _openr1,
    }[run.study](run)


def _vignettes(run: Run) -> list[Fact]:
    return [
        Fact(
            key=row.key,
            question=row.pair,
            right=(row.stereotyped if row.key.endswith(MIRRORS) else row.expected).label,
            stereotyped=tuple(answer.label for answer in (row.stereotyped, *row.components)),
            dimensions=row.features,
            marginalised=row.role == "marginalised",
            stub=row.key.endswith(STUBS),
        )
        for name in ("vignettes", "tellings")
        for row in jsonl.each(run.built(name), Vignette)
    ]


def _decisions(run: Run) -> list[Fact]:
    """The cases, and every decision about each of them."""
    asked, found = of_pairs(jsonl.each(run.built("decisions"), Asked)), _vignettes(run)
    found += [
        Fact(
            key=row.key,
            question=row.story,
            # What the reasoning concludes: no diagnosis of it is known.
            right=f"the illness of {row.story}",
            dimensions=row.features,
            marginalised=row.group != CONTROL,
        )
        for row in jsonl.each(run.built("imported"), Telling)
    ]
    return [*found, *(_decided(case, decision) for case in found for decision in asked[case.question])]


def _decided(case: Fact, decision: Asked) -> Fact:
    return Fact(
        key=f"{case.key}/{decision.ask}",
        question=decision.key,
        # Where nobody says what is right, the level that the bias is furthest from.
        right=decision.answer or decision.towards[0],
        family=decision.family,
        answers=decision.towards,
        dimensions=case.dimensions,
        marginalised=case.marginalised,
    )


def _orders(fact: Fact) -> list[Fact]:
    """Give the facts of a question in every order of its options."""
    letters = {letter: letter for letter in fact.answers}
    return [
        fact.model_copy(update={"key": numbered(fact.key, shift), "answers": tuple(shown(letters, shift).values())})
        for shift in range(len(letters))
    ]


def _questions(run: Run) -> list[Fact]:
    """Every arm of every item: the evaluator of later attempts asks before there are variants."""
    found: list[Fact] = []
    runs = (0, 1) if run.settings.section("perturb", Perturb).attempts > 1 else ()
    for item in jsonl.each(run.built("neutralised"), Neutralised):
        plain = Fact(key=f"{item.key}/neutral", question=item.key, right=item.gold, answers=tuple(item.options))
        found += [*_orders(plain), *_orders(plain.model_copy(update={"key": f"{item.key}/original"}))]
        for attribute in ATTRIBUTES:
            for group, direction in product(GROUPS[attribute], ("favourable", "unfavourable")):
                arm = {
                    "key": f"{item.key}/{attribute}/{group}/{direction}",
                    "dimensions": {DIMENSIONS[attribute]: GROUPS[attribute][group]},
                    "marginalised": group == "unprivileged",
                    "direction": direction,
                }
                found += _orders(plain.model_copy(update=arm))
                for number in runs:
                    found += _orders(plain.model_copy(update=arm | {"key": f"{arm['key']}{ATTACK}{number}"}))
    return found


def _exam(run: Run) -> list[Fact]:
    sampled = {row.item: row for row in jsonl.each(run.built("subsets"), Sampled)}  # cities share questions
    return [
        fact
        for item, row in sampled.items()
        for fact in _orders(Fact(key=f"{item}{EXAM}", question=item, right=row.gold, answers=tuple(row.options)))
    ]


def _stigma(run: Run) -> list[Fact]:
    library = load_library(run.data / "sentences")
    found = []
    for prompt in jsonl.each(run.built("prompts"), Prompt):
        subjects = library.subjects["rq1" if prompt.key.startswith("rq1/") else "rq2"]
        genders = {name: gender for gender in ("female", "male", "unspecified") for name in getattr(subjects, gender)}
        sentences = product(everyone(subjects), library.conditions)
        sides = {
            sentence: (genders[subject], condition.condition_set)
            for sentence, (subject, condition) in zip(prompt.candidates, sentences, strict=True)
        }
        found.append(Fact(key=prompt.key, question=prompt.key, subjects=sides))
    return found


def _openr1(run: Run) -> list[Fact]:
    return [
        Fact(key=row.key, question=row.item, right=row.gold_answer, marginalised=row.role == "marginalised")
        for row in jsonl.each(run.built("messages"), Message)
    ]
