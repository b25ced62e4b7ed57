"""The tokenizer of an export, without transformers, whose import takes seconds; `export` checks that they agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel
from tokenizers import Tokenizer

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_one, read_text
from equipoise.models.decoder import ELSEWHERE


class _Config(BaseModel, extra="allow"):
    """tokenizer_config.json; its special tokens are strings, or objects with the string as `content`."""

    split_special_tokens: bool | None = False


class _Generation(BaseModel):
    """The tokens that end a reply."""

    eos_token_id: int | list[int] | None = None


class ExportedTokenizer:
    """A tokenizer with a chat template, with the methods of transformers' tokenizers that a conversation needs."""

    def __init__(self, folder: Path) -> None:
        """Read the files that transformers wrote into the folder of an export.

        Raises:
            EquipoiseError: Only transformers can run this kind of tokenizer, or a file is damaged.
        """
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise EquipoiseError(f"{path}: missing: its tokenizer runs in transformers alone: {ELSEWHERE}")
        config = read_one(folder / "tokenizer_config.json", _Config)
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = bool(config.split_special_tokens)
        named = {name: value for name, value in (config.model_extra or {}).items() if name.endswith("_token")}
        contents = {name: value.get("content") if isinstance(value, dict) else value for name, value in named.items()}
        self.special_tokens_map = {name: token for name, token in contents.items() if isinstance(token, str)}
        end = self.special_tokens_map.get("eos_token")
        self.eos_token_id: int | None = self._tokenizer.token_to_id(end) if end else None
        self.ends = read_one(folder / "generation_config.json", _Generation).eos_token_id
        self.chat_template = read_text(folder / "chat_template.jinja")

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        """Return the tokens of a text as `input_ids`."""
        return {"input_ids": self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}

    def decode(self, tokens: Sequence[int], *, skip_special_tokens: bool) -> str:
        """Return the text of tokens."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=skip_special_tokens))
