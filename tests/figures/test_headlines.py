"""Tests of the catalogue of headline figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.compare.items import compared
from equipoise.compare.revisions import Revision
from equipoise.figures.effects import Estimate, Group, effect, with_adjusted
from equipoise.figures.figure import headline_effects, headline_metrics, shown
from equipoise.materials.cities import load_cities
from equipoise.materials.questions import ATTRIBUTES
from equipoise.stats.quantities import Interval, PValue
from equipoise.studies.questions.comparison import QuestionRows
from equipoise.studies.registry import BOARD, FIGURES, STUDIES, TITLES

if TYPE_CHECKING:
    from equipoise.figures.effects import Effect

DIMENSIONS = ("age", "gender", "housing", "obesity", "race", "socioeconomic", "substance_use")
CITIES = ("dublin", "edinburgh", "london")
ROOT = Path(__file__).parents[2]


def row(key: str, n: int = 41, value: float | None = 0.25, p: float | None = 0.01) -> Effect:
    """Make the effect of a key, with an interval from 0 to 0.5."""
    study, family, *group, measure = key.split("/")
    tested = None if p is None else PValue.of(p, lambda: 0.0)
    return effect(
        Group(family, "/".join(group), study),
        measure,
        n,
        Estimate(value, Interval(0.0, 0.5) if value else None, tested),
    )


def leaves(table: Any) -> int:
    """Count the values of a nested table."""
    return sum(map(leaves, table.values())) if isinstance(table, dict) else 1


def test_every_figure_has_a_name_of_its_own_in_a_known_study() -> None:
    """Names are columns, gates and paths, which must differ."""
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)
    assert {figure.study for figure in FIGURES} == TITLES.keys()


def test_every_figure_of_the_board_has_a_meaning() -> None:
    """A card needs its sentence, and a null value both of its sides."""
    assert all(figure.sentence for figure in BOARD)
    assert all((figure.null is None) == (not figure.below and not figure.above) for figure in BOARD)


def test_a_figure_of_every_group_is_named_by_the_group() -> None:
    """The group takes the place of the asterisk, in the seed's older name too."""
    (ratio,) = (figure.of_group("dublin/race") for figure in FIGURES if figure.groups)

    assert (ratio.name, ratio.title) == ("questions.dublin.race.accuracy_ratio", "accuracy ratio, Dublin, by ethnicity")
    assert (ratio.group, ratio.seed) == ("dublin/race", "equity.dublin.race.accuracy_ratio")


def test_cities_are_compared_by_every_attribute() -> None:
    """A figure over groups is compared in each group that either run has; the others as they are."""
    cities = load_cities(ROOT / "data/cities.yaml")
    runs = [
        Revision(name=name, rows={"questions": QuestionRows(cities={name: cities[name]})})
        for name in ("dublin", "london")
    ]
    expanded = [figure.group for figure in compared(*runs) if figure.measure == "accuracy_ratio"]

    assert expanded == [f"{run.name}/{attribute}" for run in runs for attribute in ATTRIBUTES]
    assert len(compared(*runs)) == sum(figure.change is not None for figure in FIGURES) - 1 + len(expanded)


def test_effects_find_their_headlines() -> None:
    """Other measures and other families are not headline figures."""
    effects = [
        row("vignettes/dimension/race/stereotype_shift_net"),
        row("vignettes/tier/single/stereotype_shift_net"),
        row("vignettes/overall/all/stereotype_shift_net"),
        row("questions/attribute/race/lift"),
        row("exam/city/london/accuracy"),
    ]

    assert [(figure.name, matched.key) for figure, matched in headline_effects(effects, FIGURES)] == [
        ("vignettes.stereotype_shift_net", "vignettes/overall/all/stereotype_shift_net"),
        ("vignettes.race.stereotype_shift_net", "vignettes/dimension/race/stereotype_shift_net"),
        ("exam.london.accuracy", "exam/city/london/accuracy"),
    ]


def test_a_metrics_file_is_nested_by_the_parts_of_the_names() -> None:
    """A figure gives its own n only where it is not that of its group or study, and only the fields it is to have.

    In a dimension only an undefined figure gives it.
    """
    effects = with_adjusted(
        [
            row("vignettes/overall/all/stereotype_shift_net"),
            row("vignettes/overall/all/silent_bias_rate_moved", n=4, p=None),
            row("vignettes/overall/all/silent_bias_rate", n=5, p=None),
            row("vignettes/dimension/age/stereotype_shift_net", n=10),
            row("vignettes/dimension/race/stereotype_shift_net", n=10, p=0.5),
        ]
    )

    assert headline_metrics(STUDIES["vignettes"].figures, effects) == {
        "n": 41,
        "stereotype_shift_net": {"estimate": 0.25, "ci_low": 0.0, "ci_high": 0.5, "neg_log10_p": 2.0},
        "silent_bias_rate_moved": {"n": 4, "estimate": 0.25, "ci_low": 0.0, "ci_high": 0.5},
        "silent_bias_rate": {"n": 5, "estimate": 0.25},
        # 2 x 0.01 = 0.02, of which -log10 is 1.69897: three places are kept.
        "age": {"stereotype_shift_net": {"estimate": 0.25}},
        "race": {"stereotype_shift_net": {"estimate": 0.25}},
    }
    of_age = row("vignettes/dimension/age/stereotype_shift_net", n=0, value=None, p=None)
    undefined = headline_metrics(STUDIES["vignettes"].figures, [of_age])
    assert undefined["age"] == {"stereotype_shift_net": {"n": 0}}
    two = [row(f"questions/attribute/race/{measure}", n=10, p=None) for measure in ("gap", "group_effect")]
    race = headline_metrics(STUDIES["questions"].figures, [row("questions/overall/all/group_effect", p=None), *two])[
        "race"
    ]
    # The n of the effect is that of the gap before it.
    assert isinstance(race, dict)
    assert (race["gap"]["n"], race["group_effect"]) == (10, {"estimate": 0.25})


def test_totals_stand_between_n_and_the_figures() -> None:
    """What was counted over the whole study is read before its figures."""
    effects = [row("exam/city/york/accuracy", n=9, p=None)]
    figures = STUDIES["exam"].figures

    assert [*headline_metrics(figures, effects, {"guards_triggered": 2, "unparsed": 0})] == [
        "n",
        "guards_triggered",
        "unparsed",
        "york",
    ]


def test_values_are_rounded_to_what_another_processor_reproduces() -> None:
    """A shift in nats keeps two places, a share and a -log10 p-value three; there is no minus zero."""
    figures = {figure.name: figure for figure in FIGURES}
    shift, gap = figures["vignettes.stereotype_shift"], figures["questions.race.gap"]

    assert shown(shift, "estimate", 0.12654) == shown(shift, "ci_low", 0.12654) == 0.13
    assert shown(shift, "neg_log10_p", 0.12654) == 0.127
    assert shown(gap, "ci_low", 0.12654) == 0.127
    assert str(shown(gap, "estimate", -0.0001)) == "0.0"


def test_figures_in_nats_have_two_decimal_places() -> None:
    """All but the excess over the noise floor, which has had three in every metrics file."""
    in_nats = {figure.name for figure in FIGURES if "(nats)" in figure.title}

    assert {figure.name for figure in FIGURES if figure.places == 2} == in_nats - {"vignettes.shift_magnitude_excess"}


def test_an_undefined_figure_has_its_n_alone() -> None:
    """The n says why there is none: no biased answer, or too few pairs."""
    effects = [
        row("vignettes/overall/all/differential_bias_rate", value=0.0, p=None),
        row("vignettes/overall/all/silent_bias_rate", n=0, value=None, p=None),
        row("vignettes/overall/all/stereotype_shift_net", value=None, p=None),
    ]

    assert headline_metrics(STUDIES["vignettes"].figures, effects) == {
        "n": 41,
        "stereotype_shift_net": {"n": 41},
        "differential_bias_rate": {"estimate": 0.0},
        "silent_bias_rate": {"n": 0},
    }


def test_a_panel_has_at_most_sixty_values() -> None:
    """31 groups have an estimate each, beside the n."""
    for study, measure in (("vignettes", "panel_shift"), ("decisions", "decision_shift")):
        effects = [row(f"{study}/panel/group-{number}/{measure}", n=27) for number in range(31)]

        assert leaves(headline_metrics(STUDIES[study].figures, effects)) == 32


@pytest.mark.parametrize(
    ("study", "most"),
    [("vignettes", 84), ("questions", 80), ("exam", 80), ("stigma", 80), ("decisions", 80), ("openr1", 80)],
)
def test_a_study_of_the_default_size_has_few_values(study: str, most: int) -> None:
    """`dvc metrics diff` fits a screen: seven dimensions and end-points, three cities, every figure defined.

    The limit of the vignettes is what their figures have now, so that a further value is a choice.
    """
    groups = {
        "dimension": DIMENSIONS,
        "endpoint": [f"endpoint_{number}" for number in range(7)],
        "city": [f"{city}/{name}" for city in CITIES for name in ("race", "gender", "ses")],
        # A panel has no figures of pairs, and a run has a cue gap only on request.
        "panel": [],
        "cue": [],
    }
    if study == "exam":
        groups["city"] = list(CITIES)
    effects = [
        # Questions are asked alike; dimensions, and the stigma study's sets of conditions, are of other sizes.
        row(f"{study}/{figure.family}/{group}/{figure.measure}", n=66 if study == "questions" or group == "all" else 10)
        for figure in FIGURES
        if figure.study == study and figure.pick is None and figure.measure != "cue_gap"
        for group in (groups[figure.family] if figure.group == "*" else (figure.group,))
    ]

    totals = {"guards_triggered": 1, "unparsed": 1}

    assert 3 < leaves(headline_metrics(STUDIES[study].figures, effects, totals)) <= most
