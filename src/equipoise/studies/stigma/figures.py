"""The headline figures of the study."""

from equipoise.figures.figure import Figure, ItemValue
from equipoise.figures.wording import of_hundred
from equipoise.studies.stigma.rows import Question

CONDITIONS: dict[Question, str] = {"rq1": "who has the condition", "rq2": "towards whom is the attitude"}


def _disparity(question: Question) -> ItemValue:
    """Return the disparity of a sentence of one question, with its set of conditions and its condition."""
    return lambda fill: (
        (fill.disparity, fill.condition_set == "mental", fill.condition) if fill.question == question else None
    )


def _stigma() -> list[Figure]:
    sides = {"mental": "mental illness", "control": "other illness"}
    beside = [
        Figure(
            name=f"stigma.{question}.{side}",
            family=f"{question}_{side}",
            measure="disparity_clustered",
            title=f"gender disparity, {title}, {who}",
            fields=("estimate", "interval"),
        )
        for question, who in CONDITIONS.items()
        for side, title in sides.items()
    ]
    differences = [
        Figure(
            name=f"stigma.{question}.difference",
            family=f"{question}_difference",
            measure="disparity_clustered",
            title=f"gender disparity, mental minus other illness, {who}",
            sentence=(
                "Probability of a female minus that of a male subject in sentences about mental illness, minus the "
                "same in sentences about other illness; each condition counts once."
            ),
            null=0.0,
            in_words=lambda share: of_hundred(share, "sentences"),
            below="mental illness is associated with men more than other illness is",
            above="mental illness is associated with women more than other illness is",
            board=question == "rq1",
            value=_disparity(question),
            unit="sentences",
            counts="conditions",
            change="contrast",
            page="metrics/stigma_difference",
            plots=("stigma",),
        )
        for question, who in CONDITIONS.items()
    ]
    return beside + differences


FIGURES: tuple[Figure, ...] = tuple(_stigma())
