"""The default model in the form that each benchmark needs, and the benchmarks' prompts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.core import cache, jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt
from equipoise.core.tables import json_rows
from equipoise.materials.orders import Asking
from equipoise.materials.questions import Item
from equipoise.materials.stories.library import load_library
from equipoise.models import registry
from equipoise.models.weights import locate
from equipoise.studies.exam.subsets import exam_prompts
from equipoise.studies.questions import amqa
from equipoise.studies.questions.variants.templates import load_templates
from equipoise.studies.vignettes.profiles import Build, build_pairs, vignette_prompt

if TYPE_CHECKING:
    from equipoise.models.registry import OnnxEntry

ROOT = Path(__file__).parents[1]
MODEL = "smollm2"
ARMS = ("original_question", "desensitized_question", *(f"adv_question_{name}" for name in (
    "white", "black", "high_income", "low_income", "male", "female",
)))  # fmt: skip
"""The eight texts of one question of AMQA."""


class Asked(NamedTuple):
    """The model: its exported folder, its entry, the same weights in torch and float32 (or None), its tokenizer."""

    folder: Path
    entry: OnnxEntry
    torch: Any
    tokenizer: Any

    def text(self, prompt: Prompt) -> str:
        """Return the text that the model reads before its reply to a prompt of one turn, as in the backend."""
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.turns[0]}]
        conversation = messages if prompt.system else messages[1:]
        return str(self.tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)) + (
            prompt.prefix
        )


def exported(file: str) -> tuple[Path, OnnxEntry]:
    """Find the folder of the default model's export, in which `file` is needed, and its registry entry."""
    path = ROOT / "data/manifest.json"
    manifest = jsonl.read_one(path, Manifest)
    folder = ROOT / cache.folder() / "models" / (manifest.folder or "")
    if manifest.model != MODEL or not (folder / file).is_file():
        message = f"{path}: no export of {MODEL}: run `dvc repro export`"
        raise EquipoiseError(message)
    entry = registry.load_entry(MODEL, ROOT)
    if not isinstance(entry, registry.OnnxEntry):
        message = f"models/{MODEL}.yaml: field backend is {entry.backend}: the benchmarks are of backend onnx"
        raise EquipoiseError(message)
    return folder, entry


def load_model() -> Asked:
    """Find the export of the default model, and load its original."""
    folder, entry = exported("model.onnx")
    return load_original(entry)._replace(folder=folder)


def load_original(entry: OnnxEntry) -> Asked:
    """Load the original of an exported model; the folder is not known."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    weights = locate(entry, ROOT)
    model = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32, **weights.arguments).eval()
    return Asked(Path(), entry, model, AutoTokenizer.from_pretrained(weights.folder, **weights.arguments))


def pipeline_questions(count: int) -> list[Prompt]:
    """Take prompts of the adversarial study as the pipeline asks them: the variants of a question share a stem."""
    return jsonl.read(ROOT / "data/questions/built/prompts.jsonl", Prompt)[:count]


def amqa_questions(count: int) -> list[Prompt]:
    """Build prompts of AMQA's questions, eight texts a question; none where EQUIPOISE_ANCHORS names no folder.

    Each text was rewritten as a whole, so that the eight of a question share little but the system message.
    """
    anchors = os.environ.get("EQUIPOISE_ANCHORS")
    if not anchors:
        return []
    template = load_templates(ROOT / "data/templates").evaluation
    prompts: list[Prompt] = []
    for _, row in json_rows(Path(anchors) / "amqa/items.jsonl"):
        for arm in ARMS:
            item = Item(
                key=f"{row['question_id']}-{arm}",
                study="questions",
                question=row[arm],
                options={letter: row[f"option_{letter}"] for letter in "ABCD"},
                gold=row["answer_idx"],
                reference="",
                source=amqa.HUB_ID,
                licence=amqa.LICENCE,
            )
            prompts += exam_prompts(item, Asking(template, "likelihood", orders=1))
        if len(prompts) >= count:
            break
    return prompts[:count]


def reasoning_prompts(count: int, tokens: int) -> list[Prompt]:
    """Ask for the reasoning about the vignettes of the full profile, of at most so many tokens, and nothing else.

    It is asked for as a whole: the peer could not stop after the first sentence.
    """
    settings = params.load(ROOT / "params.yaml").section("build", Build)
    rows = build_pairs(load_library(ROOT / "data/raw"), "full")[:count]
    # No first turn is kept from the warm-up.
    change = {"prefix": "", "candidates": (), "limit": tokens, "sentence": False, "stem": "", "lead": ""}
    return [
        prompt.model_copy(update={"turns": prompt.turns[:1]} | change)
        for prompt in (vignette_prompt(row, settings) for row in rows)
    ]
