"""How far the matching of final diagnoses agrees with labels: `yes` against the rest, in all and by model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.rating.agreement import binary_agreement
from equipoise.text.answers import MATCHES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.metrics.effects import Nested
    from equipoise.text.answers import Match


def matching_figures(
    labels: Sequence[Match | None],
    found: Sequence[Match],
    cases: Sequence[str],
    models: Sequence[str],
    *,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Figures of n labelled answers, as DVC shows them.

    Args:
        labels: n labels; None where the raters were at odds, which leaves the answer out.
        found: what `match_answer` gives; `unclear` is not `yes`.
        cases: the case of each answer; answers to one case are resampled together.
        models: the model of each answer.
        seed: of the resampling.
        n_bootstrap: number of resamples.

    Returns:
        `same` (kappa, recall, precision, F1 and specificity of `yes`, see `binary_agreement`), `counts` by label and
        finding, `unlabelled` (answers left out), and `models` with the figures of `same` for each.
    """
    rows = [row for row in zip(labels, found, cases, models, strict=True) if row[0] is not None]

    def same(model: str | None) -> Nested:
        chosen = [row for row in rows if model in {None, row[3]}]
        return binary_agreement(
            [label == "yes" for label, *_ in chosen],
            [one == "yes" for _, one, *_ in chosen],
            [case for _, _, case, _ in chosen],
            seed=seed,
            n_bootstrap=n_bootstrap,
        )

    pairs = [row[:2] for row in rows]
    return {
        "same": same(None),
        "counts": {
            label: {one: pairs.count((label, one)) for one in MATCHES}
            for label in MATCHES
            if any(label == row[0] for row in rows)
        },
        "unlabelled": len(labels) - len(rows),
        "models": {model: same(model) for model in sorted({row[3] for row in rows})},
    }
