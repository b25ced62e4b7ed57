"""The protocol: with what BASE and HEAD were measured, and what differs although BASE does not allow it.

BASE decides the items, their wording, the scale of the scores, the judge, the sampling and the levels. A HEAD that
differs in one of them is measured otherwise, whatever its figures are. BASE's `decision.allow` names what a change may
alter: a setting by its name in params.yaml, a section of settings, a field of the model's entry (`model.thinking`),
`items` (HEAD lacks some) or `texts` (shared items are worded otherwise).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from equipoise.compare.leaderboard import WITHOUT_EFFECT
from equipoise.compare.revisions import Revision
from equipoise.core.display import first_of
from equipoise.figures.options import Decision, Measure
from equipoise.judge.score import Score
from equipoise.studies.registry import STUDIES

ITEMS, TEXTS = "items", "texts"
"""What BASE may allow besides settings."""
SAMPLING = ("generation", "thinking", "temperature", "extra_body", "prefix")
"""Fields of a model's entry that say how it is asked, and not which model it is."""
SERVED = "openai"
"""The backend of models whose weights may change behind one name."""


def incomparable(study: str, base: Revision, head: Revision) -> Iterator[str]:
    """Say why the values of two revisions are not on one scale: settings of `build` and `score`, judge, texts."""
    declared = STUDIES[study]
    names = [name for name in _named(study, base, head) if _forbidden(name, base)]
    if names:
        yield f"HEAD differs in {first_of(names)}, which decides what is measured"
    if study not in base.rows or study not in head.rows or _allows(base, TEXTS):
        return
    before, after = base.rows[study].texts, head.rows[study].texts
    shared = before.keys() & after.keys()
    if changed := sum(before[key] != after[key] for key in shared):
        kind = declared.comparison.texts_name if declared.comparison else TEXTS
        yield f"{changed} of {len(shared)} shared {kind} are worded differently in HEAD"


def loosened(study: str, base: Revision, head: Revision) -> Iterator[str]:
    """Name the settings of verdicts that HEAD alters; BASE's decide all the same."""
    pairs = (("measure", Measure, ("alpha",)), ("decision", Decision, ("alpha", "sequential", "allow")))
    names = [
        f"{section}.{name}"
        for section, kind, fields in pairs
        for name in _different(section, kind, base, head)
        if name in fields
    ]
    # An endpoint that BASE does not declare is HEAD's to declare.
    if study in base.decision.endpoints and (
        base.decision.endpoints[study] != head.decision.endpoints.get(study, base.decision.endpoints[study])
    ):
        names.append(f"decision.endpoints.{study}")
    if names := [name for name in names if _forbidden(name, base)]:
        yield f"HEAD alters {first_of(names)}, which BASE decides"


def lacking(only_base: int, unit: str, base: Revision) -> Iterator[str]:
    """Say how many items of BASE are missing in HEAD."""
    if only_base and not _allows(base, ITEMS):
        yield f"HEAD lacks {only_base} of BASE's {unit}"


def same_model(base: Revision, head: Revision) -> bool:
    """Whether both revisions ran the same weights with the same decoding, so that equal answers are not by chance."""
    known = bool(base.entry) and base.entry.get("backend") != SERVED
    return known and {**base.entry, "title": ""} == {**head.entry, "title": ""} and base.weights == head.weights


def _named(study: str, base: Revision, head: Revision) -> Iterator[str]:
    """Name the differing settings that a study's values depend on."""
    declared = STUDIES[study]
    sections: dict[str, type[BaseModel]] = dict(declared.sections) | ({"score": Score} if declared.judged else {})
    for section, kind in sections.items():
        names = (f"{section}.{name}" for name in _different(section, kind, base, head))
        yield from (name for name in names if name not in WITHOUT_EFFECT)
    if declared.judged and not _same(base.settings, head.settings, "judge"):
        yield "judge"
    for name in SAMPLING:
        yield from _leaves(f"model.{name}", base.entry.get(name), head.entry.get(name))


def _different(section: str, kind: type[BaseModel], base: Revision, head: Revision) -> list[str]:
    """Name the settings of a section that differ; one that is not written has its default."""
    tables: list[dict[str, Any]] = []
    for revision in (base, head):
        written = revision.settings.get(section) or {}
        tables.append(
            {
                name: written.get(name, field.get_default(call_default_factory=True))
                for name, field in kind.model_fields.items()
            }
        )
    return [name for name in kind.model_fields if not _same(tables[0], tables[1], name)]


def _leaves(name: str, before: Any, after: Any) -> Iterator[str]:  # noqa: ANN401  (any setting)
    """Name the differing fields of two settings, which may be tables."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _leaves(f"{name}.{key}", before.get(key), after.get(key))
    elif before != after:
        yield name


def _same(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> bool:
    """Whether a setting is the same in two tables as they would be written."""
    first, second = (json.dumps(table.get(name), sort_keys=True, default=str) for table in (before, after))
    return first == second


def _forbidden(name: str, base: Revision) -> bool:
    return not _allows(base, name)


def _allows(base: Revision, name: str) -> bool:
    """Whether BASE allows a setting to differ, by its own name or by that of something around it."""
    parts = name.split(".")
    return any(".".join(parts[: number + 1]) in base.decision.allow for number in range(len(parts)))
