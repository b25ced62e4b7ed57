"""Tests of the table of marks around thinking: each family, whole, cut off and begun in the prompt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.text import thinking
from equipoise.text.answer import Answer
from equipoise.text.diagnoses import load_diagnoses
from equipoise.text.letters import read_letter
from equipoise.text.reasoning import detect, remove_tags, split, strip_thinking, visible_text
from equipoise.text.written import read_written

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[2] / "data"
OPTIONS = {"A": "Pulmonary embolism", "B": "Acute myocardial infarction", "C": "Aortic dissection", "D": "Panic attack"}
THOUGHT = "First I think the answer is A.\nBut the pulses differ."
# Families whose marks count anywhere, by the letters of their marks: opening, closing, answer, its end.
PAIRS = [
    ("<think>", "</think>", "", ""),
    ("<thinking>", "</thinking>", "", ""),
    ("<Thought>", "</Thought>", "<Output>", "</Output>"),
    ("<reasoning>", "</reasoning>", "<answer>", "</answer>"),
    ("<scratchpad>", "</scratchpad>", "", ""),
    ("<internal>", "</internal>", "", ""),
    ("<reflection>", "</reflection>", "", ""),
    ("[THINK]", "[/THINK]", "", ""),
    ("<unused94>thought\n", "<unused95>", "", ""),
    ("<unused94>", "<unused95>", "", ""),
    ("<|channel>thought\n", "<channel|>", "", ""),
    ("◁think▷", "◁/think▷", "", ""),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>", "<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    ("<seed:think>", "</seed:think>", "", ""),
    ("<mm:think>", "</mm:think>", "", ""),
    ("<longcat_think>", "</longcat_think>", "", ""),
    ("<ifm|think>", "</ifm|think>", "", ""),
    ("<|begin_of_thought|>", "<|end_of_thought|>", "<|begin_of_solution|>", "<|end_of_solution|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>", "", ""),
    ("[unused16]", "[unused17]", "", ""),
    ("<|think|>", "<|end|><|begin|>assistant<|content|>", "", ""),
    ("<|think:start|>", "<|think:end|>", "", ""),
    ("<think>", "</think>", "<answer>", "</answer>"),
    ("<think>", "</think>", "<response>", "</response>"),
]
WORDS = [
    ("Here is my thought process:", "Here is my response:"),
    ("Here's my thought process:", "Here’s my response:"),
    ("## Thinking\n\n", "\n\n## Final Response\n\n"),
    ("think\n", "\nanswer\n"),
    ("<|im_start|>think\n", "\n<|im_start|>answer\n"),
]


def ways(begin: str, end: str, before: str, after: str) -> Iterator[str]:
    """Write a thought and the answer C with marks, in the ways in which models do."""
    yield f"{begin}{THOUGHT}{end}{before}C{after}"
    yield f"\n{begin}\n{THOUGHT}\n{end}\n\n{before}\nThe answer is C.\n{after}\n"
    yield f"{begin.upper()}{THOUGHT}{end.upper()}\n{before.upper()}C{after.upper()}"
    # Opened by the chat template, empty, nested in itself, or quoted in the thought.
    yield f"{THOUGHT}{end}{before}C{after}"
    yield f"{begin}\n\n{end}\n\n{before}C{after}"
    yield f"{begin}{begin}{THOUGHT}{end}{before}C{after}"
    yield f"{begin}I may write {begin.strip()} once. {THOUGHT}{end} {before}C{after}"
    # The end mark of the answer cut off.
    yield f"{begin}{THOUGHT}{end}{before}C"


@pytest.mark.parametrize(("begin", "end", "before", "after"), PAIRS)
def test_an_answer_after_thinking_is_read(begin: str, end: str, before: str, after: str) -> None:
    """What was thought decides nothing, however the family marks it."""
    for text in ways(begin, end, before, after):
        assert read_letter(text, OPTIONS).letter == "C", text


@pytest.mark.parametrize(("begin", "end"), WORDS)
def test_marks_that_are_words_count_at_the_beginning(begin: str, end: str) -> None:
    """A reply that begins with them is cut at them."""
    assert read_letter(f"{begin}{THOUGHT}{end}C", OPTIONS).letter == "C"
    assert read_letter(f"{begin}{THOUGHT}", OPTIONS) == (None, "unfinished_thinking")


@pytest.mark.parametrize(
    "text",
    [
        "The answer is C.\n\n## Thinking\n\nA does not fit.",
        "Answer: C. Here is my thought process: A does not fit.",
        "The answer is C. I did not use <think> tags.",
    ],
)
def test_marks_after_an_answer_leave_it_alone(text: str) -> None:
    """Words that mark no thinking there, and a tag that is named behind the answer."""
    assert read_letter(text, OPTIONS).letter == "C"


@pytest.mark.parametrize("begin", [*dict.fromkeys(begin for begin, *_ in PAIRS), "thought\n"])
def test_thinking_that_is_not_closed_gives_no_answer(begin: str) -> None:
    """The length limit cut it off, or decoding dropped what closed it."""
    text = f"{begin}{THOUGHT}"

    assert read_letter(text, OPTIONS) == (None, "unfinished_thinking")
    assert visible_text(text) == ""
    assert strip_thinking(text) == ("", True)


@pytest.mark.parametrize(
    "text",
    [
        # Another tag that closes does not close the thinking.
        "<think>Pulses. <reflection>Or not.</reflection> The answer is A.",
        "<think>They want <answer>LETTER</answer>. The answer is A.",
        "assistantanalysisThe answer is A.",
        "analysisThe answer is A.assistantcommentary",
    ],
)
def test_thinking_goes_on_where_another_mark_closes(text: str) -> None:
    """Only its own mark, or one of the answer, ends it."""
    assert read_letter(text, OPTIONS) == (None, "unfinished_thinking")


@pytest.mark.parametrize(
    "text",
    [
        "<think>The answer is A?\n<answer>C</answer>",
        "<think>The answer is A?<|begin_of_solution|>C",
        "< think >The answer is A?</ think >C",
        "<think>The answer is A?</thinking>C",
        "<thinking>The answer is A?<reflection>Pulses.</reflection></thinking>C",
        "<|open|> think <|sep|>The answer is A?<|close|> think <|sep|>C",
        "analysis<|message|>The answer is A?<|end|><|start|>assistant<|channel|>final<|message|>C",
        "assistantanalysisThe answer is A?assistantfinalC",
    ],
)
def test_marks_are_read_as_they_occur(text: str) -> None:
    """With spaces, mixed, nested, or with part of the tokens."""
    assert read_letter(text, OPTIONS).letter == "C"


@pytest.mark.parametrize(
    ("begin", "end"),
    [("<unused94>thought\n", "<unused95>"), ("◁think▷", "◁/think▷"), ("<seed:think>", "</seed:think>")],
)
def test_the_diagnosis_and_the_judge_read_the_same_parts(begin: str, end: str) -> None:
    """The answer is read after the thinking, and the judge reads every word without a mark."""
    text = f"{begin}It could be panic disorder.\nThe pulses differ.{end}The diagnosis is aortic dissection."
    answers = {
        "stereotyped": (Answer(label="panic disorder", synonyms=("panic",)),),
        "expected": (Answer(label="aortic dissection", synonyms=("torn aorta",)),),
    }

    assert read_written(visible_text(text), answers, load_diagnoses(DATA / "diagnoses.yaml")).kind == "expected"
    assert remove_tags(text) == (
        "It could be panic disorder.\nThe pulses differ.\n\nThe diagnosis is aortic dissection."
    )
    assert split(text).reasoning == "It could be panic disorder.\nThe pulses differ."


@pytest.mark.parametrize(
    "text", ["p < 0.05 and q > 1", "[A] is right", "<b>bold</b>", "a <|endoftext|>", "Thought: it hurts.", "# Answer"]
)
def test_other_marks_are_none(text: str) -> None:
    """Comparisons, brackets, markup and headings leave a reply plain."""
    assert detect(text) == "plain"


def test_the_table_comes_with_the_package(tmp_path: Path) -> None:
    """Without a repository around it, a reply is split as in one."""
    code = "from equipoise.text.reasoning import split; print(split('◁think▷a◁/think▷b').answer)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout == "b\n"
    assert thinking.FILE.is_relative_to(Path(thinking.__file__).parent)


def test_a_mark_has_one_meaning() -> None:
    """No two rows of marks that count anywhere share one."""
    families = [family for family in thinking.table().families if not family.start]
    marks = [thinking.key(text) for family in families for text, *_ in family.marks()]

    assert sorted({mark for mark in marks if marks.count(mark) > 1}) == []
