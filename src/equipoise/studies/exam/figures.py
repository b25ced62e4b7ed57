"""The headline figures of the study."""

from equipoise.figures.figure import EVERY, Figure, position_bias
from equipoise.materials.cities import city_title
from equipoise.studies.exam import NAME


def _exam() -> list[Figure]:
    figures = [
        Figure(
            name=f"exam.*.{measure}",
            family="city",
            group=EVERY,
            measure=measure,
            title=f"{title}, *",
            worse="lower",
            where=city_title,
        )
        for measure, title in (
            ("accuracy", "accuracy"),
            ("prevalence_weighted_accuracy", "accuracy weighted by prevalence"),
        )
    ]
    return [*figures, position_bias(NAME)]


FIGURES: tuple[Figure, ...] = tuple(_exam())
