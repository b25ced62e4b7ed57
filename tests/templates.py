"""Chat templates: some that alter what is said, some that never end, and some in the likeness of real ones."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from equipoise.models.template import TODAY

if TYPE_CHECKING:
    from datetime import tzinfo

    import pytest

START, END, REPLY = "<|im_start|>", "<|im_end|>\n", "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def chatml(content: str = "{{ turn.content }}", turns: str = "messages") -> str:
    """Write a template of turns in ChatML, each with a content of its own."""
    return f"{{% for turn in {turns} %}}{START}{{{{ turn.role }}}}\n{content}{END}{{% endfor %}}{REPLY}"


def _if(condition: str, then: str, otherwise: str = "{{ turn.content }}") -> str:
    return f"{{% if {condition} %}}{then}{{% else %}}{otherwise}{{% endif %}}"


_CLINICIAN = "messages[0].content == 'You are an experienced clinician.'"
ALTERING = {
    "a word is taken out": chatml("{{ turn.content | replace('Black ', '') }}"),
    "the last paragraph alone": chatml("{{ turn.content.split('\\n\\n')[-1] }}"),
    "capitals": chatml("{{ turn.content | upper }}"),
    "small letters": chatml("{{ turn.content | lower }}"),
    "capitals of words": chatml("{{ turn.content | title }}"),
    "one capital": chatml("{{ turn.content | capitalize }}"),
    "no user": chatml(turns="messages if turn.role != 'user'"),
    "no reply": chatml(turns="messages if turn.role != 'assistant'"),
    "the last turn alone": chatml(turns="messages[-1:]"),
    "the beginning": chatml("{{ turn.content[:60] }}"),
    "a shortened text": chatml("{{ turn.content | truncate(60, true) }}"),
    "the beginning of every line": chatml("{{ turn.content | wordwrap(60) }}"),
    "turns round": chatml(turns="messages | reverse"),
    "words round": chatml("{{ turn.content.split(' ') | reverse | join(' ') }}"),
    "letters round": chatml("{{ turn.content[::-1] }}"),
    "words sorted": chatml("{{ turn.content.split(' ') | sort | join(' ') }}"),
    "no turn with a word": chatml(_if("'Black' in turn.content", "")),
    "turns with a word alone": chatml(_if("'Black' in turn.content", "{{ turn.content }}", "")),
    "a hint for a word": chatml("{{ turn.content }}" + _if("'Black' in turn.content", "\nIt is serious.", "")),
    "a hint before a word": chatml(_if("'Black' in turn.content", "Take care. ", "") + "{{ turn.content }}"),
    "a hint at the end": chatml() + _if("'Black' in messages[-1].content or 'Black' in messages[1].content", "No", ""),
    "a count": chatml("{{ turn.content }} ({{ turn.content | length }})"),
    "a word that depends on chance": chatml("{{ turn.content }}{{ range(99999) | random }}"),
    "another name": chatml("{{ turn.content | replace('woman', 'man') }}"),
    "escaped characters": chatml("{{ turn.content | e }}"),
    "JSON": chatml("{{ turn.content | tojson }}"),
    "only for clinicians: a word": chatml(_if(_CLINICIAN, "{{ turn.content | replace('Black ', '') }}")),
    "only for clinicians: a paragraph": chatml(_if(_CLINICIAN, "{{ turn.content.split('\\n\\n')[-1] }}")),
    "only for clinicians: no system text": chatml(
        turns=f"(messages[1:] if {_CLINICIAN} else messages)",
    ),
    "marks alone are kept": chatml(_if("'words' in turn.content", "{{ turn.content }}", "It hurts.")),
    "a mark of another turn": chatml(_if("turn.role == 'user'", "words1said")),
}
"""Templates that change what is said, leave it out, or say other things about some patients, by what they do."""

_LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
_ENDS = "{% endfor %}{% endfor %}{% endfor %}"
ENDLESS = {
    "loops": chatml() + _LOOPS + _ENDS,
    "a power": chatml() + "{% set a = 10 ** (10 ** 9) %}",
    "a power of turns": chatml() + "{% set a = (messages | length * 10) ** (10 ** 9) %}",
    "loops for a word": chatml() + "{% if 'Black' in messages[1].content %}" + _LOOPS + _ENDS + "{% endif %}",
    "a namespace": chatml() + "{% set n = namespace(i=0) %}" + _LOOPS + "{% set n.i = n.i + 1 %}" + _ENDS,
    "macros that call macros": chatml()
    + "{% macro f(n) %}{% if n %}{% set a = f(n - 1) %}{% set b = f(n - 1) %}{% endif %}{% endmacro %}{{ f(60) }}",
    "lists in lists": chatml()
    + "{% set n = namespace(a=['x']) %}{% for i in range(60) %}{% set n.a = [n.a, n.a] %}{% endfor %}"
    + "{% if n.a == [n.a[0], n.a[1]] and (n.a | string | length) %}{% endif %}",
}
"""Templates that would not end for hours."""
HUGE = {
    "a product": chatml() + "{{ 'A' * (10 ** 11) }}",
    "a product of turns": chatml() + "{{ messages[0].content * (10 ** 10) }}",
    "a margin": chatml() + "{{ 'a'.rjust(10 ** 10) }}",
    "a centre": chatml() + "{{ 'a' | center(10 ** 10) }}",
    "a format": chatml() + "{{ '%1000000000d' | format(1) }}",
    "a doubled text": chatml()
    + "{% set n = namespace(a='ab') %}{% for i in range(60) %}{% set n.a = n.a ~ n.a %}{% endfor %}{{ n.a }}",
    "a doubled list": chatml()
    + "{% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = n.a + n.a %}{% endfor %}{{ n.a }}",
    "an indentation": chatml() + "{{ messages | tojson(indent=10 ** 9) }}",
    "a long text": chatml() + "{% for i in range(20000) %}{{ 'A' * 1000 }}{% endfor %}",
}
"""Templates that would fill the memory, or write far too much."""
FAILING = {
    "macros without end": chatml() + "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a range": chatml() + "{% for i in range(10 ** 9) %}{% endfor %}",
    "a number to a text": chatml() + "{{ 1 + 'a' }}",
    "nothing": chatml() + "{{ nothing.at.all }}",
    "half a sign": chatml() + "{{ '\\ud800' }}",
    "no end": "{% for turn in messages %}",
    "Python": chatml() + "{{ messages.__class__.__mro__ }}",
    "a change": chatml() + "{{ messages.append(1) }}",
}
"""Templates that fail, or that reach for what the sandbox forbids."""

_ROLES = "{% for turn in messages %}{% if (turn.role == 'user') != (loop.index0 % 2 == 0) %}"
_ALTERNATE = _ROLES + "{{ raise_exception('user and assistant must alternate') }}{% endif %}{% endfor %}"
_NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
_GEMMA = (
    "{% for turn in messages %}{% set role = 'model' if turn.role == 'assistant' else turn.role %}"
    "<start_of_turn>{{ role }}\n{% if loop.first %}{{ opening }}{% endif %}{{ turn.content | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
_GPT_OSS_REPLY = (
    "{% if '<|channel|>' in turn.content %}{{ raise_exception('no channels in a content') }}{% endif %}"
    "<|start|>assistant<|channel|>final<|message|>{{ turn.content }}<|end|>"
)
FAMILIES = {
    # A system text of its own where none is given.
    "qwen2.5": "{% if messages[0].role == 'system' %}{% set first = messages[0].content %}"
    "{% else %}{% set first = 'You help.' %}{% endif %}<|im_start|>system\n{{ first }}<|im_end|>\n"
    + chatml(turns="messages if turn.role != 'system'"),
    # Looks at what is said: for answers of tools, and for thinking, which stays after the user's last turn alone.
    "qwen3": "{% set n = namespace(last=messages | length - 1, seek=true) %}{% for turn in messages[::-1] %}"
    "{% set i = messages | length - 1 - loop.index0 %}{% if n.seek and turn.role == 'user' and turn.content is string "
    "and not (turn.content.startswith('<tool_response>') and turn.content.endswith('</tool_response>')) %}"
    "{% set n.seek = false %}{% set n.last = i %}{% endif %}{% endfor %}"
    "{% for turn in messages %}{% set said = turn.content %}{% set thought = '' %}"
    "{% if turn.role == 'assistant' and '</think>' in said %}"
    "{% set thought = said.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}"
    "{% set said = said.split('</think>')[-1].lstrip('\\n') %}{% endif %}<|im_start|>{{ turn.role }}\n"
    "{% if thought and loop.index0 > n.last %}<think>\n{{ thought.strip('\\n') }}\n</think>\n\n{% endif %}{{ said }}"
    f"{END}{{% endfor %}}{REPLY}",
    # Trims every turn, and has a heading with the day.
    "llama3.2": "{{ bos_token }}{% if messages[0].role == 'system' %}{% set first = messages[0].content | trim %}"
    "{% set messages = messages[1:] %}{% else %}{% set first = '' %}{% endif %}"
    "<|start_header_id|>system<|end_header_id|>\n\nToday: {{ strftime_now('%d %b %Y') }}\n\n{{ first }}<|eot_id|>"
    "{% for turn in messages %}<|start_header_id|>{{ turn.role }}<|end_header_id|>\n\n{{ turn.content | trim }}"
    "<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    # Refuses a system text.
    "gemma2": _NO_SYSTEM + _ALTERNATE + _GEMMA,
    # Writes the system text before the user's first words.
    "gemma3": "{% set opening = '' %}{% if messages[0].role == 'system' %}"
    "{% set opening = messages[0].content + '\n\n' %}{% set messages = messages[1:] %}{% endif %}"
    + _ALTERNATE
    + _GEMMA,
    # Leaves a system text out.
    "without a system": chatml(turns="messages if turn.role in ['user', 'assistant']"),
    "smollm2": "{% if messages[0].role != 'system' %}<|im_start|>system\nYou help.<|im_end|>\n{% endif %}" + chatml(),
    "olmo2": "{{ bos_token }}{% for turn in messages %}{% if turn.role == 'assistant' %}<|assistant|>\n"
    "{{ turn.content }}{{ eos_token if not loop.last else '' }}\n{% else %}<|{{ turn.role }}|>\n{{ turn.content }}\n"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}",
    # Content may be a list of parts.
    "granite4": "{% macro said(content) %}{% if content is string %}{{ content }}{% else %}{% for part in content %}"
    "{{ part.text }}{% endfor %}{% endif %}{% endmacro %}{% for turn in messages %}<|start_of_role|>{{ turn.role }}"
    "<|end_of_role|>{{ said(turn.content) }}<|end_of_text|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}",
    # Heads of its own, the day, and no channels in what is said.
    "gpt-oss": "<|start|>system<|message|>Day: {{ strftime_now('%Y-%m-%d') }}<|end|>{% for turn in messages %}"
    "{% if turn.role == 'system' %}<|start|>developer<|message|># Instructions\n\n{{ turn.content }}<|end|>"
    "{% elif turn.role == 'assistant' %}"
    + _GPT_OSS_REPLY
    + "{% else %}<|start|>user<|message|>{{ turn.content }}<|end|>"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}",
    # The system text comes first wherever it stands, and thinking is left out.
    "deepseek-r1": "{% set n = namespace(first='') %}{% for turn in messages %}{% if turn.role == 'system' %}"
    "{% set n.first = turn.content %}{% endif %}{% endfor %}{{ bos_token }}{{ n.first }}{% for turn in messages %}"
    "{% if turn.role == 'user' %}<｜User｜>{{ turn.content }}{% elif turn.role == 'assistant' %}"
    "{% set said = turn.content %}{% if '</think>' in said %}{% set said = said.split('</think>')[-1] %}{% endif %}"
    "<｜Assistant｜>{{ said }}<｜end｜>"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<｜Assistant｜><think>\n{% endif %}",
    # The system text stands before the user's last turn.
    "mistral": "{% if messages[0].role == 'system' %}{% set first = messages[0].content %}"
    "{% set messages = messages[1:] %}{% endif %}"
    + _ALTERNATE
    + "{{ bos_token }}{% for turn in messages %}{% if turn.role == 'user' %}[INST] "
    "{% if loop.last and first is defined %}{{ first }}\n\n{% endif %}{{ turn.content }}[/INST]"
    "{% else %} {{ turn.content | trim }}{{ eos_token }}{% endif %}{% endfor %}",
    # Keeps what stands in the tags of the answer alone.
    "hunyuan": "{{ bos_token }}{% for turn in messages %}{% set said = turn.content %}"
    "{% if turn.role == 'assistant' and '<answer>' in said and '</answer>' in said %}"
    "{% set said = said.split('<answer>')[-1].split('</answer>')[0] | trim %}{% endif %}"
    "<|{{ turn.role }}|>{{ said }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    # Always writes a block of thinking.
    "glm": "{% for turn in messages %}<|{{ turn.role }}|>\n{% if turn.role == 'assistant' %}"
    "{% set said = turn.content %}{% if '</think>' in said %}"
    "{% set said = (said.split('</think>') | last).lstrip('\\n') %}{% endif %}<think></think>"
    "{% if said.strip() %}\n{{ said.strip() }}{% endif %}{% else %}{{ turn.content }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}",
}
"""Templates that do with turns what those of real models do, in words of their own."""
WITHOUT_SYSTEM = {"gemma2", "without a system"}
"""Those of them that refuse a system text, or leave it out."""


class _Then(datetime):
    """A clock that stands still on the day that templates are given."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """Give the day."""
        return cls(TODAY.year, TODAY.month, TODAY.day, tzinfo=tz)


def tell_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the templates of transformers, which get the current day, the day that ours get."""
    from transformers.utils import chat_template_utils

    monkeypatch.setattr(chat_template_utils, "datetime", _Then)
