"""Whether a recomputed figure is the published one."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Verdict = Literal["reproduced", "departs", "not printed"]

PRINTED = re.compile(
    r"(?P<relation>[<>]=?)?\s*(?P<sign>-?)(?P<digits>\d[\d,]*)(?P<decimals>\.\d+)?\s*(?P<percent>%)?", re.ASCII
)
EXACT = 1e-12
"""A rounding half lies within half a unit: binary fractions of a printed decimal do not."""


class Quoted(NamedTuple):
    """A printed figure as a number: 16.2 % is 0.162 within 0.0005. `relation` is empty, or <, <=, >, >=."""

    relation: str
    value: float
    tolerance: float
    percent: bool


class Reference(NamedTuple):
    """A figure of the released data that was computed by others, and how far ours may be from it."""

    value: float
    tolerance: float


def read_printed(text: str) -> Quoted:
    """Read a figure as a paper prints it; ValueError where it is none.

    A number stands for all that round to it, so its tolerance is half a unit of its last place: "0.899" is 0.899
    within 0.0005. A count is exact.
    """
    match = PRINTED.fullmatch(text.strip())
    if match is None:
        message = f"{text!r} is no figure as printed: give a number, with < or > before it or % after it if need be"
        raise ValueError(message)
    decimals = match["decimals"] or ""
    scale = 0.01 if match["percent"] else 1.0
    value = float(f"{match['sign']}{match['digits'].replace(',', '')}{decimals}") * scale
    rounded = bool(decimals or match["percent"]) and not match["relation"]
    tolerance = 0.5 * 10.0 ** -max(0, len(decimals) - 1) * scale if rounded else 0.0
    return Quoted(match["relation"] or "", value, tolerance, bool(match["percent"]))


def agrees(ours: float, quoted: Quoted) -> bool:
    """Whether a figure is what was printed, or lies on the printed side of a bound."""
    match quoted.relation:
        case "<":
            return ours < quoted.value
        case "<=":
            return ours <= quoted.value
        case ">":
            return ours > quoted.value
        case ">=":
            return ours >= quoted.value
        case _:
            return abs(ours - quoted.value) <= quoted.tolerance + EXACT


def verdict(
    ours: float,
    *,
    paper: str | None = None,
    limit: str | None = None,
    reference: Reference | None = None,
    released: bool = False,
) -> Verdict:
    """Judge one figure.

    `departs` where it differs from the paper's (as printed), from the reference (beyond its tolerance), or breaks a
    limit; else `reproduced` where a paper printed it or its authors `released` the reference; else `not printed`.
    """
    if reference is not None and not abs(ours - reference.value) <= reference.tolerance + EXACT:
        return "departs"
    for printed in (paper, limit):
        if printed is not None and not agrees(ours, read_printed(printed)):
            return "departs"
    if paper is not None or (released and reference is not None):
        return "reproduced"
    return "not printed"
