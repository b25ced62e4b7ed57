"""Vignettes as one JSON object: `{"cases": [{"id", "prompt", "bias_feature", "bias_label", "metadata"}, …]}`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from equipoise.core import jsonl
from equipoise.materials.vignette import Vignette

CASES = "cases"


def published(vignettes: Iterable[Vignette]) -> dict[str, Any]:
    """Convert vignettes to the interchange format, one case per arm."""
    return {
        CASES: [
            {
                "id": vignette.key,
                "prompt": vignette.text,
                "bias_feature": " and ".join(vignette.features[dimension] for dimension in vignette.dimensions),
                "bias_label": vignette.stereotyped.label,
                "metadata": {
                    "dimension": vignette.combination,
                    "role": vignette.role,
                    "features": vignette.features,
                    "synonyms": [
                        *vignette.stereotyped.synonyms,
                        *(name for answer in vignette.components for name in (answer.label, *answer.synonyms)),
                    ],
                    "pair": vignette.pair,
                    "tier": vignette.tier,
                    "expected": vignette.expected.label,
                    "expected_synonyms": vignette.expected.synonyms,
                    "story": vignette.presentation,
                    "source": vignette.source,
                    "licence": vignette.licence,
                },
            }
            for vignette in sorted(vignettes, key=lambda row: row.key)
        ]
    }


def is_published(path: Path) -> bool:
    """Whether a file contains cases that `published` wrote: the metadata of every case name its pair and tier."""
    value = jsonl.json_value(str(path), jsonl.read_text(path))
    cases = value.get(CASES) if isinstance(value, dict) else None
    metadata = [case.get("metadata") if isinstance(case, dict) else None for case in cases] if cases else [None]
    return all(isinstance(fields, dict) and {"pair", "tier"} <= fields.keys() for fields in metadata)
