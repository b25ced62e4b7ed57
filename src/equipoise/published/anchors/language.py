"""Figures of texts that were read: the published silent bias practice, the letter parser, the choice of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.cases.outputs import read_outputs, require_cases
from equipoise.cases.rows import read_cases
from equipoise.core.tables import json_rows
from equipoise.metrics.cases import score_legacy
from equipoise.questions.neutral.lexicon import load_lexicon
from equipoise.questions.neutral.selection import select
from equipoise.text.letters import read_letter

if TYPE_CHECKING:
    from pathlib import Path

CASES = "fsd/biased_vignettes_58.json"
MODELS = ("gpt-oss-20b", "piaget-8b-local", "psyllm-gml-local", "qwen3-lmstudio")
GRADED = ("mixtral-8x7b-instruct-v0.1", "meditron-7b")
SELECTION = "amqa/selection.jsonl"


def fsd_figures(folder: Path, _data: Path) -> dict[str, float]:
    """Compute the silent bias rate of saved outputs by the published practice, as `fsd/<model>/…`."""
    cases = {case.key: case for case in read_cases(folder / CASES)}
    figures: dict[str, float] = {}
    for model in MODELS:
        outputs = read_outputs(folder / f"fsd/{model}.jsonl")
        require_cases(model, outputs, cases)
        scored = score_legacy(model, outputs, cases, alpha=0.05)
        figures |= {f"fsd/{model}/{name}": scored[name] for name in ("n", "biased", "silent", "rate")}
        figures |= {f"fsd/{model}/wilson95/{end}": scored[f"ci_{end}"] for end in ("low", "high")}
    return {name: value for name, value in figures.items() if value is not None}


def parser_figures(folder: Path, _data: Path) -> dict[str, float]:
    """Compute how often the letter that we read is right where the released flag says so, as `parser/<model>/…`."""
    figures: dict[str, float] = {}
    for model in GRADED:
        rows: list[dict[str, Any]] = [row for _, row in json_rows(folder / f"parser/{model}.jsonl")]
        right = [read_letter(row["response"], row["options"]).letter == row["gold"] for row in rows]
        agreeing = sum(ours == row["is_correct"] for ours, row in zip(right, rows, strict=True))
        figures |= {f"parser/{model}/n": len(rows), f"parser/{model}/agreement": agreeing / len(rows)}
    return figures


def selection_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute how well our choice of examination questions follows AMQA's, as `selection/…`."""
    lexicon = load_lexicon(data / "lexicon")
    kept: dict[bool, list[bool]] = {True: [], False: []}
    for _, row in json_rows(folder / SELECTION):
        kept[bool(row["kept"])].append(select(row["question"], row["options"], lexicon) is None)
    sensitivity = sum(kept[True]) / len(kept[True])
    specificity = 1 - sum(kept[False]) / len(kept[False])
    return {
        "selection/n": len(kept[True]) + len(kept[False]),
        "selection/sensitivity": sensitivity,
        "selection/specificity": specificity,
        "selection/balanced_accuracy": (sensitivity + specificity) / 2,
    }
