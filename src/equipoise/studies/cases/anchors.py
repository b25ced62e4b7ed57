"""The published silent bias rates of saved outputs, recomputed by the published practice."""

from pathlib import Path

from equipoise.figures.options import ALPHA
from equipoise.published.anchors import Anchors
from equipoise.studies.cases.effects import score_legacy
from equipoise.studies.cases.rows import read_cases, read_outputs, require_cases

PUBLISHED = "fsd/biased_vignettes_58.json"
MODELS = ("gpt-oss-20b", "piaget-8b-local", "psyllm-gml-local", "qwen3-lmstudio")


def fsd_figures(folder: Path, _data: Path) -> dict[str, float]:
    """Compute the silent bias rate of saved outputs by the published practice, as `fsd/<model>/…`."""
    cases = {case.key: case for case in read_cases(folder / PUBLISHED)}
    figures: dict[str, float] = {}
    for model in MODELS:
        outputs = read_outputs(folder / f"fsd/{model}.jsonl")
        require_cases(model, outputs, cases)
        scored = score_legacy(model, outputs, cases, alpha=ALPHA)
        figures |= {f"fsd/{model}/{name}": scored[name] for name in ("n", "biased", "silent", "rate")}
        figures |= {f"fsd/{model}/wilson95/{end}": scored[f"ci_{end}"] for end in ("low", "high")}
    return {name: value for name, value in figures.items() if value is not None}


ANCHORS = Anchors({"fsd": fsd_figures})
