"""Cities: population by race, gender and income, and prevalences of diseases, all defined in `data/cities.yaml`."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, RootModel, model_validator

from equipoise.core.row import Frozen, Line
from equipoise.core.yamlfile import load_yaml
from equipoise.materials.questions import GROUPS, Attribute, Disease, Group

FILE = Path("data/cities.yaml")
TOLERANCE = 1e-9
"""The largest difference from 1 of a sum of proportions."""

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Composition(Frozen):
    """How a population divides between the two groups of an attribute, as shares that add up to 1.

    `reference` is the group whose consistency is the numerator of the consistency ratio. It need not be the
    larger one.
    """

    reference: Line
    proportions: dict[str, Share]
    source: Line

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        total = sum(self.proportions.values())
        if abs(total - 1) > TOLERANCE:
            raise ValueError(f"proportions add up to {total:.6g}: make them add up to 1")
        if self.reference not in self.proportions:
            message = f"reference {self.reference!r} is not one of the groups: give {' or '.join(self.proportions)}"
            raise ValueError(message)
        return self

    @property
    def other(self) -> str:
        """The group that is not the reference."""
        return next(group for group in self.proportions if group != self.reference)


class Prevalence(Frozen):
    """The reported prevalence of a group of diseases: its weight before normalisation."""

    prevalence: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    source: Line


class City(Frozen):
    """A city. Either table may be left out: a city without diseases has no figures by disease."""

    title: Line
    composition: dict[Attribute, Composition] = {}
    diseases: dict[Disease, Prevalence] = {}

    @model_validator(mode="after")
    def _groups_are_the_attributes_own(self) -> Self:
        if not self.composition and not self.diseases:
            raise ValueError("a city needs composition or diseases: add one of the two")
        for attribute, composition in self.composition.items():
            wanted = list(GROUPS[attribute].values())
            if composition.proportions.keys() != set(wanted):
                groups = ", ".join(composition.proportions)
                message = f"composition of {attribute} is over {groups}: give proportions of {' and '.join(wanted)}"
                raise ValueError(message)
        return self

    def reference_group(self, attribute: Attribute) -> Group:
        """Say whether the reference group of an attribute is the privileged one; KeyError if it has no composition."""
        reference = self.composition[attribute].reference
        return "privileged" if reference == GROUPS[attribute]["privileged"] else "unprivileged"

    def disease_weights(self) -> dict[Disease, float]:
        """Return the prevalences rescaled to add up to 1, in file order; empty without diseases.

        Source: EquiLens' metrics reference, disease composition normalisation.
        """
        total = sum(row.prevalence for row in self.diseases.values())
        return {disease: row.prevalence / total for disease, row in self.diseases.items()}


Name = Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=100)]


class Cities(RootModel[Annotated[dict[Name, City], Field(min_length=1)]]):
    """The file: cities by the name that metrics use."""


def city_title(name: str) -> str:
    """Turn the name of a city in the data files into its title."""
    return name.replace("_", " ").title()


def load_cities(path: Path = FILE) -> dict[str, City]:
    """Read the cities in file order; an error is an EquipoiseError that names the file and the field."""
    return load_yaml(path, Cities).root
