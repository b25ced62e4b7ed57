"""The tokenizer of an export gives what transformers gives: the same texts, tokens and special tokens."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import TemplateError

import families
import templates
import tiny
from builders import prompt
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.models import registry, weights
from equipoise.models.template import RefusedError, Renderer
from equipoise.models.tokenizer import ExportedTokenizer
from servers import KEY, FaultyServer, entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Exported

ROOT = Path(__file__).parents[2]
SETTINGS = ("clean_up_tokenization_spaces", "split_special_tokens")
EVERYTHING = """\
{%- macro shouted(text) %}{{ text | upper }}{% endmacro %}
{{ bos_token }}{% if tools is none and documents is none %}!{% endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}{% break %}{% endif %}
    {%- set text = message['content'] %}
    {% generation %}{% set text = 'within' %}{{ text }}{% endgeneration %}
    {{ text }}{{ shouted(message.role) }}{{ message | tojson }}{{ [text] | tojson(true, 2) }}
{%- endfor %}
{% if not messages[0].content %}{{ raise_exception('an empty turn') }}{% endif %}
{% if add_generation_prompt %}{{ strftime_now('%d %b %Y') }}{{ mood | default('calm') }}{% endif %}
"""
"""A template that uses what transformers offers to templates."""


class Pair(NamedTuple):
    """A tokenizer in transformers, and the same one without."""

    whole: Any
    light: ExportedTokenizer
    renderer: Renderer
    thinking: dict[str, bool | str]

    def write(self, messages: list[dict[str, str]], *, asks: bool = True, **more: bool | str) -> tuple[str, str]:
        """Write a conversation without transformers, and in it."""
        whole = self.whole.apply_chat_template(messages, tokenize=False, add_generation_prompt=asks, **more)
        return self.renderer.render(messages, add_generation_prompt=asks, **more), whole


def saved(tokenizer: Any, folder: Path, thinking: dict[str, bool | str] | None = None) -> Pair:
    """Save a tokenizer as an export has it, and open it in both ways."""
    from transformers import AutoTokenizer, GenerationConfig

    tokenizer.save_pretrained(folder)
    GenerationConfig(eos_token_id=[0, 1]).save_pretrained(folder)
    light = ExportedTokenizer(folder)
    renderer = Renderer("A", light.chat_template, {"tools": None, "documents": None, **light.special_tokens_map})
    return Pair(AutoTokenizer.from_pretrained(folder), light, renderer, thinking or {})


@pytest.fixture(scope="module", autouse=True)
def day() -> Iterator[None]:
    """Both ways tell templates the same day."""
    with pytest.MonkeyPatch.context() as patch:
        templates.tell_the_day(patch)
        yield


@pytest.fixture(
    scope="module", params=[pytest.param("smollm2", marks=pytest.mark.slow), *sorted(families.FAMILIES), *SETTINGS]
)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """The tokenizer of the default model as published, of the eight models of the hub, or with a setting."""
    from transformers import AutoTokenizer

    name = request.param
    folder = tmp_path_factory.mktemp(name)
    if name in SETTINGS:
        return saved(with_setting(name), folder)
    model = registry.load_entry(name, ROOT)
    assert isinstance(model, registry.WeightsEntry)
    if name in families.FAMILIES:
        family = families.FAMILIES[name]
        tokenizer = tiny.tokenizer(family.template, family.special, family.end, family.marks)
        return saved(tokenizer, folder, model.thinking)
    located = weights.locate(model, ROOT)
    with warnings.catch_warnings(), weights.loading(located):
        warnings.simplefilter("ignore")
        return saved(AutoTokenizer.from_pretrained(located.folder, **located.arguments), folder, model.thinking)


def with_setting(name: str) -> Any:
    """Make a tokenizer whose configuration has one of the settings that change tokens or text."""
    tokenizer = tiny.tokenizer()
    tokenizer.init_kwargs[name] = True
    setattr(tokenizer, name, True)
    return tokenizer


def texts(pair: Pair) -> st.SearchStrategy[str]:
    """Texts of any characters, with special tokens, marks and what the clean-up of blanks changes among them."""
    marks = sorted({*pair.whole.get_added_vocab(), " .", " ' ", " n't", "\n\n", "  "})
    return st.lists(st.text(max_size=12) | st.sampled_from(marks), max_size=8).map("".join)


def conversation(pair: Pair, turns: list[str]) -> list[str]:
    """Write a conversation of a user and a model in both ways."""
    messages = [{"role": "assistant" if number % 2 else "user", "content": turn} for number, turn in enumerate(turns)]
    told = (messages, [{"role": "system", "content": "You are a clinician."}, *messages])
    return [text for dialogue in told for text in pair.write(dialogue, **pair.thinking)]


def require_same(pair: Pair, text: str) -> None:
    """Compare the tokens of a text, and the text of these tokens in reverse order."""
    whole, light = (tokenizer(text, add_special_tokens=False)["input_ids"] for tokenizer in (pair.whole, pair.light))

    assert light == whole
    for skip in (True, False):
        for tokens in (whole, whole[::-1]):
            decoded = pair.light.decode(tokens, skip_special_tokens=skip)
            assert decoded == pair.whole.decode(tokens, skip_special_tokens=skip)


@given(data=st.data())
@settings(max_examples=50)
def test_tokens_and_conversations_are_those_of_transformers(pair: Pair, data: st.DataObject) -> None:
    """Any text has the same tokens, any tokens the same text, and any conversation is written the same way."""
    turns = data.draw(st.lists(texts(pair), min_size=1, max_size=3))
    light_plain, plain, light_with_system, with_system = conversation(pair, turns)

    assert (light_plain, light_with_system) == (plain, with_system)
    require_same(pair, plain)
    for turn in turns:
        require_same(pair, turn)


def test_replies_end_at_the_same_tokens(pair: Pair) -> None:
    """The token that ends a turn is the tokenizer's, and others are those of the generation settings."""
    assert pair.light.eos_token_id == pair.whole.eos_token_id
    assert pair.light.ends == [0, 1]


def test_special_tokens_are_read_as_plain_text_where_the_configuration_says_so(tmp_path: Path) -> None:
    """The mark that ends a turn is one token, or several where special tokens are split."""
    plain = saved(tiny.tokenizer(), tmp_path / "plain").light
    split = saved(with_setting("split_special_tokens"), tmp_path / "split").light

    assert len(plain("<|im_end|>", add_special_tokens=False)["input_ids"]) == 1
    assert len(split("<|im_end|>", add_special_tokens=False)["input_ids"]) > 1


def test_templates_have_what_transformers_offers_them(tmp_path: Path) -> None:
    """Special tokens, JSON, tags, macros, the date and refusals are those of transformers."""
    from tokenizers import AddedToken

    tokenizer = tiny.tokenizer(EVERYTHING)
    tokenizer.add_special_tokens({"bos_token": AddedToken("<s>", lstrip=True)})
    pair = saved(tokenizer, tmp_path)
    messages = [{"role": "user", "content": 'Ä <b> "é"'}, {"role": "tool", "content": "unseen"}]
    for asks in (False, True):
        written, whole = pair.write(messages, asks=asks, mood="<wary>")
        assert written == whole
    assert written.startswith("<s>!")
    assert 'USER{"role": "user", "content": "Ä <b> \\"é\\""}' in written
    assert written.endswith("01 Jan 2025<wary>")
    assert ("within" in written, "unseen" in written) == (True, False)
    empty = [{"role": "user", "content": ""}]
    with pytest.raises(TemplateError, match="an empty turn"):
        pair.whole.apply_chat_template(empty, tokenize=False)
    with pytest.raises(RefusedError, match="an empty turn"):
        pair.renderer.render(empty)


def test_a_tokenizer_of_transformers_alone_is_refused(tmp_path: Path) -> None:
    """Without tokenizer.json the line says which backend runs the model."""
    with pytest.raises(EquipoiseError, match=r"tokenizer\.json: missing: .* alone: set backend: torch in its registry"):
        ExportedTokenizer(tmp_path)


ANSWERING = """
import json, sys
from pathlib import Path
import equipoise.pipeline.infer
from equipoise.backends.ask import open_backend
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt
from equipoise.models import engine, registry

engine.has_driver = lambda: False  # a GPU would be asked about through torch
manifest, prompt, root, store = (json.loads(text) for text in sys.argv[1:])
manifest = Manifest.model_validate(manifest)
entry = registry.load_entry(manifest.model, Path(root))
with open_backend(manifest, entry, Path(store), batch_size=1) as backend:
    (found,) = backend.answer([Prompt.model_validate(prompt)])
loaded = sorted({"torch", "transformers", "sklearn"} & {*sys.modules})
print(json.dumps({"loaded": loaded, "response": found.model_dump(mode="json")}))
"""


def answered_alone(*arguments: Any) -> dict[str, Any]:
    """Answer a prompt in a process of its own, and say which of the large libraries it has loaded."""
    command = [sys.executable, "-c", ANSWERING, *map(json.dumps, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    output: dict[str, Any] = json.loads(done.stdout)
    return output


def test_an_exported_model_answers_without_torch(tiny_model: Exported) -> None:
    """On a machine without a GPU the process never imports torch or transformers, and the response is the same."""
    asked = prompt("a", "Chest pain.", "Name it.", system="You are a clinician.", prefix="It is", candidates=("a", "b"))
    with tiny_model.open(batch_size=1) as backend:
        (expected,) = backend.answer([asked])
    manifest, written = tiny_model.manifest.model_dump(mode="json"), asked.model_dump(mode="json")
    output = answered_alone(manifest, written, str(tiny_model.root), str(tiny_model.store))

    assert output["loaded"] == []
    assert Response.model_validate(output["response"]) == expected


def test_a_server_answers_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the process that asks a server import either."""
    from equipoise.models.export import describe

    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "*")
    (tmp_path / "models").mkdir()
    with FaultyServer() as api:
        path = tmp_path / "models/served.yaml"
        path.write_text(json.dumps(entry(api.url).model_dump(mode="json", exclude_unset=True)), encoding="utf-8")
        manifest = describe("served", registry.load_entry("served", tmp_path), tmp_path)
        written = prompt("a", "Name it.").model_dump(mode="json")
        output = answered_alone(manifest.model_dump(mode="json"), written, str(tmp_path), str(tmp_path))

    assert (output["loaded"], output["response"]["replies"]) == ([], ["NAME IT."])
