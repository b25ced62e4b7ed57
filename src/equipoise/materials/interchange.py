"""The interchange format of vignette studies: our vignettes as one JSON object, `{"cases": [...]}`.

A case has `id`, `prompt`, `bias_feature` and `bias_label`; what the format has no field for is `metadata`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from equipoise.core import jsonl
from equipoise.materials.vignette import Vignette

CASES = "cases"
"""The one key of the object."""


def published(vignettes: Iterable[Vignette]) -> dict[str, Any]:
    """Put our vignettes in the interchange format, an arm a case; what the format has no field for is metadata."""
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
                        *(wording for one in vignette.components for wording in (one.label, *one.synonyms)),
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
            for vignette in sorted(vignettes, key=lambda one: one.key)
        ]
    }


def is_published(path: Path) -> bool:
    """Whether a file holds cases that `published` wrote: in all of them the metadata name the pair and the tier."""
    value = jsonl.json_value(str(path), jsonl.read_text(path))
    cases = value.get(CASES) if isinstance(value, dict) else None
    metadata = [one.get("metadata") if isinstance(one, dict) else None for one in cases] if cases else [None]
    return all(isinstance(one, dict) and {"pair", "tier"} <= one.keys() for one in metadata)
