"""Read the authored files into a library in which every reference resolves, and check it against the study's plan.

Only this module reads `data/raw/*.yaml`; an error in a file is reported in one line that names the file, the row, the
field and the fix. The plan says how many personas, dimensions and pairs of each kind the files must contain
(source: the bias methodology of the study, sections 3.1, 3.2 and 5.1); every count is of pairs, a pair being two cases.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from equipoise.core.errors import EquipoiseError, nearest
from equipoise.core.row import Frozen
from equipoise.core.yamlfile import read_yaml
from equipoise.materials.stories.compose import Parts, misfit
from equipoise.materials.stories.endpoints import Decision, Endpoint
from equipoise.materials.stories.schema import (
    Band,
    Combination,
    Contrast,
    Detail,
    Dimension,
    Harm,
    Pair,
    Persona,
    Presentation,
    Setting,
)
from equipoise.materials.vignette import Tier

STORIES = "presentations"
"""The folder of the presentations, one file for each field of medicine."""

DECISIONS = "decisions"
"""The folder of the decisions that stories ask about: each file maps stories to their rows."""

OWN = "own"
"""The folder of a user's own rows: each file has any of the other files' lists, and may plan further combinations."""

FILES: dict[str, dict[str, type[Frozen]]] = {
    "personas.yaml": {"personas": Persona},
    STORIES: {"presentations": Presentation},
    "contrasts.yaml": {"dimensions": Dimension, "settings": Setting, "contrasts": Contrast},
    "pairs.yaml": {"pairs": Pair},
    "details.yaml": {"details": Detail},
    "harm.yaml": {"harms": Harm},
    "endpoints.yaml": {"endpoints": Endpoint},
    DECISIONS: {"decisions": Decision},
}
"""The authored files, or folders of such files, and the lists of rows in each."""

LISTS: dict[str, type[Frozen]] = {name: kind for lists in FILES.values() for name, kind in lists.items()}
LISTS["combinations"] = Combination
"""Every list of rows."""

_FIXES = {
    "missing": "add it",
    "extra_forbidden": "remove it, or correct its spelling",
    "string_type": "write text (put numbers and yes/no in quotes)",
    "string_too_short": "write some text",
    "string_pattern_mismatch": "use lower-case letters, digits and single hyphens",
    "too_short": "add the rows that are missing",
}

DETAILS = 5
"""The fewest kinds of irrelevant detail; a pair needs one for each contrast."""

PERSONAS = (35, 40)
"""Fewest and most personas."""

OLDEST = 85
"""Age that at least one persona reaches, in years."""

COMORBID_SHARE = (0.25, 0.30)
"""Smallest and largest share of personas with at least one comorbidity."""

CORE_SINGLES = {"race": 8, "gender": 5, "age": 4, "housing": 3, "substance_use": 3, "obesity": 3, "socioeconomic": 3}
"""Pairs of each core dimension in the profile `core`: 29 pairs, 58 cases; none in the reverse direction."""

REVERSE_SINGLES = {"gender": 4, "age": 4}
"""Fewest pairs in the reverse direction (men, the young), all outside the profile `core`."""

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


@dataclass(frozen=True, eq=False)
class Library:
    """The authored rows by id, each mapping in the order of its file; `dimensions` gives the canonical order.

    A library is equal only to itself, so that expensive results can be cached by library.
    """

    personas: dict[str, Persona]
    presentations: dict[str, Presentation]
    dimensions: dict[str, Dimension]
    settings: dict[str, Setting]
    contrasts: dict[str, Contrast]
    pairs: dict[str, Pair]
    details: dict[str, Detail]
    harms: dict[str, Harm]
    endpoints: dict[str, Endpoint]
    decisions: dict[str, Decision]
    combinations: dict[str, Combination]

    @property
    def planned(self) -> dict[frozenset[str], Tier]:
        """The tier of each planned combination of dimensions, those of the study's design first."""
        own = {frozenset(row.dimensions): row.tier for row in self.combinations.values()}
        return {group: tier for group, (tier, _, _) in COMBINATIONS.items()} | own

    def tier_of(self, group: frozenset[str]) -> Tier | None:
        """Return the tier of a set of varied dimensions; None if no such set is planned."""
        return "single" if len(group) == 1 and group <= set(self.dimensions) else self.planned.get(group)

    def harm_of(self, answer: str) -> Harm | None:
        """Return the class of harm of an expected answer, by its label; None for one without a class."""
        return next((harm for harm in self.harms.values() if answer in harm.answers), None)

    def parts(self, pair: Pair) -> Parts:
        """Return the rows that a planned pair refers to, contrasts in canonical order; KeyError for an unknown id."""
        order = list(self.dimensions)
        contrasts = sorted((self.contrasts[name] for name in pair.contrasts), key=lambda c: order.index(c.dimension))
        return Parts(
            presentation=self.presentations[pair.presentation],
            persona=self.personas[pair.persona],
            setting=self.settings[pair.setting],
            contrasts=tuple(contrasts),
            stereotype=pair.stereotype,
        )

    def persona_parts(self, persona: Persona) -> Parts:
        """Return the rows of a persona's own pair, which tells the persona's social history too."""
        contrast = self.contrasts[persona.contrast]
        return Parts(
            presentation=self.presentations[persona.presentation],
            persona=persona,
            setting=self.settings[persona.setting],
            contrasts=(contrast,),
            stereotype=contrast.dimension,
            social=True,
        )


def load_library(folder: Path) -> Library:
    """Read and check the authored files of `folder`; EquipoiseError names the first error."""
    paths = [path for name in FILES for path in sorted((folder / name).glob("*.yaml")) or [folder / name]]
    paths += sorted((folder / OWN).glob("*.yaml"))
    files = {str(path.relative_to(folder)): read_yaml(path) for path in paths}
    return check_library(files, folder)


def check_library(files: Mapping[str, Any], folder: Path) -> Library:
    """Check the parsed values of the files, by path relative to `folder`, which is used only to name them in errors."""
    rows: dict[str, dict[str, Any]] = {name: {} for name in LISTS}
    places: dict[str, dict[str, Path]] = {name: {} for name in LISTS}
    for file, given in files.items():
        content = _by_story(given, folder / file)
        _check_shape(content, file, folder / file)
        for name in content:
            known = len(rows[name])
            _parse(content[name], LISTS[name], f"{folder / file}: {name}", rows[name])
            places[name] |= dict.fromkeys([*rows[name]][known:], folder / file)
    library = Library(**rows)
    _check_panel(library.personas.values(), folder / "personas.yaml")
    _check_dimensions(library.dimensions.values(), places["dimensions"], folder / "contrasts.yaml")
    _check_references(library, places)
    _check_combinations(library, places["combinations"])
    _check_decisions(library, places["decisions"])
    classed = Counter(answer for harm in library.harms.values() for answer in harm.answers)
    if twice := [answer for answer, times in classed.items() if times > 1]:
        _refuse(folder / "harm.yaml", f"harms: {twice[0]!r} has two classes; leave it in one")
    if len(library.details) < DETAILS:
        _refuse(folder / "details.yaml", f"details: {len(library.details)} kinds; write at least {DETAILS}")
    for pair in library.pairs.values():
        if reason := misfit(library.parts(pair)):
            _refuse(places["pairs"][pair.id], f"pairs ({pair.id}): {reason}; choose parts that fit")
    for persona in library.personas.values():
        if reason := misfit(library.persona_parts(persona)):
            _refuse(places["personas"][persona.id], f"personas ({persona.id}): {reason}; choose parts that fit")
    _check_plan(library, places, folder / "pairs.yaml")
    return library


def _by_story(content: Any, path: Path) -> Any:  # noqa: ANN401  (the values of a file)
    """Convert the decisions of a file, written under their stories, to a list of rows with ids."""
    if not isinstance(content, dict) or not isinstance(content.get(DECISIONS), dict):
        return content
    decisions: list[Any] = []
    for story, rows in content[DECISIONS].items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            _refuse(path, f"{DECISIONS} ({story}) must be a list of rows; add them as '- ask: …'")
        decisions += [{"id": f"{story}/{row.get('ask')}", "story": story, **row} for row in rows]
    return {**content, DECISIONS: decisions}


def _check_shape(content: object, file: str, path: Path) -> None:
    """Refuse a file without its lists: all those that `FILES` names, or in the folder `OWN` any of all lists."""
    own = file.startswith(f"{OWN}/")
    names = set(LISTS if own else FILES[file if file in FILES else file.partition("/")[0]])
    keys = set(content) if isinstance(content, dict) else set()
    if not isinstance(content, dict) or not keys or keys - names or (names - keys and not own):
        given = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        wanted = f"{'only' if own else 'exactly'} the keys {', '.join(name for name in LISTS if name in names)}"
        _refuse(path, f"the top level must hold {wanted}, not {given or 'nothing'}; correct the keys")
    for name in content:
        if not isinstance(content[name], list) or not content[name]:
            _refuse(path, f"{name} must be a list with at least one row; add the rows as '- id: …'")


def _parse(rows: list[Any], model: type[Frozen], where: str, parsed: dict[str, Frozen]) -> None:
    """Add the rows of one file to those parsed from others, by id."""
    for index, row in enumerate(rows):
        name = row.get("id") if isinstance(row, dict) else None
        place = f"{where}[{index}]" + (f" ({name})" if name is not None else "")
        try:
            instance = model.model_validate(row)
        except ValidationError as error:
            raise EquipoiseError(f"{place}: {_fault(error.errors())}") from error
        if name in parsed:
            _refuse(place, f"field id: the id {name!r} is used twice; give each row an id of its own")
        parsed[str(name)] = instance


def _fault(details: list[ErrorDetails]) -> str:
    # pydantic also reports a list as too short if its only item is invalid.
    places = [error["loc"] for error in details]
    errors = [
        error
        for error in details
        if error["type"] != "too_short" or sum(place[: len(error["loc"])] == error["loc"] for place in places) == 1
    ]
    first, more = errors[0], len(errors) - 1
    field = ".".join(map(str, first["loc"]))
    text = f"field {field}: " if field else ""
    if first["type"] == "value_error":  # our own rules include their fix
        text += first["msg"].removeprefix("Value error, ")
    else:
        text += f"{first['msg']}; {_FIXES.get(first['type'], 'correct the value')}"
    return text + (f" (and {more} more fault{'s' * (more > 1)} in this row)" if more else "")


def _check_known(field: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            hint = nearest(name, known).rstrip() or f"known: {', '.join(known)}"
            _refuse(field, f"unknown id {name!r}; {hint}")


def _check_references(library: Library, places: Mapping[str, Mapping[str, Path]]) -> None:
    """Refuse unknown ids and evidence about another group; `places` gives the file of each row, by list."""
    for contrast in library.contrasts.values():
        place = f"{places['contrasts'][contrast.id]}: contrasts ({contrast.id}): field"
        _check_known(f"{place} dimension", [contrast.dimension], library.dimensions)
    for presentation in library.presentations.values():
        place = f"{places['presentations'][presentation.id]}: presentations ({presentation.id}): field"
        _check_known(f"{place} settings", presentation.settings, library.settings)
        for stereotype in presentation.stereotypes:
            own, dimensions = f"{place} stereotypes ({stereotype.dimension})", stereotype.dimension.split("+")
            _check_known(f"{own}.dimension", dimensions, library.dimensions)
            of_dimension = {c.id: c for c in library.contrasts.values() if c.dimension in dimensions}
            _check_known(f"{own}.contrasts", stereotype.contrasts, of_dimension)
            groups = sorted({group for contrast in of_dimension.values() for group in contrast.groups})
            _check_known(f"{own}.evidence.group", [stereotype.evidence.group], groups)
            named = [c for name in stereotype.contrasts if (c := of_dimension[name]).dimension == dimensions[0]]
            if other := [c for c in named if stereotype.evidence.group not in c.groups]:
                about = f"{other[0].groups[0]}, the evidence about {stereotype.evidence.group}"
                _refuse(f"{own}.contrasts", f"{other[0].id} is about {about}; remove it")
    known: Mapping[str, Collection[str]] = {
        "presentation": library.presentations,
        "persona": library.personas,
        "setting": library.settings,
    }
    for persona in library.personas.values():
        place = f"{places['personas'][persona.id]}: personas ({persona.id}): field"
        for name in ("presentation", "setting"):
            _check_known(f"{place} {name}", [getattr(persona, name)], known[name])
        _check_known(f"{place} contrast", [persona.contrast], library.contrasts)
    for endpoint in library.endpoints.values():
        place = f"{places['endpoints'][endpoint.id]}: endpoints ({endpoint.id}): field"
        _check_known(f"{place} settings", endpoint.settings, library.settings)
    for pair in library.pairs.values():
        place = f"{places['pairs'][pair.id]}: pairs ({pair.id}): field"
        _check_known(f"{place} stereotype", pair.stereotype.split("+"), library.dimensions)
        for name, ids in known.items():
            _check_known(f"{place} {name}", [getattr(pair, name)], ids)
        _check_known(f"{place} contrasts", pair.contrasts, library.contrasts)


def _check_combinations(library: Library, places: Mapping[str, Path]) -> None:
    """Refuse a combination of unknown dimensions, or one that is planned already."""
    planned = set(COMBINATIONS)
    for row in library.combinations.values():
        place = f"{places[row.id]}: combinations ({row.id}): field dimensions"
        _check_known(place, row.dimensions, library.dimensions)
        if frozenset(row.dimensions) in planned:
            _refuse(place, f"{'+'.join(row.dimensions)} is planned already; remove the row")
        planned.add(frozenset(row.dimensions))


def _check_decisions(library: Library, places: Mapping[str, Path]) -> None:
    """Refuse decisions with an unknown story, end-point or group, or with an answer that cannot be biased."""
    groups: dict[str, list[str]] = {name: [] for name in library.dimensions}
    for contrast in library.contrasts.values():
        groups[contrast.dimension] += contrast.groups
    for decision in library.decisions.values():
        place = f"{places[decision.id]}: decisions ({decision.id}): field"
        _check_known(f"{place} story", [decision.story], library.presentations)
        _check_known(f"{place} ask", [decision.ask], library.endpoints)
        if not any(map(library.endpoints[decision.ask].asked_in, library.presentations[decision.story].settings)):
            _refuse(f"{place} ask", f"{decision.ask} is asked in no setting of {decision.story}; choose another")
        if fault := decision.fault(library.endpoints[decision.ask].labels):
            _refuse(place.removesuffix(": field"), fault)
        for row in decision.evidence:
            _check_known(f"{place} evidence.dimension", [row.dimension], groups)
            _check_known(f"{place} evidence.group", [row.group], sorted({*groups[row.dimension]}))


def _check_panel(personas: Iterable[Persona], where: Path) -> None:
    """Refuse a panel of the wrong size or composition; the error begins with `where`."""
    panel = list(personas)
    if not PERSONAS[0] <= len(panel) <= PERSONAS[1]:
        _refuse(where, f"{len(panel)} personas; keep {PERSONAS[0]} to {PERSONAS[1]}")
    if (oldest := max(persona.age for persona in panel)) < OLDEST:
        _refuse(where, f"field age: the oldest persona is {oldest}; make one {OLDEST} or older")
    if unused := [band for band in get_args(Band) if all(persona.age_band != band for persona in panel)]:
        _refuse(where, f"field age_band: no persona in {', '.join(unused)}; add one to each band")
    comorbid = sum(bool(persona.comorbidities) for persona in panel)
    if not COMORBID_SHARE[0] <= comorbid / len(panel) <= COMORBID_SHARE[1]:
        share = f"{comorbid} of {len(panel)} personas ({comorbid / len(panel):.1%}) have one"
        low, high = COMORBID_SHARE
        _refuse(where, f"field comorbidities: {share}; keep {low:.0%} to {high:.0%}")
    told = Counter(persona.social for persona in panel)
    if twice := next((persona.id for persona in panel if told[persona.social] > 1), None):
        _refuse(where, f"{twice}: field social: another persona has the same words; give each its own")
    new = [persona for persona in panel if persona.new]
    for condition, words in NEW_CONDITIONS.items():
        matching = [persona.id for persona in new if re.search(words, persona.condition, re.IGNORECASE)]
        if len(matching) != 1:
            who = ", ".join(matching) or "no one"
            _refuse(where, f"field condition: new personas with {condition}: {who}; have exactly one")
    if len(new) != len(NEW_CONDITIONS):
        _refuse(where, f"field new: {len(new)} personas are new; mark exactly the {len(NEW_CONDITIONS)} new conditions")


def _check_dimensions(dimensions: Iterable[Dimension], places: Mapping[str, Path], where: Path) -> None:
    """Refuse dimensions unless exactly the seven core ones have the status core; `where` is their file."""
    statuses = {dimension.id: dimension.status for dimension in dimensions}
    proposed = {name: "proposed" for name in statuses if name not in CORE_SINGLES}
    for name, status in (dict.fromkeys(CORE_SINGLES, "core") | proposed).items():
        if (given := statuses.get(name, "absent")) != status:
            place = places.get(name, where)
            _refuse(place, f"dimensions ({name}): status is {given}, not {status}; correct the list")


def _check_plan(library: Library, places: Mapping[str, Mapping[str, Path]], where: Path) -> None:
    """Refuse pairs whose tier or number departs from the plan; `where` is the file of the design's pairs."""
    n_all: Counter[frozenset[str]] = Counter()
    n_core: Counter[frozenset[str]] = Counter()
    n_reverse: Counter[str] = Counter()
    for pair in library.pairs.values():
        contrasts = library.parts(pair).contrasts
        dimensions = [contrast.dimension for contrast in contrasts]
        group = frozenset(dimensions)
        tier = library.tier_of(group)
        place = places["pairs"][pair.id]
        if tier != pair.tier:
            want = f"write {tier}" if tier else "no such pair is planned, choose other contrasts"
            _refuse(place, f"pairs ({pair.id}): field tier: {pair.tier} with {'+'.join(dimensions)}; {want}")
        if any(contrast.reverse for contrast in contrasts):
            n_reverse[pair.stereotype] += 1
            if pair.core:
                _refuse(place, f"pairs ({pair.id}): field core: its contrast is of the reverse direction; write false")
            continue
        if pair.core and place != where:
            _refuse(place, f"pairs ({pair.id}): field core: the core is the study's design; write false")
        n_all[group] += place == where or group not in COMBINATIONS
        n_core[group] += pair.core
    _check_counts(library, n_all, n_core, n_reverse, places["dimensions"], where)


def _check_counts(
    library: Library,
    n_all: Counter[frozenset[str]],
    n_core: Counter[frozenset[str]],
    n_reverse: Counter[str],
    places: Mapping[str, Path],
    where: Path,
) -> None:
    for dimension in library.dimensions.values():
        alone = frozenset({dimension.id})
        _expect(where, f"core single pairs of {dimension.id}", n_core[alone], CORE_SINGLES.get(dimension.id, 0))
        if n_all[alone] < dimension.pairs:
            place = where if places[dimension.id].name == "contrasts.yaml" else places[dimension.id]
            _refuse(place, f"{n_all[alone]} single pairs of {dimension.id}; write at least {dimension.pairs}")
    for dimension_id, n in REVERSE_SINGLES.items():
        if n_reverse[dimension_id] < n:
            _refuse(where, f"{n_reverse[dimension_id]} reverse pairs of {dimension_id}; write at least {n}")
    for group, (_, n, core) in COMBINATIONS.items():
        name = "+".join(sorted(group))
        _expect(where, f"pairs of {name}", n_all[group], n)
        _expect(where, f"core pairs of {name}", n_core[group], core)
    for combination in library.combinations.values():
        if (n := n_all[frozenset(combination.dimensions)]) < combination.pairs:
            _refuse(where, f"{n} pairs of {combination.id}; write at least {combination.pairs}")


def _expect(where: Path, what: str, number: int, planned: int) -> None:
    if number != planned:
        _refuse(where, f"{number} {what}; write exactly {planned}")


def _refuse(where: Path | str, what: str) -> NoReturn:
    raise EquipoiseError(f"{where}: {what}")
