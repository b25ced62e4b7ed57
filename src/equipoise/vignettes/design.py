"""The plan of the study: how many personas, dimensions and pairs of each kind the authored files must hold.

Source: the bias methodology of the study (sections 3.1, 3.2 and 5.1). Every count is of pairs, a pair being two cases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import get_args

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Tier
from equipoise.vignettes.schema import Band, Dimension, Pair, Persona

PERSONAS = (35, 40)
"""Fewest and most personas."""

COMORBID_SHARE = (0.25, 0.30)
"""Smallest and largest share of personas with at least one comorbidity."""

CORE_SINGLES = {
    "race": 8,
    "gender": 5,
    "age": 4,
    "housing": 3,
    "substance_use": 3,
    "obesity": 3,
    "socioeconomic": 3,
}
"""Pairs per core dimension in the profile `core`: 29 pairs, 58 cases."""

PROPOSED_SINGLES = {"religion_culture": 4, "disability": 4}
"""Fewest pairs per proposed dimension, all outside the profile `core`."""

SINGLES = (*CORE_SINGLES, *PROPOSED_SINGLES)
INTERSECTIONAL_ONLY = "mental_health"

COMBINATIONS: dict[frozenset[str], tuple[Tier, int, int]] = {
    frozenset({"race", "socioeconomic"}): ("tier1", 2, 1),
    frozenset({"gender", "age"}): ("tier1", 2, 1),
    frozenset({"housing", "substance_use"}): ("tier1", 2, 1),
    frozenset({"race", "gender"}): ("tier1", 2, 1),
    frozenset({"age", "socioeconomic"}): ("tier2", 2, 1),
    frozenset({"gender", "obesity"}): ("tier2", 2, 1),
    frozenset({"race", "age"}): ("tier2", 2, 1),
    frozenset({"housing", "socioeconomic"}): ("tier2", 2, 1),
    frozenset({"race", "gender", "socioeconomic"}): ("tier3", 2, 1),
    frozenset({"gender", "age", "obesity"}): ("tier3", 2, 1),
    frozenset({"mental_health", "substance_use"}): ("mental_health_substance", 4, 2),
}
"""Each combination's tier, its pairs, and those of them in `core`: 24 pairs, of which 12 (24 cases) are core."""

NEW_CONDITIONS = {
    "schizophrenia (prodromal)": r"schizophreni|prodrom|at[- ]risk mental state",
    "somatization disorder": r"somati[sz]ation|somatic symptom|bodily distress",
    "adjustment disorder": r"adjustment",
    "dissociative episodes": r"dissociati",
    "body dysmorphic disorder": r"dysmorphi[ac]",
    "agoraphobia": r"agoraphobi",
    "burnout syndrome": r"burn-?out",
    "late-life anxiety": r"late[- ]life|later life|older",
    "perinatal depression": r"perinatal|antenatal",
    "gender dysphoria": r"gender (?:dysphoria|incongruence)",
    "gambling disorder": r"gambling",
    "complex PTSD": r"complex (?:ptsd|post-?traumatic)",
}
"""The twelve conditions that the panel adds, with the words by which a persona's condition is recognised."""


def check_panel(personas: Iterable[Persona], where: str = "personas") -> None:
    """Refuse a panel of the wrong size or make-up; EquipoiseError begins with `where`."""
    panel = list(personas)
    if not PERSONAS[0] <= len(panel) <= PERSONAS[1]:
        _refuse(where, f"{len(panel)} personas; keep {PERSONAS[0]} to {PERSONAS[1]}")
    if unused := [band for band in get_args(Band) if all(persona.age_band != band for persona in panel)]:
        _refuse(where, f"field age_band: no persona in {', '.join(unused)}; add one to each band")
    comorbid = sum(bool(persona.comorbidities) for persona in panel)
    if not COMORBID_SHARE[0] <= comorbid / len(panel) <= COMORBID_SHARE[1]:
        share = f"{comorbid} of {len(panel)} personas ({comorbid / len(panel):.1%}) have one"
        low, high = COMORBID_SHARE
        _refuse(where, f"field comorbidities: {share}; keep {low:.0%} to {high:.0%}")
    backgrounds = Counter(persona.background for persona in panel)
    if twice := next((persona.id for persona in panel if backgrounds[persona.background] > 1), None):
        _refuse(where, f"{twice}: field background: another persona has the same sentence; give each its own")
    new = [persona for persona in panel if persona.new]
    for condition, words in NEW_CONDITIONS.items():
        found = [persona.id for persona in new if re.search(words, persona.condition, re.IGNORECASE)]
        if len(found) != 1:
            who = ", ".join(found) or "no one"
            _refuse(where, f"field condition: new personas with {condition}: {who}; have exactly one")
    if len(new) != len(NEW_CONDITIONS):
        _refuse(where, f"field new: {len(new)} personas are new; mark exactly the {len(NEW_CONDITIONS)} new conditions")


def check_dimensions(dimensions: Iterable[Dimension], where: str = "dimensions") -> None:
    """Refuse a list of dimensions other than the seven core, two proposed and one intersectional."""
    expected = dict.fromkeys(CORE_SINGLES, "core") | dict.fromkeys(PROPOSED_SINGLES, "proposed")
    expected[INTERSECTIONAL_ONLY] = "intersectional"
    found = {dimension.id: dimension.status for dimension in dimensions}
    for name in (*expected, *found):
        if found.get(name) != expected.get(name):
            want = expected.get(name, "absent")
            _refuse(where, f"dimensions ({name}): status is {found.get(name, 'absent')}, not {want}; correct the list")


def check_plan(pairs: Collection[tuple[Pair, list[str]]], where: str = "pairs") -> None:
    """Refuse authored pairs whose tier or number departs from the plan; each pair comes with its dimensions."""
    n_all: Counter[frozenset[str]] = Counter()
    n_core: Counter[frozenset[str]] = Counter()
    for pair, dimensions in pairs:
        group = frozenset(dimensions)
        tier = tier_of(group)
        if tier != pair.tier:
            want = f"write {tier}" if tier else "no such pair is planned, choose other contrasts"
            _refuse(where, f"pairs ({pair.id}): field tier: {pair.tier} with {'+'.join(dimensions)}; {want}")
        n_all[group] += 1
        n_core[group] += pair.core
    for dimension, n in CORE_SINGLES.items():
        _expect(where, f"core single pairs of {dimension}", n_core[frozenset({dimension})], n)
    for dimension, n in PROPOSED_SINGLES.items():
        _expect(where, f"core single pairs of {dimension}", n_core[frozenset({dimension})], 0)
        if n_all[frozenset({dimension})] < n:
            _refuse(where, f"{n_all[frozenset({dimension})]} single pairs of {dimension}; write at least {n}")
    for group, (_, n, core) in COMBINATIONS.items():
        name = "+".join(sorted(group))
        _expect(where, f"pairs of {name}", n_all[group], n)
        _expect(where, f"core pairs of {name}", n_core[group], core)


def tier_of(group: frozenset[str]) -> Tier | None:
    """The tier of a set of varied dimensions; None where the plan has no such set."""
    if len(group) == 1:
        return "single" if group <= set(SINGLES) else None
    return COMBINATIONS[group][0] if group in COMBINATIONS else None


def _expect(where: str, what: str, found: int, planned: int) -> None:
    if found != planned:
        _refuse(where, f"{found} {what}; write exactly {planned}")


def _refuse(where: str, what: str) -> None:
    message = f"{where}: {what}"
    raise EquipoiseError(message)
