"""The tokenizer of an export and its chat template, without transformers, whose import of torch takes seconds.

The results equal those of transformers: `export` refuses any model for which they differ on the probes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn

from jinja2 import TemplateError
from jinja2.ext import Extension
from jinja2.nodes import Node, Scope
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, RootModel
from tokenizers import Tokenizer

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_one, read_text
from equipoise.models.decoder import ELSEWHERE

BLANKS = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
"""Strings whose blanks are removed, in this order, if the configuration sets `clean_up_tokenization_spaces`."""


class _Config(BaseModel):
    """The settings in tokenizer_config.json that change tokens or text."""

    clean_up_tokenization_spaces: bool | None = False
    split_special_tokens: bool | None = False


class _Token(BaseModel):
    """A special token stored with its properties."""

    content: str


class _SpecialTokens(RootModel[dict[str, str | _Token | list[str | _Token]]]):
    """The special tokens by role (`eos_token`), as in special_tokens_map.json."""


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
        self._blanks = BLANKS if config.clean_up_tokenization_spaces else ()
        roles = read_one(folder / "special_tokens_map.json", _SpecialTokens).root
        self._roles = {
            role: [_content(one) for one in token] if isinstance(token, list) else _content(token)
            for role, token in roles.items()
        }
        end = self._roles.get("eos_token")
        self.eos_token_id: int | None = self._tokenizer.token_to_id(end) if end else None
        self.ends = read_one(folder / "generation_config.json", _Generation).eos_token_id
        self.chat_template = read_text(folder / "chat_template.jinja")
        self._template = _environment().from_string(self.chat_template)

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        tokenize: Literal[False],  # noqa: ARG002  (transformers would give tokens)
        **variables: object,
    ) -> str:
        """Render a conversation as the model reads it, with further variables of the template.

        Raises:
            TemplateError: The template refuses the conversation.
        """
        context = {"messages": messages, "tools": None, "documents": None} | variables
        return self._template.render(self._roles | context)

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        """Return the tokens of a text as `input_ids`."""
        return {"input_ids": self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}

    def decode(self, tokens: Sequence[int], *, skip_special_tokens: bool) -> str:
        """Return the text of tokens."""
        text = str(self._tokenizer.decode(list(tokens), skip_special_tokens=skip_special_tokens))
        for blank in self._blanks:
            text = text.replace(blank, blank.strip())
        return text


def _content(token: str | _Token) -> str:
    return token if isinstance(token, str) else token.content


class _Generated(Extension):
    """The tag `generation`, with which templates mark replies for training; its content is rendered unchanged."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> Node:
        """Parse up to the end of the tag; variables set inside are local."""
        line = next(parser.stream).lineno
        return Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


def _environment() -> ImmutableSandboxedEnvironment:
    """Create the environment that chat templates expect (transformers' documentation of chat templates)."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generated]
    )
    # Jinja's own filter escapes HTML characters.
    environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    environment.globals["raise_exception"] = _refuse
    return environment


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)
