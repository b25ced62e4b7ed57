"""Generate enough pairs for the declared power: 15 per dimension and 5 per combination, spread evenly without chance.

For each group the generator takes, slot by slot, the least used choice, ties going to the order of the authored files:
first a presentation with contrasts (the presentation least used in the group, then the contrasts, then the dimension of
the stereotype, then the join of presentation and contrasts, then the presentation least used over all groups), then a
persona (least used in the group, then over all groups), then a setting (over all groups). A choice that would repeat a
text already written is passed over. No random number is drawn, so the same library always gives the same pairs.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.vignettes import design
from equipoise.vignettes.compose import Parts, arm_text
from equipoise.vignettes.fit import ROLES, contrast_misfit, patient_misfit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equipoise.core.records import Tier
    from equipoise.vignettes.library import Library
    from equipoise.vignettes.schema import Contrast, Persona, Presentation

SINGLE_PAIRS = 15
"""Pairs generated per dimension: 30 cases (seed 1, section 4.1)."""

COMBINATION_PAIRS = 5
"""Pairs generated per combination: 10 cases (seed 1, section 4.1)."""

Case = tuple["Presentation", str, tuple["Contrast", ...]]
"""A presentation, the dimension of its stereotyped answer, and the contrasts of a group."""


def plan(library: Library) -> list[tuple[str, Tier, Parts]]:
    """Choose the pairs of the profile `powered`: id, tier and parts of each, at most one pair per text.

    EquipoiseError names the group for which the library supplies too few pairs.
    """
    order = list(library.dimensions)
    groups: list[tuple[tuple[str, ...], Tier, int]] = [((name,), "single", SINGLE_PAIRS) for name in design.SINGLES]
    for group, (tier, _, _) in design.COMBINATIONS.items():
        groups.append((tuple(sorted(group, key=order.index)), tier, COMBINATION_PAIRS))
    used = _Usage()
    planned: list[tuple[str, Tier, Parts]] = []
    for dimensions, tier, n in groups:
        for number, parts in enumerate(_group(library, dimensions, n, used), start=1):
            planned.append((f"{'-'.join(dimensions)}-p{number:02}", tier, parts))
    return planned


class _Usage:
    """How often each part has been chosen over all groups, and the texts written so far."""

    def __init__(self) -> None:
        self.presentations: Counter[str] = Counter()
        self.personas: Counter[str] = Counter()
        self.settings: Counter[str] = Counter()
        self.texts: set[str] = set()


def _group(library: Library, dimensions: tuple[str, ...], n: int, used: _Usage) -> Iterator[Parts]:
    cases = list(_cases(library, dimensions))
    here: Counter[object] = Counter()
    personas: Counter[str] = Counter()

    def case_cost(case: Case) -> tuple[int, ...]:
        presentation, stereotype, contrasts = case
        return (
            here[presentation.id],
            sum(here[contrast.id] for contrast in contrasts),
            here[stereotype],
            here[presentation.id, contrasts],
            used.presentations[presentation.id],
        )

    for number in range(n):
        filled = (_fill(library, case, personas, used) for case in sorted(cases, key=case_cost))
        chosen = next((parts for parts in filled if parts), None)
        if chosen is None:
            msg = (
                f"data/raw: the library supplies {number} pairs for {'+'.join(dimensions)}, and powered needs {n}; "
                "add presentations with a stereotype of these dimensions, or contrasts, that fit the personas"
            )
            raise EquipoiseError(msg)
        here.update([chosen.presentation.id, chosen.stereotype, (chosen.presentation.id, chosen.contrasts)])
        here.update(contrast.id for contrast in chosen.contrasts)
        personas[chosen.persona.id] += 1
        used.presentations[chosen.presentation.id] += 1
        used.personas[chosen.persona.id] += 1
        used.settings[chosen.setting.id] += 1
        used.texts.update(arm_text(chosen, role)[0] for role in ROLES)
        yield chosen


def _cases(library: Library, dimensions: tuple[str, ...]) -> Iterator[Case]:
    contrasts = [[c for c in library.contrasts.values() if c.dimension == dimension] for dimension in dimensions]
    for presentation, joint in product(library.presentations.values(), product(*contrasts)):
        for stereotype in dimensions:
            if contrast_misfit(presentation, joint, stereotype) is None:
                yield presentation, stereotype, joint


def _fill(library: Library, case: Case, personas: Counter[str], used: _Usage) -> Parts | None:
    presentation, stereotype, contrasts = case

    def persona_cost(persona: Persona) -> tuple[int, int]:
        return personas[persona.id], used.personas[persona.id]

    settings = sorted(presentation.settings, key=used.settings.__getitem__)
    for persona in sorted(library.personas.values(), key=persona_cost):
        if patient_misfit(presentation, persona, contrasts):
            continue
        for setting in settings:
            parts = Parts(presentation, persona, library.settings[setting], contrasts, stereotype)
            if used.texts.isdisjoint(arm_text(parts, role)[0] for role in ROLES):
                return parts
    return None
