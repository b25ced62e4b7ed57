"""The provenance gate: the track `openr1` takes rows of OpenR1-Psy and no others.

Its gold answers belong to its own messages, and other collections bring another domain: rows of another source would
break both (bias methodology, critical dataset protocol).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from equipoise.core.errors import EquipoiseError
from equipoise.openr1.rows import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterable


class Sourced(Protocol):
    """A row that says where it comes from."""

    @property
    def key(self) -> str:
        """The row's key."""
        ...

    @property
    def source(self) -> str:
        """Where it comes from."""
        ...


def require_source(rows: Iterable[Sourced], where: str) -> None:
    """Refuse rows of which one has another source; EquipoiseError begins with `where` and names the row."""
    for row in rows:
        if row.source != SOURCE:
            message = (
                f"{where}, row {row.key!r}: source {row.source!r} is not {SOURCE}: the track openr1 takes no other "
                "source; take the row out, or import the items with `equipoise import openr1-psy`"
            )
            raise EquipoiseError(message)
