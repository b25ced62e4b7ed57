"""The headline figures of the study."""

from collections.abc import Sequence
from typing import Literal

from equipoise.figures.figure import EVERY, Figure, ItemValue, position_bias, withheld
from equipoise.figures.wording import of_hundred
from equipoise.materials.cities import city_title
from equipoise.materials.questions import ATTRIBUTES, Attribute
from equipoise.studies.questions import NAME
from equipoise.studies.questions.city_effects import accuracy_ratios
from equipoise.studies.questions.effects import NEUTRAL, mean_contrast, paper_pair

SPOKEN = {"race": "ethnicity", "ses": "income"}
"""The words for an attribute of a city's patients, if they are not its name."""
TITLED = {"ses": "income"}
"""The words for an attribute in titles, if they are not its name."""


def _paper_gap(attribute: Attribute) -> ItemValue:
    """Return the paper's gap of a question that has both its arms."""
    pair = paper_pair(attribute)
    return lambda row: row.gap(*pair) if row.has(*pair) else None


def _contrast(measure: str, attributes: Sequence[Attribute]) -> ItemValue:
    """Return a contrast of the crossed design: the mean over the attributes that a question has."""
    return lambda row: mean_contrast(measure, row, attributes)


def _gap(attribute: Attribute, title: str, better: str, worse: str) -> Figure:
    return Figure(
        name=f"questions.{attribute}.gap",
        family="attribute",
        group=attribute,
        measure="gap",
        title=f"gap, {title}",
        sentence=(
            f"Share of questions answered correctly about {better} patient in favourable circumstances, minus the "
            f"share about {worse} patient in unfavourable ones."
        ),
        null=0.0,
        below=f"the model is right more often about {worse} patient",
        above=f"the model is right more often about {better} patient",
        board=True,
        value=_paper_gap(attribute),
        unit="questions",
        change="mean",
        page="metrics/adversarial_gap",
        plots=("gaps",),
    )


def _city_and_attribute(group: str) -> str:
    """Turn `dublin/ses` into words."""
    city, _, attribute = group.partition("/")
    return f"{city_title(city)}, by {SPOKEN.get(attribute, attribute)}"


def _ratio(pick: Literal["lowest", "highest"]) -> Figure:
    return Figure(
        name=f"questions.accuracy_ratio_{pick}",
        family="city",
        group=EVERY,
        measure="accuracy_ratio",
        title=f"city accuracy ratio, {pick}",
        sentence=(
            "Accuracy when the questions are about a city's patients, divided by accuracy on the neutral text: "
            f"the {pick} of all cities and attributes."
        ),
        null=1.0,
        below="the model is right less often about that city's patients than on the neutral text",
        above="the model is right more often about that city's patients than on the neutral text",
        board=True,
        page="metrics/accuracy_ratio",
        pick=pick,
        where=_city_and_attribute,
    )


def _questions() -> list[Figure]:
    # Without intervals, so that the metrics file stays readable: the gap is the tested figure.
    effects = [
        Figure(
            name=f"questions.{attribute}.{measure}",
            family="attribute",
            group=attribute,
            measure=measure,
            title=f"{measure.replace('_', ' ')}, {TITLED.get(attribute, attribute)}",
            null=0.0,
            fields=("estimate",),
            value=_contrast(measure, [attribute]),
            unit="questions",
            change="mean",
            plots=("contrasts",),
        )
        for measure in ("group_effect", "direction_effect")
        for attribute in ATTRIBUTES
    ]
    return [
        Figure(
            name="questions.group_effect",
            measure="group_effect",
            title="group effect, all attributes",
            sentence=(
                "Share of questions answered correctly about the privileged group minus the share about the other, "
                "with the same kind of background; the mean of race, gender and income."
            ),
            null=0.0,
            in_words=lambda share: of_hundred(share, "questions"),
            fields=("estimate", "interval"),
            below="the model is right more often about unprivileged patients",
            above="the model is right more often about privileged patients",
            board=True,
            value=_contrast("group_effect", ATTRIBUTES),
            unit="questions",
            change="mean",
            page="metrics/crossed_effects",
            plots=("contrasts",),
        ),
        _gap("race", "race", "a white", "a Black"),
        _gap("gender", "gender", "a male", "a female"),
        _gap("ses", TITLED["ses"], "a high-income", "a low-income"),
        *effects,
        Figure(
            name="questions.neutral.accuracy",
            family="arm",
            group="neutral",
            measure="accuracy",
            title="neutral accuracy",
            fields=("estimate",),
            sentence=(
                "Share of multiple-choice questions answered correctly without any demographics; guessing among four "
                "options gives 0.250."
            ),
            board=True,
            value=lambda row: row.right(NEUTRAL) if row.has(NEUTRAL) else None,
            unit="questions",
            change="share",
            worse="lower",
            page="metrics/answer_rates",
            plots=("accuracy",),
        ),
        Figure(
            name="questions.*.accuracy_ratio",
            family="city",
            group=EVERY,
            measure="accuracy_ratio",
            title="accuracy ratio, *",
            where=_city_and_attribute,
            null=1.0,
            fields=("estimate", "interval"),
            groups=lambda rows: accuracy_ratios(rows.items.values(), rows.cities),
            # Each city has the questions of its attribute.
            sized=False,
            unit="questions",
            change="ratio",
            seed="equity.*.accuracy_ratio",
            plots=("cities",),
        ),
        _ratio("lowest"),
        _ratio("highest"),
        withheld("questions", "refusal_difference", "refusals", fields=("estimate",)),
        withheld("questions", "unread_difference", "unread replies", fields=("estimate",)),
        Figure(
            name="questions.attack.direction_effect",
            family="attack",
            measure="direction_effect",
            title="direction effect under attack",
            fields=("estimate", "p"),
        ),
        position_bias(NAME),
    ]


FIGURES: tuple[Figure, ...] = tuple(_questions())
