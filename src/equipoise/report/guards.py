"""The guards: what was asked and not answered, letters given far too often, groups too small to show an effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.leaderboard.text import number
from equipoise.plots.plot import words

if TYPE_CHECKING:
    from collections.abc import Iterator

SKEW = "label_skew"
ALARM = "alarm"
FAULTS = ("duplicate", "incomplete", "violation")
"""Names of figures that are 0 in a sound run hold one of these."""
RUN = "run"


class Skew(NamedTuple):
    """How far an arm's letters lie from the right ones, and whether that sets off the alarm."""

    where: str
    n: int
    distance: str
    alarm: bool


class Guards(NamedTuple):
    """All guard figures. `asked`: a row a count of `metrics/run.json`, a cell a study; `faults`: name, figure, n."""

    studies: list[str]
    asked: list[tuple[str, list[str]]]
    skews: list[Skew]
    faults: list[tuple[str, str, str]]
    small: list[str]
    notes: list[str]


def guards(metrics: Mapping[str, Mapping[str, Any]]) -> Guards:
    """Collect the guard figures of a run's metrics, by their names, wherever a study has them."""
    runs = {study: counts for study, counts in metrics.get(RUN, {}).items() if isinstance(counts, Mapping)}
    names = list(dict.fromkeys(name for counts in runs.values() for name in counts))
    tables = [found for file, content in sorted(metrics.items()) for found in _tables(content, (file,))]
    skews = [_skew(where, table) for where, table in tables if SKEW in table]
    return Guards(
        studies=[words(study) for study in runs],
        asked=[(words(name), [str(counts.get(name, "not counted")) for counts in runs.values()]) for name in names],
        skews=skews,
        faults=[row for where, table in tables for row in _faults(where, table)],
        small=[_place(where) for where, table in tables if table.get("underpowered") == 1],
        notes=[*_notes(runs), *_alarms(skews)],
    )


def _tables(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    yield path, table
    for name, inner in table.items():
        if isinstance(inner, Mapping):
            yield from _tables(inner, (*path, name))


def _skew(where: tuple[str, ...], table: Mapping[str, Any]) -> Skew:
    """Read a skew; its alarm stands in the figure, or beside it as a figure of its own."""
    found = table[SKEW]
    alarm = found.get(ALARM, table.get(f"{SKEW}_{ALARM}", {}).get("estimate", 0))
    return Skew(
        _place(where), found["n"], number(found["estimate"]) if "estimate" in found else "undefined", bool(alarm)
    )


def _faults(where: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, found in table.items():
        if not any(fault in name for fault in FAULTS):
            continue
        place = _place((*where, name))
        if not isinstance(found, Mapping):
            yield place, number(found) if isinstance(found, float) else str(found), ""
        elif "n" in found:
            yield place, number(found["estimate"]) if "estimate" in found else "undefined", str(found["n"])


def _notes(runs: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for study, counts in runs.items():
        asked = counts.get("n_prompts", 0)
        for name, what in (
            ("unfinished", "have a reply that the length limit cut off"),
            ("unparsed", "have an answer that could not be read"),
            ("refusals", "were refused"),
        ):
            if found := counts.get(name):
                yield f"{words(study).capitalize()}: {found} of {asked} prompts {what}."


def _alarms(skews: list[Skew]) -> Iterator[str]:
    if fired := sum(skew.alarm for skew in skews):
        yield (
            f"Label skew: in {fired} of {len(skews)} arms one letter is given far too often, as by a parser that "
            "misreads or a model that always picks one letter. Accuracy there says little."
        )
    elif skews:
        yield f"Label skew: no alarm in {len(skews)} arms."


def _place(where: tuple[str, ...]) -> str:
    return ", ".join(words(name) for name in where)
