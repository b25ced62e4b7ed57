"""The three sizes in which the library is built: the core design, every authored pair, and a larger generated set."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Literal, get_args

from equipoise.core.errors import EquipoiseError
from equipoise.vignettes.compose import pair_rows
from equipoise.vignettes.powered import plan
from equipoise.vignettes.validate import validate

if TYPE_CHECKING:
    from equipoise.core.records import Vignette
    from equipoise.vignettes.library import Library

Profile = Literal["core", "full", "powered"]


def build(library: Library, profile: Profile) -> tuple[Vignette, ...]:
    """Compose the pairs of a profile into rows sorted by key, and validate them.

    `core` is 29 single-dimension and 12 intersectional pairs (82 cases), `full` every authored pair, `powered` a
    generated set with at least 30 cases in each of nine dimensions and 10 in each combination.
    """
    if profile not in get_args(Profile):
        known = ", ".join(get_args(Profile))
        msg = f"params.yaml: field build.profile: unknown profile {profile!r}; write one of {known}"
        raise EquipoiseError(msg)
    if profile == "powered":
        planned = plan(library)
    else:
        wanted = [pair for pair in library.pairs.values() if pair.core or profile == "full"]
        planned = [(pair.id, pair.tier, library.parts(pair)) for pair in wanted]
    rows = sorted(chain.from_iterable(pair_rows(*pair) for pair in planned), key=lambda row: row.key)
    validate(rows)
    return tuple(rows)
