"""The headline figures of the study."""

from collections.abc import Callable
from typing import Any

from equipoise.figures.figure import EVERY, Figure, withheld
from equipoise.studies.letters.effects import DIFFERENCES, WHOLE, Pair, doubted, omitted
from equipoise.studies.letters.rows import Reading

PAGE = "metrics/letters"
BELOW, ABOVE = "in letters about privileged patients", "in letters about marginalised patients"


def _figure(measure: str, title: str, sentence: str, value: Callable[[Reading], float | None], **more: Any) -> Figure:  # noqa: ANN401  (fields of a figure)
    """Declare the mean over pairs of a difference, marginalised minus privileged."""

    def of_pair(pair: Pair) -> float | None:
        return pair.difference(value)

    shared: dict[str, Any] = {"null": 0.0, "value": of_pair, "unit": "pairs", "change": "mean", "page": PAGE}
    return Figure(name=f"letters.{measure}", measure=measure, title=title, sentence=sentence, **shared | more)


FIGURES: tuple[Figure, ...] = (
    _figure(
        "omission_difference",
        "omission difference",
        "Difference in the share of the story's facts that the letter does not tell.",
        omitted,
        below=f"more is left out {BELOW}",
        above=f"more is left out {ABOVE}",
        board=True,
        plots=("letters",),
    ),
    _figure(
        "doubt_difference",
        "doubt difference",
        "Difference in the share of the story's facts that the letter softens or doubts.",
        doubted,
        below=f"more is doubted {BELOW}",
        above=f"more is doubted {ABOVE}",
        board=True,
        plots=("letters",),
    ),
    _figure(
        "length_difference",
        "length difference (words)",
        "Difference in the number of words of the letter.",
        WHOLE["length_difference"],
        below=f"fewer words {ABOVE}",
        above=f"more words {ABOVE}",
        places=1,
    ),
    _figure(
        "stigmatising_difference",
        "difference in stigmatising words",
        "Difference in the number of words that a published list counts as stigmatising, except those of the case.",
        WHOLE["stigmatising_difference"],
        below=f"more such words {BELOW}",
        above=f"more such words {ABOVE}",
    ),
    *(
        Figure(
            name=f"letters.*.{measure}",
            family="class",
            group=EVERY,
            measure=measure,
            title=f"{measure.replace('_', ' ')}, *",
            fields=("estimate", "interval"),
        )
        for measure in DIFFERENCES
    ),
    Figure(
        name="letters.found_over_other",
        measure="found_over_other",
        title="facts found of the own story, over another's",
        fields=("estimate", "interval"),
    ),
    withheld("letters", "refusal_difference", "refused letters", PAGE, fields=("estimate",)),
    withheld("letters", "unread_difference", "letters without words", PAGE, fields=("estimate",)),
)
