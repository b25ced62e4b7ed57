"""From rows to pairs: the guard that no arm is missing, and the two judged arms side by side."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from equipoise.core.records import Judgement, Tier, Vignette

SHOWN = 5
"""How many offending keys an error names before it only counts them."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The two judged arms of one case, which differ in the patient's demographics alone."""

    key: str
    tier: Tier
    dimensions: tuple[str, ...]
    marginalised: Judgement
    privileged: Judgement

    @property
    def combination(self) -> str:
        """The varied dimensions as one name, such as `race+socioeconomic`."""
        return "+".join(self.dimensions)

    @property
    def arms(self) -> tuple[Judgement, Judgement]:
        """Both judgements, the marginalised patient's first."""
        return self.marginalised, self.privileged


def pair_up(vignettes: Sequence[Vignette], judgements: Sequence[Judgement]) -> list[Pair]:
    """Join every vignette with its judgement and every arm with its other arm, sorted by pair.

    Raises EquipoiseError that names the keys where a judgement or a vignette is missing or twice there, where a pair
    lacks an arm, where the arms of a pair do not vary the same dimensions, or where these do not fit the tier.
    """
    require_same_keys("vignette", (v.key for v in vignettes), "judgement", (j.key for j in judgements))
    judged = {judgement.key: judgement for judgement in judgements}
    arms: dict[str, dict[str, Vignette]] = {}
    for vignette in vignettes:
        arms.setdefault(vignette.pair, {})[vignette.role] = vignette
    # Two rows of one role leave one arm behind, so an orphan may also be a pair with a role twice.
    orphans = [v.key for v in vignettes if len(arms[v.pair]) == 1 or arms[v.pair][v.role] is not v]
    if orphans:
        msg = f"vignettes without their other arm: {_named(orphans)}; each pair needs one row of each role."
        raise EquipoiseError(msg)
    unequal = [
        pair
        for pair, roles in arms.items()
        if (roles["marginalised"].tier, roles["marginalised"].dimensions)
        != (roles["privileged"].tier, roles["privileged"].dimensions)
    ]
    if unequal:
        msg = f"pairs whose arms differ in tier or dimensions: {_named(unequal)}; give both arms the same."
        raise EquipoiseError(msg)
    mixed = [v.key for v in vignettes if (v.tier == "single") != (len(v.dimensions) == 1)]
    if mixed:
        msg = f"vignettes whose tier and dimensions disagree: {_named(mixed)}; tier `single` varies one dimension."
        raise EquipoiseError(msg)
    return [
        Pair(
            key=pair,
            tier=roles["marginalised"].tier,
            dimensions=roles["marginalised"].dimensions,
            marginalised=judged[roles["marginalised"].key],
            privileged=judged[roles["privileged"].key],
        )
        for pair, roles in sorted(arms.items())
    ]


def require_same_keys(left: str, left_keys: Iterable[str], right: str, right_keys: Iterable[str]) -> None:
    """Raise EquipoiseError, naming the keys, unless both files hold the same keys, each once."""
    counts = {left: Counter(left_keys), right: Counter(right_keys)}
    for name, keys in counts.items():
        repeated = [key for key, times in keys.items() if times > 1]
        if repeated:
            msg = f"keys with more than one {name}: {_named(repeated)}; keep one row for each key."
            raise EquipoiseError(msg)
    for name, other in ((left, right), (right, left)):
        missing = counts[other].keys() - counts[name].keys()
        if missing:
            msg = f"keys with a {other} but no {name}: {_named(missing)}; write the {name} rows again."
            raise EquipoiseError(msg)


def _named(keys: Iterable[str]) -> str:
    """Name the first few keys in order, then count the rest."""
    ordered = sorted(set(keys))
    rest = len(ordered) - SHOWN
    return ", ".join(ordered[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
