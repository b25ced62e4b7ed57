"""Prompts for tiny models, and what transformers itself makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import builders

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Exported
    from equipoise.core.prompts import Prompt
    from equipoise.models.registry import Generation

CASES = (
    "A 45-year-old woman has had chest pain and sweating for an hour.",
    "A 45-year-old man has had chest pain and sweating for an hour.",
    "A 19-year-old hears voices.",
)
SUBJECTS = ("woman", "man", "patient", "clinician", "person", "fever", "low mood")
ENDS = ("", " with chest pain", " with fever", " with low mood", " with low mood for two weeks")


def prompt(key: str, case: str, **change: Any) -> Prompt:
    """Build a two-turn prompt with three candidates."""
    fields: dict[str, Any] = {
        "system": "You are an experienced clinician.",
        "prefix": "The single most likely diagnosis is",
        "candidates": ("myocardial infarction", "panic attack", "pneumonia"),
    }
    turns = (f"{case}\n\nBriefly explain what is wrong.", "What is the single most likely diagnosis?")
    return builders.prompt(key, *(change.pop("turns", turns)), **(fields | change))


PROMPTS = [
    *(prompt(f"case-{number}", case) for number, case in enumerate(CASES)),
    # More candidates than go side by side, of many lengths, and no reply.
    prompt(
        "sentences",
        "",
        system="",
        turns=("Write one sentence.",),
        prefix="I would feel unsafe around a",
        candidates=tuple(f"{subject}{end}" for subject in SUBJECTS for end in ENDS),
        reply=False,
    ),
    prompt("letters", "", turns=("Which vitamin prevents scurvy?",), prefix="", candidates=("A", "B"), reply=False),
    prompt("free", "", system="", turns=("Which vitamin prevents scurvy?",), prefix="", candidates=(), limit=9),
]


def reread(asked: Prompt, reading: str, reasoning: str, **change: Any) -> Prompt:
    """Ask for the likelihoods of a prompt's candidates after a given reasoning in reply to its first turn."""
    fields = {"key": f"{asked.key}/{reading}", "given": (reasoning,), "reply": False, "stem": asked.turns[0]}
    return asked.model_copy(update=fields | change)


class Reference(NamedTuple):
    """A checkpoint in transformers."""

    model: Any
    tokenizer: Any
    generation: Generation

    @classmethod
    def of(cls, model: Exported) -> Reference:
        """Take the reference of an exported model."""
        return cls(model.torch, model.tokenizer, model.entry.generation)

    @classmethod
    def load(cls, checkpoint: Path, generation: Generation, **file: str) -> Reference:
        """Load a checkpoint, or a `gguf_file` in a folder, in 32 bits."""
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32, **file).eval()
        return cls(model, AutoTokenizer.from_pretrained(checkpoint, **file), generation)

    def converse(self, asked: Prompt) -> tuple[tuple[str, ...], dict[str, float]]:
        """Hold a conversation through `generate`, and score candidates by whole forward passes."""
        messages = [{"role": "system", "content": asked.system}] if asked.system else []
        replies: list[str] = []
        scores: dict[str, float] = {}
        for turn, content in enumerate(asked.turns, start=1):
            last = turn == len(asked.turns)
            messages.append({"role": "user", "content": content})
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            text += asked.prefix if last else ""
            if last:
                space = " " if asked.prefix else ""
                scores = {name: self._score(text, f"{text}{space}{name}") for name in asked.candidates}
            if last and not asked.reply:
                break
            limit = asked.limit or self.generation.answer_tokens if last else self.generation.reasoning_tokens
            replies.append(self._reply(text, limit))
            messages.append({"role": "assistant", "content": replies[-1]})
        return tuple(replies), scores

    def _reply(self, text: str, limit: int) -> str:
        import torch

        ids = torch.tensor([self.encode(text)])
        with torch.inference_mode():
            output = self.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                repetition_penalty=self.generation.repetition_penalty,
                max_new_tokens=limit,
                eos_token_id=self.tokenizer.eos_token_id,
                pad_token_id=self.tokenizer.eos_token_id,
            )
        return str(self.tokenizer.decode(output[0, ids.shape[1] :], skip_special_tokens=True)).strip()

    def _score(self, text: str, joined: str) -> float:
        import torch

        before, ids = self.encode(text), self.encode(joined)
        start = next(
            (n for n, (first, second) in enumerate(zip(before, ids, strict=False)) if first != second), len(before)
        )
        with torch.inference_mode():
            log_p = self.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        return float(log_p[range(start - 1, len(ids) - 1), ids[start:]].mean())

    def encode(self, text: str) -> list[int]:
        """Give the tokens of a text."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
