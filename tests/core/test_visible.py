from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.visible import LONGEST, brief, code, json_line, line, markdown, visible

TEXTS = st.text(alphabet=st.characters())
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


@given(TEXTS)
def test_nothing_steers_the_terminal(text: str) -> None:
    """Whatever a text holds, line ends and tabs alone are sent, what is shown is UTF-8, and is not changed again."""
    shown = visible(text)

    assert not STEERING.search(shown)
    assert visible(shown) == shown
    assert shown.count("\n") == text.count("\n")
    assert not STEERING.search(line(text)) and "\n" not in line(text) and "\t" not in line(text)  # noqa: PT018
    shown.encode()


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x1b[31m", "␛[31m"),
        ("a\x00b\x7f", "a␀b␡"),
        ("\x9b2J", "\N{REPLACEMENT CHARACTER}2J"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2066a\u2069\u200b", r"\u2066a\u2069\u200b"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
        ("Zoë, naïve: −0.5 → 日本 👩\u200d⚕️", "Zoë, naïve: −0.5 → 日本 👩\u200d⚕️"),
    ],
)
def test_hidden_characters_are_written_out(hidden: str, shown: str) -> None:
    """Controls have signs, what turns text round or hides it its code, and words and emoji stay."""
    assert visible(hidden) == shown


@given(TEXTS)
def test_markdown_is_one_line_that_nothing_ends(text: str) -> None:
    """Harmless text stays; any other is one code span with a fence longer than every run of backticks within."""
    shown = code(text)
    fence = re.match("`+", shown)

    assert fence is not None
    assert not STEERING.search(shown)
    assert "\n" not in shown
    assert re.findall("`+", shown).count(fence[0]) == 2
    assert markdown(text) in (text, shown)


@pytest.mark.parametrize(
    "text",
    [
        "@maintainer",
        "fixes #1",
        "<img src=x>",
        "[a](b)",
        "**bold**",
        "a|b",
        "see http://x.example",
        "www.x.example",
        "`x`",
    ],
)
def test_markup_and_mentions_become_code(text: str) -> None:
    """Nothing of it is markup, a link, a mention or an issue."""
    assert markdown(text) == code(text)


def test_harmless_text_stays_as_it_is() -> None:
    """Names of figures and parameters read as before."""
    for text in ("questions.race.gap", "measure.alpha=0.1, score.top_k=2", "0.1 (−0.2 to 0.3)", "3 × d′", "Zoë"):
        assert markdown(text) == text


@given(TEXTS)
def test_json_keeps_the_value_and_hides_nothing(text: str) -> None:
    """What is read back is what was written, and no character of it steers a terminal."""
    written = json_line({"text": text})

    assert json.loads(written) == {"text": text}
    assert not STEERING.search(written)


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    """What a value of thousands of characters pushes out of sight is stated before and after it."""
    short = f"params.yaml: {'a' * 100}: correct it"
    long = brief(f"params.yaml: field kind: {'a' * 20_000}: correct it")

    assert brief(short) == short
    assert long.startswith("params.yaml: field kind: aaa")
    assert long.endswith("aaa: correct it")
    assert " … " in long
    assert len(long) <= LONGEST + 3
