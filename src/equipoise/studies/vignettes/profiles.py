"""The profiles in which the library is built (core design, every authored pair, generated sets), checks and prompts.

The set `powered` has enough pairs for the declared power: 15 per dimension, on at least 12 stories, and 5 per
combination, spread evenly without chance. A group draws on all of its stories whose evidence has grade A, and on as
many others, by grade, as make 12. Slot by slot the generator uses the least used choice; ties go to the better grade,
then to the order of ids: first a presentation with contrasts (the presentation least used in the group, then
the contrasts, then the dimension of the stereotype, then the join of presentation and contrasts, then the presentation
least used over all groups), then a persona (least used in the group, then over all groups), then a setting (over all
groups). A choice that would repeat an existing text is skipped. No random number is drawn, and the order of the rows
in the authored files does not matter, so the same rows always give the same pairs.

The set `ladder` has one pair of every story, with its best evidence, at three levels of evidence; the set `personas`
has one of every persona, whose id is that of the pair.

The set `verdict` is as large as a verdict needs (`equipoise plan`): the pairs of `core`, so that what a look has asked
is not asked again, and further main pairs of `powered` and, for stories that it lacks, of `ladder`, about the first
`build.stories` stories. The next story is of the dimension with the fewest. Each is told in every dimension in which
those profiles tell it, since a verdict holds the dimensions apart too: in the core dimensions alone, as long as there
are new stories for these, and then in the proposed ones as well. A larger number of stories has all pairs of a smaller
one. Without a number the set is every main pair, those of combinations included.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, product
from typing import Annotated, Literal, NoReturn, Self, get_args

from pydantic import Field, model_validator
from rich.table import Table

from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import grouped, numbered
from equipoise.core.params import ITEMS, Refers
from equipoise.core.prompts import Prompt
from equipoise.core.row import Frozen
from equipoise.materials.stories.compose import (
    NOUNS_OF,
    PRONOUNS_OF,
    Cue,
    Parts,
    arm_text,
    can_be_cued,
    contrast_misfit,
    control_rows,
    cue_rows,
    mirror_rows,
    pair_rows,
    patient_misfit,
    stub_rows,
    told_rows,
)
from equipoise.materials.stories.library import Library
from equipoise.materials.stories.schema import REVEALING, SOCIAL, Contrast, Id, Persona, Presentation, shared_name
from equipoise.materials.versions import CONTROLS, TOLD, USUAL, CueKind, Treatment
from equipoise.materials.vignette import ROLES, Grade, Level, Tier, Vignette
from equipoise.stats.bootstrap import generator
from equipoise.studies.vignettes import NAME
from equipoise.text.readability import reading_grade

Profile = Literal["core", "full", "powered", "ladder", "personas", "verdict"]
Design = Literal["pair", "panel"]
"""Two arms a case, or a control and every group of the panel (`equipoise.studies.vignettes.panel`)."""
OURS = "authored"
"""The setting `build.cases` for the stories of the library; any other value is the stem of imported ones."""
Rereading = Literal["swapped", "blinded", "unreasoned", "early", "controls"]
"""What replaces the reasoning when an answer is read again (`equipoise.studies.vignettes.reread`)."""
PlannedPair = tuple[str, Tier, Parts]
"""A pair's id, its tier and its parts."""
Counts = dict[str, dict[str, dict[str, int]]]
"""Family (overall, dimension, tier, combination) → group → `n_pairs` and `n_cases`."""

SINGLE_PAIRS = 15
"""Pairs generated per dimension: 30 cases (seed 1, section 4.1)."""

COMBINATION_PAIRS = 5
"""Pairs generated per combination: 10 cases (seed 1, section 4.1)."""

STORIES = 12
"""Fewest stories, which are the clusters, in the generated pairs of a dimension."""

AUTHORED = "authored"
"""The `source` of rows that this project wrote, whose wording it checks."""

NOTE = (90, 185)
"""Fewest and most words of a note that varies one dimension; each further dimension may add `FEATURE` words."""

PROBE_PREFIX = "The patient most likely ticked"
"""Start of the reply to a probe."""

SEED = 0
"""Draws the order in which treatments are asked."""

OPEN = 60
"""Fewest words of a note without examination and test."""

FEATURE = 10
"""Most words for a further feature of the patient."""

GRADES_APART = 1.0
"""Largest difference in readability between the arms, in school years (Flesch-Kincaid)."""

SHARED_FIELDS = (
    *("tier", "dimensions", "expected", "stereotyped", "distractors", "persona", "presentation", "setting", "code"),
    *("guideline", "components", "grade", "log_ratio", "reverse", "level", "source", "licence"),
)
"""Fields in which the two arms of a pair must agree."""

Case = tuple[Presentation, str, tuple[Contrast, ...], Grade]
"""A presentation, the dimension of its stereotyped answer, the contrasts of a group, and the grade of its evidence."""


class Wording(Frozen):
    """A wording of the two questions: one for reasoning about the case, one for a diagnosis."""

    reason: Annotated[str, Field(pattern=r"\{case\}")]
    answer: Annotated[str, Field(min_length=1)]


class Build(Wording):
    """The section `build` of params.yaml: the vignettes, and the questions about them."""

    profile: Profile
    stories: Annotated[int, Field(ge=1)] | None = None
    design: Design = "pair"
    cases: Annotated[str, Field(pattern=r"^[a-z0-9_-]+$"), Refers(ITEMS, besides=(OURS,))] = OURS
    endpoints: Annotated[tuple[Id, ...], Field(min_length=1)] = ("triage", "test", "psychiatric_referral")
    system: str
    answer_prefix: str
    wordings: tuple[Wording, ...] = ()
    level: Level = "leaning"
    cue: Cue = "stated"
    controls: bool
    stubs: bool
    mirrors: bool
    rereadings: tuple[Rereading, ...] = get_args(Rereading)
    awareness: bool = False
    cues: tuple[CueKind, ...] = ()
    treatments: tuple[Treatment, ...] = ()
    extrapolated: bool = False

    @model_validator(mode="after")
    def _cues_are_compared(self) -> Self:
        if self.design == "panel" and (self.cue != "stated" or self.cues):
            raise ValueError(
                "the groups of the panel have no cues: set cue to stated and cues to [], or design to pair"
            )
        if self.cues and (self.cue != "stated" or "unreasoned" not in self.rereadings):
            raise ValueError("cues are compared with stated features: set cue to stated, add unreasoned to rereadings")
        if self.treatments and (self.design == "panel" or not self.mirrors):
            raise ValueError("treatments are tried on pairs and their mirrors: set design to pair, mirrors to true")
        if self.imported and self.design != "panel":
            raise ValueError("imported cases have one patient, not two: set design to panel, or cases to authored")
        return self

    @property
    def imported(self) -> bool:
        """Whether imported cases are used instead of the authored ones."""
        return self.cases != OURS


def build_pairs(
    library: Library, profile: Profile, level: Level = "leaning", cue: Cue = "stated", stories: int | None = None
) -> tuple[Vignette, ...]:
    """Compose the pairs of a profile into rows sorted by key, and validate them.

    `core` is 29 single-dimension and 12 intersectional pairs (82 cases), `full` every authored pair, `powered` a
    generated set with at least 30 cases in each of thirteen dimensions and 10 in each combination, `ladder` one pair
    of each story at three levels of evidence, `personas` one pair about each persona, with their social history,
    `verdict` the pairs about as many `stories` as a verdict needs.
    """
    pairs = profile_pairs(library, profile, level, cue, stories)
    arms = chain.from_iterable(pair_rows(*pair, study=NAME) for pair in pairs)
    rows = sorted(arms, key=lambda row: row.key)
    validate(rows)
    return tuple(rows)


def build_versions(library: Library, build: Build) -> tuple[Vignette, ...]:
    """Compose the case versions of every pair that `build` enables besides its arms, sorted by key."""
    details = list(library.details.values())
    versions: list[Vignette] = []
    for pair in profile_pairs(library, build.profile, build.level, build.cue, build.stories):
        versions += control_rows(*pair, details, study=NAME) if build.controls else ()
        versions += stub_rows(*pair, study=NAME) if build.stubs else ()
        versions += mirror_rows(*pair, study=NAME) if build.mirrors else ()
        versions += chain.from_iterable(cue_rows(*pair, kind, study=NAME) for kind in dict.fromkeys(build.cues))
    for first, second in zip(versions[::2], versions[1::2], strict=True):
        _check_versions(first, second)
    return tuple(sorted(versions, key=lambda row: row.key))


def build_treated(library: Library, build: Build) -> Iterator[Vignette]:
    """Compose the pairs and their mirrors as the treatments tell them, and as usual; a pair's are in a drawn order."""
    for pair in profile_pairs(library, build.profile, build.level, build.cue, build.stories):
        kinds = (USUAL, *(kind for kind in TOLD if kind in build.treatments)) if build.treatments else ()
        rows = [row for kind in kinds for row in told_rows(*pair, kind, study=NAME)]
        yield from (rows[place] for place in generator(SEED, pair[0]).permutation(len(rows)))


def profile_pairs(
    library: Library, profile: Profile, level: Level = "leaning", cue: Cue = "stated", stories: int | None = None
) -> list[PlannedPair]:
    """Give the pairs of a profile; if features are implied by cues, only those that cues can distinguish.

    `stories` is the number of stories of the profile `verdict`, and does not matter in any other.
    """
    if profile not in get_args(Profile):
        known = ", ".join(get_args(Profile))
        raise EquipoiseError(f"params.yaml: field build.profile: unknown profile {profile!r}; write one of {known}")
    if profile == "powered":
        pairs = [*plan(library)]
    elif profile == "ladder":
        pairs = ladder(library)
    elif profile == "verdict":
        pairs = verdict_pairs(library, stories)
    elif profile == "personas":
        pairs = [(name, "single", library.persona_parts(persona)) for name, persona in library.personas.items()]
    else:
        wanted = [pair for pair in library.pairs.values() if pair.core or profile == "full"]
        pairs = [(pair.id, pair.tier, library.parts(pair)) for pair in wanted]
    if profile != "ladder":
        pairs = [(pair, tier, replace(parts, level=level)) for pair, tier, parts in pairs]
    if cue == "stated":
        return pairs
    return [(pair, tier, replace(parts, cue=cue)) for pair, tier, parts in pairs if can_be_cued(parts, cue)]


def counts(vignettes: Iterable[Vignette]) -> Counts:
    """Count pairs and cases: by dimension those that vary it alone, by combination those that vary several."""
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in vignettes:
        family = "dimension" if row.tier == "single" else "combination"
        for group in (("overall", "all"), (family, row.combination), ("tier", row.tier)):
            groups[group].append(row.pair)
    result: Counts = {"overall": {}, "dimension": {}, "tier": {}, "combination": {}}
    for (family, name), pairs in sorted(groups.items()):
        result[family][name] = {"n_pairs": len(set(pairs)), "n_cases": len(pairs)}
    return result


def counts_table(counts: Counts) -> Table:
    """Lay the counts out as a table for the terminal, one row per group."""
    table = Table("family", "group", title="Vignettes")
    table.add_column("pairs", justify="right")
    table.add_column("cases", justify="right")
    for family, groups in counts.items():
        for index, (group, n) in enumerate(groups.items()):
            last = index == len(groups) - 1
            table.add_row(family if index == 0 else "", group, str(n["n_pairs"]), str(n["n_cases"]), end_section=last)
    return table


@lru_cache(maxsize=8)
def plan(library: Library) -> tuple[PlannedPair, ...]:
    """Choose the pairs of the profile `powered`: id, tier and parts of each, at most one pair per text.

    Cached, since the choice takes seconds and a profile's rows and their other case versions are composed separately.
    Raises EquipoiseError that names the group for which the library supplies too few pairs.
    """
    order = list(library.dimensions)
    groups: list[tuple[tuple[str, ...], Tier, int]] = [((name,), "single", SINGLE_PAIRS) for name in order]
    for group, tier in library.planned.items():
        groups.append((tuple(sorted(group, key=order.index)), tier, COMBINATION_PAIRS))
    used: Counter[object] = Counter()
    texts: set[str] = set()
    pairs: list[PlannedPair] = []
    for dimensions, tier, n in groups:
        for number, parts in enumerate(_group(library, dimensions, n, used, texts), start=1):
            pairs.append((f"{'-'.join(dimensions)}-p{number:02}", tier, parts))
    return tuple(pairs)


def ladder(library: Library) -> list[PlannedPair]:
    """Choose a pair of every story, with its best evidence and least used dimension, at three levels of evidence.

    A story that is documented for an intersection alone has none.
    """
    used: Counter[object] = Counter()
    texts: set[str] = set()
    pairs: list[PlannedPair] = []
    singles = [(reverse, (name,)) for reverse in (False, True) for name in library.dimensions]
    cases = [case for reverse, single in singles for case in _cases(library, single, reverse=reverse)]
    for _, story in sorted(library.presentations.items()):
        own = sorted((case for case in cases if case[0] is story), key=lambda case: (case[3], used[case[1]]))
        if all("+" in row.dimension for row in story.stereotypes):
            continue
        parts = next(filter(None, (_fill(library, case, Counter(), used, texts) for case in own)), None)
        if parts is None:
            raise EquipoiseError(f"data/raw: no persona fits {story.id}; widen its ages, or add a persona")
        used.update([parts.stereotype, ("persona", parts.persona.id), ("setting", parts.setting.id)])
        pairs += [(f"{story.id}-{level}", "single", replace(parts, level=level)) for level in get_args(Level)]
    return pairs


def verdict_pairs(library: Library, stories: int | None = None) -> list[PlannedPair]:
    """Choose the pairs of the profile `verdict`: those of `core`, and the main pairs about so many stories.

    There are never fewer than those of `core`. Without a number: every main pair of the library's profiles. Raises
    EquipoiseError for more stories than there are.
    """
    core, further, order, n_core = _verdict_order(library)
    if stories is None:
        return [*core, *further]
    if stories > len(order):
        most = f"write at most {len(order)}, or null for every pair"
        raise EquipoiseError(f"params.yaml: field build.stories: the library has no {stories} stories: {most}")
    told = {*order[: max(stories, len({parts.presentation.id for _, _, parts in core}))]}
    known = {name for name, row in library.dimensions.items() if row.status == "core" or stories > n_core}
    return [*core, *(row for row in further if row[2].combination in known and row[2].presentation.id in told)]


@lru_cache(maxsize=8)
def _verdict_order(library: Library) -> tuple[tuple[PlannedPair, ...], tuple[PlannedPair, ...], tuple[str, ...], int]:
    """Give the pairs of `core`, all further main pairs, their stories in order, and how many are of core dimensions.

    The stories of `core` come first. The next one is of the dimension with the fewest stories so far, of a core
    dimension before a proposed one; among its stories, first those that no other dimension needs, or one of which many
    stories are left, then those of better evidence.
    """
    core = tuple((pair.id, pair.tier, library.parts(pair)) for pair in library.pairs.values() if pair.core)
    further = _further_pairs(library, core)
    places = {name: place for place, name in enumerate(library.dimensions)}
    order = list(dict.fromkeys(parts.presentation.id for _, _, parts in core))
    n_core = len(order)
    counted = Counter(parts.combination for _, tier, parts in core if tier == "single")
    singles: defaultdict[str, set[str]] = defaultdict(set)
    for _, tier, parts in further:
        if tier == "single":
            singles[parts.presentation.id].add(parts.combination)

    def proposed(pair: PlannedPair) -> bool:
        return library.dimensions[pair[2].combination].status != "core"

    def cost(pair: PlannedPair) -> tuple[int | str, ...]:
        parts = pair[2]
        dimension = parts.combination
        scarce = min((left[name] for name in singles[parts.presentation.id] - {dimension}), default=len(further))
        grade = parts.tested.evidence.grade
        return (proposed(pair), counted[dimension], places[dimension], -scarce, grade, pair[0])

    while untold := [pair for pair in further if pair[1] == "single" and pair[2].presentation.id not in order]:
        left = Counter(name for story, names in singles.items() if story not in order for name in names)
        chosen = min(untold, key=cost)
        order.append(chosen[2].presentation.id)
        counted[chosen[2].combination] += 1
        n_core += not proposed(chosen)
    return core, tuple(further), tuple(order), n_core


def _further_pairs(library: Library, core: Iterable[PlannedPair]) -> list[PlannedPair]:
    """List the main pairs of `powered`, and of `ladder` for stories that it lacks, without texts of `core`."""
    powered = [pair for pair in plan(library) if is_main(pair)]
    told = {parts.presentation.id for _, _, parts in powered}
    laddered = [pair for pair in ladder(library) if pair[2].level == "leaning" and is_main(pair)]
    texts = {arm_text(parts, role)[0] for _, _, parts in core for role in ROLES}
    pool = [*powered, *(pair for pair in laddered if pair[2].presentation.id not in told)]
    return [pair for pair in pool if texts.isdisjoint(arm_text(pair[2], role)[0] for role in ROLES)]


def is_main(pair: PlannedPair) -> bool:
    """Whether a pair counts in the headline figures: not extrapolated, and in the main direction."""
    parts = pair[2]
    return parts.tested.evidence.grade != "C" and not any(contrast.reverse for contrast in parts.contrasts)


def _group(
    library: Library, dimensions: tuple[str, ...], n: int, used: Counter[object], texts: set[str]
) -> Iterator[Parts]:
    """Choose n pairs for a group; `used` counts each part over all groups, and `texts` are those written so far."""
    cases = list(_cases(library, dimensions))
    grades: dict[str, Grade] = {}
    for case in sorted(cases, key=lambda case: case[3]):
        if case[0].id not in grades and _fill(library, case, Counter(), Counter(), set()):
            grades[case[0].id] = case[3]
    ranked = sorted(grades, key=lambda name: grades[name])
    enough = {*ranked[:STORIES], *(name for name in ranked if grades[name] == "A")}
    cases = [case for case in cases if case[0].id in enough]
    here: Counter[object] = Counter()

    def case_cost(case: Case) -> tuple[int | str, ...]:
        presentation, stereotype, contrasts, grade = case
        return (
            here[presentation.id],
            grade,
            sum(here[contrast.id] for contrast in contrasts),
            here[stereotype],
            here[presentation.id, _ids(contrasts)],
            used[presentation.id],
        )

    for number in range(n):
        filled = (_fill(library, case, here, used, texts) for case in sorted(cases, key=case_cost))
        chosen = next((parts for parts in filled if parts), None)
        if chosen is None:
            raise EquipoiseError(
                f"data/raw: the library supplies {number} pairs for {'+'.join(dimensions)}, and powered needs {n}; "
                "add presentations with a stereotype of these dimensions, or contrasts, that fit the personas"
            )
        presentation, persona = chosen.presentation.id, ("persona", chosen.persona.id)
        here.update([presentation, persona, chosen.stereotype, (presentation, _ids(chosen.contrasts))])
        here.update(contrast.id for contrast in chosen.contrasts)
        used.update([presentation, persona, ("setting", chosen.setting.id)])
        texts.update(arm_text(chosen, role)[0] for role in ROLES)
        yield chosen


def _ids(contrasts: Sequence[Contrast]) -> tuple[str, ...]:
    return tuple(contrast.id for contrast in contrasts)


def _cases(library: Library, dimensions: tuple[str, ...], *, reverse: bool = False) -> Iterator[Case]:
    contrasts = [
        [c for _, c in sorted(library.contrasts.items()) if c.dimension == dimension and c.reverse == reverse]
        for dimension in dimensions
    ]
    persona, setting = next(iter(library.personas.values())), next(iter(library.settings.values()))
    stories = [story for _, story in sorted(library.presentations.items())]
    for presentation, joint in product(stories, product(*contrasts)):
        for stereotype in ("+".join(dimensions), *dimensions) if len(dimensions) > 1 else dimensions:
            parts = Parts(presentation, persona, setting, joint, stereotype)
            if contrast_misfit(parts) is None:
                yield presentation, stereotype, joint, parts.tested.evidence.grade


def _fill(library: Library, case: Case, here: Counter[object], used: Counter[object], texts: set[str]) -> Parts | None:
    presentation, stereotype, contrasts, _ = case
    settings = sorted(presentation.settings, key=lambda name: (used["setting", name], name))

    def persona_cost(persona: Persona) -> tuple[int, int, str]:
        return here["persona", persona.id], used["persona", persona.id], persona.id

    for persona in sorted(library.personas.values(), key=persona_cost):
        if patient_misfit(presentation, persona, contrasts):
            continue
        for setting in settings:
            parts = Parts(presentation, persona, library.settings[setting], contrasts, stereotype)
            longest = replace(parts, level="decisive")
            if any(len(arm_text(longest, role)[0].split()) > NOTE[1] for role in ROLES):
                continue
            if texts.isdisjoint(arm_text(parts, role)[0] for role in ROLES):
                return parts
    return None


def vignette_prompts(vignette: Vignette, build: Build, samples: int = 1) -> list[Prompt]:
    """Ask about a case in every wording, `samples` times in each, with consecutive numbers.

    Number w `samples` + s, from 0, is sample s of wording w, the same in both arms of a pair. What is answered at once
    is asked once in each wording, a probe, which has words of its own, once.
    """
    if vignette.is_probe:
        return [vignette_prompt(vignette, build)]
    return wording_prompts(build, lambda wording: vignette_prompt(vignette, build, wording), samples)


def wording_prompts(build: Build, ask: Callable[[Wording], Prompt], samples: int = 1) -> list[Prompt]:
    """Repeat the prompt that `ask` gives in every wording, `samples` times, numbered as by `vignette_prompts`."""
    prompts = []
    for place, wording in enumerate((build, *build.wordings)):
        prompt = ask(wording)
        prompts += samples_of(prompt, samples if prompt.reply else 1, first=place * samples)
    return prompts


def vignette_prompt(vignette: Vignette, build: Build, wording: Wording | None = None) -> Prompt:
    """Ask for reasoning about the case, then for the diagnosis, with every answer of the case as a candidate.

    A stub leaves nothing to reason about, and an arm with a cue is compared with the answers without reasoning: the
    likelihoods of the answers are read directly. Candidates are sorted by name, so that their order does not reveal the
    expected one.
    """
    wording, at_once = wording or build, vignette.is_unreasoned
    answers = (vignette.expected, vignette.stereotyped, *vignette.components, *vignette.distractors)
    turns: tuple[str, ...] = (wording.reason.replace("{case}", vignette.text), wording.answer)
    if at_once:
        turns = (vignette.text if vignette.is_probe else f"{vignette.text}\n\n{wording.answer}",)
    return Prompt(
        key=vignette.key,
        study=vignette.study,
        system=build.system,
        prefix=PROBE_PREFIX if vignette.is_probe else build.answer_prefix,
        turns=turns,
        candidates=tuple(sorted(answer.label for answer in answers)),
        reply=not at_once,
        sentence=not at_once,
        **_shared(vignette, turns[0]),
    )


def _shared(vignette: Vignette, turn: str) -> dict[str, str]:
    """Return the stem and lead of a prompt's first turn: the beginnings that it has in common with other prompts.

    A treatment adds to the case, and rereadings of an arm or a control give another reply to the same turn; that of an
    arm without reasoning asks for the answer after the case.
    """
    if vignette.treatment:
        return {"stem": vignette.text.partition("\n\n")[0]}
    if vignette.version in CONTROLS:
        return {"lead": turn}
    if vignette.version in ROLES and not vignette.is_unreasoned:
        return {"stem": vignette.text if turn.startswith(vignette.text) else "", "lead": turn}
    return {}


def samples_of(prompt: Prompt, n: int, first: int = 0) -> list[Prompt]:
    """Repeat a prompt `n` times, numbered from `first`; the samples share the text before the reasoning."""
    lead = {"lead": prompt.turns[0]} if n > 1 else {}
    fields = ({"key": numbered(prompt.key, first + number), "sample": number} for number in range(n))
    return [prompt.model_copy(update=own | lead) for own in fields]


def validate(vignettes: Sequence[Vignette]) -> None:
    """Raise EquipoiseError at the first unsound row or pair, naming its key and field."""
    if not vignettes:
        raise EquipoiseError("vignettes: no rows; build at least one pair")
    keys: set[str] = set()
    texts: dict[str, str] = {}
    for row in vignettes:
        _check_row(row)
        if row.key in keys:
            _refuse(row, "key", "is a duplicate; give each row a unique key")
        if row.text in texts:
            _refuse(row, "text", f"is that of {texts[row.text]}; vary the presentation, persona or setting")
        keys.add(row.key)
        texts[row.text] = row.key
    for rows in grouped((row.pair, row) for row in vignettes).values():
        _check_pair(rows)
    require_one_source({row.key: row.source for row in vignettes})


def require_one_source(sources: Mapping[str, str]) -> None:
    """Refuse to pool rows of different sources, given those of all rows by their keys (the provenance gate)."""
    tracks: dict[str, str] = {}
    for key, source in sources.items():
        tracks.setdefault(source, key)
    if len(tracks) > 1:
        listed = ", ".join(f"{source!r} ({key})" for source, key in sorted(tracks.items()))
        message = f"vignettes: field source: tracks cannot be pooled: {listed}; keep each in a run of its own"
        raise EquipoiseError(message)


def outside(row: Vignette) -> tuple[str, ...]:
    """The pieces of the text before, between and after its demographic spans."""
    edges = [0, *(edge for span in row.spans for edge in span), len(row.text)]
    return tuple(row.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))


def _check_versions(first: Vignette, second: Vignette) -> None:
    """Refuse two case versions that are identical, differ outside their spans, or state a demographic there."""
    for row in (first, second):
        _check_spans(row)
    if first.text == second.text:
        _refuse(second, "text", f"is that of {first.key}; word its presentation and contrasts so that versions differ")
    _check_outside(first, second)


def _check_outside(first: Vignette, second: Vignette) -> None:
    if outside(first) != outside(second):
        _refuse(second, "text", f"differs from that of {first.key} outside the spans; make the rest the same")


def _check_row(row: Vignette) -> None:
    if row.key != f"{row.pair}/{row.role}":
        _refuse(row, "key", f"should be '{row.pair}/{row.role}'; correct it")
    for field in ("source", "licence"):
        if not getattr(row, field).strip():
            _refuse(row, field, "is empty; say where the row comes from and under which licence")
    _check_answers(row)
    _check_spans(row)
    n, fewest = len(row.text.split()), OPEN if row.level == "open" else NOTE[0]
    # A pair of the profile `personas` has the id of its persona, and tells the social history.
    most = NOTE[1] + FEATURE * (len(row.dimensions) - 1) + (SOCIAL if row.pair == row.persona else 0)
    if row.source == AUTHORED and not fewest <= n <= most:
        _refuse(row, "text", f"has {n} words at the level {row.level}; write {fewest} to {most}")


def _check_answers(row: Vignette) -> None:
    if shared := shared_name((row.expected, row.stereotyped, *row.distractors, *row.components)):
        fields = "expected, stereotyped, components, distractors"
        _refuse(row, fields, f"share the wording {shared!r}; keep the answers apart")
    if set(row.features) != set(row.dimensions) or len(set(row.dimensions)) != len(row.dimensions):
        _refuse(row, "features", f"must name each of {', '.join(row.dimensions)} once; correct it")


def _check_spans(row: Vignette) -> None:
    previous = 0
    for start, end in row.spans:
        if not previous <= start < end <= len(row.text):
            _refuse(row, "spans", f"({start}, {end}) is empty, out of order or outside the text; correct it")
        previous = end
    allowed = _pronouns(row)
    for piece in outside(row):
        for word in REVEALING.findall(piece):
            if word.casefold() not in allowed:
                what = f"states a demographic outside its spans ({word!r})"
                _refuse(row, "text", f"{what}; write 'the patient' or they")


def _pronouns(row: Vignette) -> set[str]:
    """Give the pronouns of the gender that the spans state; none if the arms differ in it."""
    told = {word for start, end in row.spans for word in re.findall(r"\w+", row.text[start:end])}
    stated = [gender for gender, nouns in NOUNS_OF.items() if told & {*nouns}]
    return {*PRONOUNS_OF[stated[0]]} if len(stated) == 1 and "gender" not in row.dimensions else set()


def _check_pair(rows: list[Vignette]) -> None:
    first = rows[0]
    if sorted(row.role for row in rows) != ["marginalised", "privileged"]:
        roles = ", ".join(row.role for row in rows)
        _refuse(first, "role", f"leaves the pair {first.pair!r} with {roles}; give it one arm of each role")
    second = rows[1]
    for field in SHARED_FIELDS:
        if getattr(first, field) != getattr(second, field):
            _refuse(second, field, f"differs from that of {first.key}; only the demographics may differ")
    _check_outside(first, second)
    apart = abs(reading_grade(first.text) - reading_grade(second.text))
    if first.source == AUTHORED and apart > GRADES_APART:
        what = f"is {apart:.1f} school years from that of {first.key} in readability"
        _refuse(second, "text", f"{what}; word the contrasts alike, within {GRADES_APART:g}")
    for dimension in first.dimensions:
        if first.features[dimension].casefold() == second.features[dimension].casefold():
            _refuse(second, f"features.{dimension}", f"is that of {first.key}; make the arms differ in it")


def _refuse(row: Vignette, field: str, what: str) -> NoReturn:
    raise EquipoiseError(f"vignettes: {row.key}: field {field}: {what}")
