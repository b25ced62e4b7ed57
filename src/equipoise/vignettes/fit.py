"""Whether a presentation, a persona, a setting and some contrasts make a sound case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.vignettes.compose import ADULT, Parts, genders, patient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.records import Role
    from equipoise.vignettes.schema import Contrast, Persona, Presentation

ROLES: tuple[Role, Role] = ("marginalised", "privileged")


def misfit(parts: Parts) -> str | None:
    """Why these parts make no sound case, naming the field at fault; None where they do."""
    presentation, setting = parts.presentation, parts.setting
    if setting.id not in presentation.settings:
        allowed = ", ".join(presentation.settings)
        return f"field setting: {presentation.id} does not allow {setting.id!r} (only {allowed})"
    return contrast_misfit(presentation, parts.contrasts, parts.stereotype) or patient_misfit(
        presentation, parts.persona, parts.contrasts
    )


def contrast_misfit(presentation: Presentation, contrasts: Sequence[Contrast], stereotype: str) -> str | None:
    """Why the stereotyped answer of dimension `stereotype` cannot be tested by these contrasts; None where it can.

    Every contrast must be allowed by the presentation, those of other dimensions than the tested one included.
    """
    dimensions = [contrast.dimension for contrast in contrasts]
    if len(set(dimensions)) < len(dimensions):
        return "field contrasts: two contrasts of one dimension"
    if stereotype not in dimensions:
        return f"field stereotype: {stereotype!r} is not a dimension of its contrasts ({', '.join(dimensions)})"
    if stereotype not in presentation.stereotypes:
        return f"field stereotype: {presentation.id} has no stereotyped answer for {stereotype!r}"
    for contrast in contrasts:
        own = presentation.stereotypes.get(contrast.dimension)
        named = own.contrasts if own else ()
        if contrast.id in named:
            continue
        if named:
            only = ", ".join(named)
            return f"field contrasts: {presentation.id} limits {contrast.dimension} to {only}, not {contrast.id!r}"
        if contrast.named_only:
            return f"field contrasts: {contrast.id} is named_only, and no stereotype of {presentation.id} lists it"
    return None


def patient_misfit(presentation: Presentation, persona: Persona, contrasts: Sequence[Contrast]) -> str | None:
    """Why the case is not sound for the patient of either arm (age, gender, source); None where it is for both."""
    if persona.source != presentation.source:
        return f"field persona: source {persona.source!r} of {persona.id} is not that of {presentation.id}"
    limits = [(presentation.id, presentation.ages, presentation.genders)]
    limits += [(contrast.id, contrast.ages, contrast.genders) for contrast in contrasts]
    stated = genders(persona, contrasts)
    for role in ROLES:
        age = patient(persona, contrasts, role).age
        for name, (youngest, oldest), sound in limits:
            if not youngest <= age <= oldest:
                return f"field persona: the {role} patient is {age}, outside the ages {youngest} to {oldest} of {name}"
            if not set(stated) <= set(sound):
                return f"field persona: the patient may be {' or '.join(stated)}, outside the genders of {name}"
        if age < ADULT and any(contrast.marginalised.noun for contrast in contrasts):
            return f"field persona: the {role} patient is {age}, and a contrast calls them a woman or a man"
    return None
