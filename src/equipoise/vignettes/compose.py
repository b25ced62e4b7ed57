"""Write a pair out: the same case about a marginalised and about a privileged patient.

Everything demographic is in one noun phrase at the head of the text, "An 83-year-old Black woman who …", and that
phrase is the demographic span. What follows is the presentation in its setting, then the persona's background sentence;
both arms share them.

A control telling is the privileged arm with irrelevant details after its own clauses, one for each contrast of the
pair. A pair's two control tellings differ in these details, at the place where its arms differ in their demographics,
in a word or in a clause as they do.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from equipoise.core.records import CONTROLS, Role, Tier, Vignette
from equipoise.text.articles import with_article
from equipoise.vignettes.schema import Contrast, Detail, Gender, Persona, Presentation, Setting

ADULT = 18
"""Age in years from which a patient is called a woman or a man rather than a girl or a boy."""

ROLES: tuple[Role, Role] = ("marginalised", "privileged")
BOTH: tuple[Gender, ...] = ("woman", "man")


@dataclass(frozen=True)
class Patient:
    """What a noun phrase says of one arm's patient."""

    age: int
    noun: str
    adjectives: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()

    @property
    def phrase(self) -> str:
        """The noun phrase, beginning with its article."""
        words = (f"{self.age}-year-old", *self.adjectives, self.noun, " and ".join(self.clauses))
        return with_article(" ".join(word for word in words if word), capital=True)


@dataclass(frozen=True)
class Parts:
    """The rows that one pair is made of; `contrasts` in the canonical order of their dimensions."""

    presentation: Presentation
    persona: Persona
    setting: Setting
    contrasts: tuple[Contrast, ...]
    stereotype: str


def patient(persona: Persona, contrasts: Sequence[Contrast], role: Role) -> Patient:
    """The patient of one arm: the persona's age and gender, unless a contrast sets them, and their features."""
    arms = [contrast.arm(role) for contrast in contrasts]
    age = next((arm.age for arm in arms if arm.age is not None), persona.age)
    noun = next((arm.noun for arm in arms if arm.noun is not None), None) or _noun(persona.gender, age)
    return Patient(
        age=age,
        noun=noun,
        adjectives=tuple(arm.adjective for arm in arms if arm.adjective is not None),
        clauses=tuple(arm.clause for arm in arms if arm.clause is not None),
    )


def genders(persona: Persona, contrasts: Sequence[Contrast]) -> tuple[Gender, ...]:
    """The genders for which the case must be sound: those the two arms state, or both where the words leave it open."""
    nouns = {noun for contrast in contrasts for noun in (contrast.marginalised.noun, contrast.privileged.noun) if noun}
    stated = nouns or {persona.gender}
    return tuple(gender for gender in BOTH if gender in stated) if stated <= set(BOTH) else BOTH


def pair_rows(pair: str, tier: Tier, parts: Parts) -> tuple[Vignette, Vignette]:
    """The two rows of a pair, marginalised then privileged, alike outside the span `(0, length of the noun phrase)`."""
    marginalised, privileged = (_row(pair, tier, parts, role) for role in ROLES)
    return marginalised, privileged


def arm_text(parts: Parts, role: Role) -> tuple[str, int]:
    """The text of one arm, and the length in characters of the noun phrase at its head."""
    return _told(parts, patient(parts.persona, parts.contrasts, role))


def control_rows(pair: str, tier: Tier, parts: Parts, details: Sequence[Detail]) -> tuple[Vignette, Vignette]:
    """The two control tellings of a pair: rows of the privileged patient, in which no feature is varied."""
    first = int.from_bytes(hashlib.sha256(pair.encode()).digest()[:4])
    kinds = [details[(first + place) % len(details)] for place in range(len(parts.contrasts))]
    arm = _row(pair, tier, parts, "privileged")
    stated = patient(parts.persona, parts.contrasts, "privileged")

    def telling(side: int) -> Vignette:
        clauses = [
            (kind.clause if contrast.privileged.clause else kind.word)[side]
            for kind, contrast in zip(kinds, parts.contrasts, strict=True)
        ]
        text, length = _told(parts, replace(stated, clauses=(*stated.clauses, *clauses)))
        changed = {"key": f"{pair}/{CONTROLS[side]}", "text": text, "spans": ((0, length),), "features": {}}
        return arm.model_copy(update=changed)

    return telling(0), telling(1)


def _told(parts: Parts, patient: Patient) -> tuple[str, int]:
    case = parts.presentation.text.replace("{patient}", patient.phrase).replace("{setting}", parts.setting.phrase)
    return f"{case} {parts.persona.background}", len(patient.phrase)


def _row(pair: str, tier: Tier, parts: Parts, role: Role) -> Vignette:
    text, length = arm_text(parts, role)
    presentation = parts.presentation
    return Vignette(
        key=f"{pair}/{role}",
        pair=pair,
        role=role,
        tier=tier,
        dimensions=tuple(contrast.dimension for contrast in parts.contrasts),
        text=text,
        spans=((0, length),),
        features={contrast.dimension: contrast.arm(role).feature for contrast in parts.contrasts},
        expected=presentation.expected,
        stereotyped=presentation.stereotypes[parts.stereotype].answer,
        distractors=presentation.distractors,
        persona=parts.persona.id,
        presentation=presentation.id,
        setting=parts.setting.id,
        code=presentation.code,
        guideline=presentation.guideline,
        source=presentation.source,
        licence=presentation.licence,
    )


def _noun(gender: str, age: int) -> str:
    if gender == "non-binary":
        return "person"
    return gender if age >= ADULT else {"woman": "girl", "man": "boy"}[gender]


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
