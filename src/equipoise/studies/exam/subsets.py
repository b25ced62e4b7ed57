"""City subsets: questions drawn in the proportions of the city's normalised prevalences, and their prompts.

All cities are drawn with one seed, disease by disease, so that the smaller of two subsets of a disease is part of the
larger: cities are compared on the same questions as far as possible, and each question is asked once.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import grouped
from equipoise.core.params import ITEMS, Limit, Name, Refers, Seed
from equipoise.core.prompts import Prompt
from equipoise.core.row import Frozen, Text
from equipoise.materials.cities import City
from equipoise.materials.orders import Asking, option_prompts
from equipoise.materials.questions import Choices, Disease, Item, Orders
from equipoise.stats.bootstrap import generator
from equipoise.studies.exam import NAME

CLASSES = ("A", "B", "C", "D")
"""The options of a MedMCQA question: the classes of macro averages."""
EXAM = "/exam"
"""Ending of the key of a question that is asked unchanged."""
Rounding = Literal["plain", "largest_remainder"]
NOISE = 9
"""Decimals to which a number of questions is rounded first, so that 0.29 of 100 is not 28.999999999999996."""


class Sampled(Choices):
    """A question in the subset of a city; the key is `<city>/<item>`. Several cities may share a question."""

    study: Literal["exam"] = NAME
    city: Text
    item: Text
    disease: Disease


class Sample(Frozen):
    """The section `sample` of params.yaml: which questions are asked for each city, and how.

    `items` is the stem of a file in data/items. `per_city` is the size of a subset, 0 for every question of the city's
    diseases. `rounding`: plain rounds each disease by itself, as upstream does, and may miss the size by one or two;
    largest_remainder adds up to it. `answering` and `orders` are as in the study of adversarial questions.
    """

    items: Annotated[Name, Refers(ITEMS)]
    per_city: Limit = 0
    rounding: Rounding = "plain"
    seed: Seed = 0
    answering: Literal["likelihood", "generate"] = "likelihood"
    orders: Orders = 4


def disease_counts(weights: Mapping[Disease, float], size: int, rounding: Rounding) -> dict[Disease, int]:
    """Split a number of questions between diseases by weights that add up to 1, in the order of the weights.

    Plain rounding is Python's, halves to the even number. Rounding by the largest remainder rounds every share down and
    gives the rest to the largest remainders, the first of equal ones.
    """
    shares = {disease: round(weight * size, NOISE) for disease, weight in weights.items()}
    if rounding == "plain":
        return {disease: round(share) for disease, share in shares.items()}
    counts = {disease: math.floor(share) for disease, share in shares.items()}
    by_remainder = sorted(shares, key=lambda disease: counts[disease] - shares[disease])
    for disease in by_remainder[: size - sum(counts.values())]:
        counts[disease] += 1
    return counts


def draw(items: Mapping[Disease, Iterable[str]], counts: Mapping[Disease, int], seed: int) -> list[str]:
    """Draw the given number of questions of each disease at random, without replacement; return their keys, sorted.

    The order of the questions does not matter, and a smaller draw with the same seed is part of a larger one. Raises
    EquipoiseError if a disease has too few questions.
    """
    drawn: list[str] = []
    for disease, count in counts.items():
        keys = sorted(items.get(disease, ()))
        if len(keys) < count:
            raise EquipoiseError(
                f"disease {disease}: {len(keys)} questions available, {count} needed: lower sample.per_city, set it to "
                "0 for every question, or import more questions (equipoise import medmcqa)"
            )
        order = generator(seed, disease).permutation(len(keys))
        drawn += [keys[place] for place in order[:count]]
    return sorted(drawn)


def sample_cities(items: Sequence[Item], cities: Mapping[str, City], settings: Sample) -> list[Sampled]:
    """Draw every city's subset; cities without diseases have none.

    Raises:
        EquipoiseError: No city has diseases, a disease has too few questions, a city would get none at all, or a drawn
            question has options other than A to D.
    """
    by_disease = grouped((item.disease, item.key) for item in items if item.disease is not None)
    weights = {name: city.disease_weights() for name, city in cities.items() if city.diseases}
    if not weights:
        raise EquipoiseError("no city has diseases: give one of the cities its prevalences")
    known = {item.key: item for item in items}
    return [
        _sampled(name, known[key])
        for name, shares in weights.items()
        for key in _subset(name, by_disease, shares, settings)
    ]


def sampled_items(items: Sequence[Item], sampled: Iterable[Sampled]) -> list[Item]:
    """List the items that are in any subset, each once, in their order."""
    wanted = {row.item for row in sampled}
    return [item for item in items if item.key in wanted]


def exam_prompts(item: Item, asking: Asking) -> list[Prompt]:
    """Ask an item's question unchanged, demographics included, in every order of its options."""
    return option_prompts(f"{item.key}{EXAM}", NAME, item.question, item.options, asking)


def _subset(
    city: str, items: Mapping[Disease, Sequence[str]], weights: Mapping[Disease, float], settings: Sample
) -> list[str]:
    if settings.per_city:
        return draw(items, disease_counts(weights, settings.per_city, settings.rounding), settings.seed)
    keys = sorted(key for disease in weights for key in items.get(disease, ()))
    if not keys:
        raise EquipoiseError(
            f"no question is about a disease of {city} ({', '.join(weights)}): choose other items, or give them one"
        )
    return keys


def _sampled(city: str, item: Item) -> Sampled:
    if tuple(sorted(item.options)) != CLASSES:
        letters = ", ".join(item.options)
        raise EquipoiseError(
            f"item {item.key!r} has the options {letters}: macro averages are over A to D, so leave it out"
        )
    if item.disease is None:
        raise EquipoiseError(f"item {item.key!r} has no disease: give it one, or leave it out")
    return Sampled(
        key=f"{city}/{item.key}", city=city, item=item.key, disease=item.disease, gold=item.gold, options=item.options
    )
