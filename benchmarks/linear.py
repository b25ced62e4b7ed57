"""The growth of each reader's time when a text doubles, whatever a looping model or a hostile file repeats.

    PYTHONPATH=src python benchmarks/linear.py                     # texts of 6,000 characters
    PYTHONPATH=src python benchmarks/linear.py --length 20000 --only stated_answer

A text and its half are read side by side in one process, and the largest ratio of their times is printed for each
reader. The exit code is 1 if a ratio is above LARGEST, or if that of a pattern whose time grows with the square is not.
A minute on an idle core, some minutes for 20,000 characters. `tests/test_linear.py` reads the same texts, and
compares no times.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon as load_features
from equipoise.judge.wordings import Finder, Wording
from equipoise.materials.stories.schema import REVEALING
from equipoise.studies.openr1.pairs import ages, stated
from equipoise.studies.openr1.score import entailments
from equipoise.studies.questions.rows import Neutralized
from equipoise.studies.questions.variants.agents import Arm
from equipoise.studies.questions.variants.validators import load_clinical, violations
from equipoise.studies.stigma.aggregate import noun_lexicon
from equipoise.studies.stigma.library import load_library as load_sentences
from equipoise.studies.stigma.lin import Wordings, _lists, phrase_end
from equipoise.text.answer import Answer
from equipoise.text.answers import Given, match_answer, read_generated
from equipoise.text.articles import article
from equipoise.text.conclusions import statements
from equipoise.text.diagnoses import load_diagnoses
from equipoise.text.grounds import own_words, reasoning_of
from equipoise.text.layouts import lay_out
from equipoise.text.letters import read_letter
from equipoise.text.naming import final_diagnosis
from equipoise.text.neutral.lexicon import load_lexicon
from equipoise.text.neutral.neutralize import neutralize, select
from equipoise.text.reasoning import remove_tags, split, strip_thinking, visible_text
from equipoise.text.sentences import final_question, sentences_of
from equipoise.text.stated import stated_answer
from equipoise.text.written import read_written

DATA = Path(__file__).parents[1] / "data"
LARGEST = 3.0
"""The factor by which the time may grow when the length doubles; 2 is linear, 4 the square: half way, since a shared
machine's processor time is not an exact count.
"""
CLEAR = 2.2
"""The factor by which it may grow on average over four doublings if nothing else is examined: a square that makes the
last of them LARGEST makes the average 2.5.
"""
FLOOR = 0.05
"""Seconds of processor time below which two times are not compared."""

# What each text begins with, repeats and ends with.
HOSTILE: list[tuple[str, ...]] = [
    ("", " ", ""),
    ("", "\n", ""),
    ("", " \n", ""),
    ("", ".", ""),
    ("", "A. ", ""),
    ("", "Mr. ", ""),
    ("", "e.g. ", ""),
    ("", "a. ", ""),
    ("", "1. ", ""),
    ("", "1.\n", ""),
    ("", "\n- a", ""),
    ("", "*", ""),
    ("", "**", ""),
    ("", '"', ""),
    ("", "(", ""),
    ("", "(a) ", ""),
    ("", "([{", ""),
    ("", "[a] ", ""),
    ("", "\\boxed{", ""),
    ("", "<think>", ""),
    ("", "<think>a</think>", ""),
    ("", "<content>", ""),
    ("", "</answer>  ", ""),
    ("<think>", "<answer>a</answer> ", "b"),
    ("<think>", "<answer>", ""),
    ("", "◁think▷", ""),
    ("", "< ", ""),
    ("think\n", "\nanswer ", ""),
    ("## Thinking\n", "# ", ""),
    ("Here is my thought process:", "Here is my ", ""),
    ("", "<|channel|>analysis<|message|>", ""),
    ("", "analysis", ""),
    ("", "assistantfinal", ""),
    ("", "<|", ""),
    ("", "as an AI ", ""),
    ("", "rather than ", ""),
    ("", "she her ", ""),
    ("", "he ", ""),
    ("", "her husband ", ""),
    ("", "a 40-year-old woman ", ""),
    ("", "Black ", ""),
    ("", "Black, ", ""),
    ("", "homeless ", ""),
    ("", "of African ", ""),
    ("", "who is ", ""),
    ("", "is ", ""),
    ("", "he's ", ""),
    ("", "She walks and ", ""),
    ("", "Answer: B\n", ""),
    ("", "A and ", ""),
    ("", "the answer is A ", ""),
    ("", "most likely diagnosis ", ""),
    ("", "Diagnosis: ", ""),
    ("", "and ", ""),
    ("", "MI or ", ""),
    ("", "conclusion (diagnosis ", ""),
    ("", "impression ", ""),
    ("", "Heart attack. ", ""),
    ("", "acute myocardial infarction, ", ""),
    ("", "vs. ", ""),
    ("", "stroke/", ""),
    ("", "1", ""),
    ("", "\u0301", ""),
    ("", "\U0001f469\U0001f3fd\u200d\u2695\ufe0f", ""),
    ("", "\ud800", ""),
    ("", "a\xe91 \u0663\u6f22\u200b. ", ""),
    ("", "poor, rich ", ""),
    ("", "Black HIV-positive ", ""),
    ("", "Black hypertensive ", ""),
    ("", "The daughter says that her mother ", ""),
    ("", "Which? ", ""),
    ("", "while ", "."),
    ("", "the likely ", "flu is the most likely diagnosis."),
    ("A:", " ", "x"),
    ("a ", "< . ", ""),
    ("", "\u0301\u0323", ""),
    ("a", "\u0323\u0301\u0327", "b"),
    ("", "A) \n\n", ""),
    ("A", " ", "B"),
    ("x ", "(B) ", ""),
    ("a", " ", "b"),
    ("a", "\n", "b"),
    ("Diagnosis: stroke", " ", "x"),
    ("", "a</think>", "b"),
    ("", "<think>a</think>b", ""),
    ("", "x", " is the most likely diagnosis."),
    ("", "or, ", "flu is the most likely diagnosis."),
    ("The most likely diagnosis is ", "flu (or maybe cold), ", "."),
    ("The diagnosis is ", "flu or ", "cold."),
    ("The diagnosis is flu", ", possibly cold", "."),
    ("The diagnosis is flu ", "(a) ", "."),
    ("The diagnosis is flu ", "due to cold ", "."),
    ("The diagnosis is not ", "flu and not ", "cold."),
    ("The findings point ", "very ", "to flu."),
    ("", "suggest ", "flu"),
    ("I ", "would ", "choose A"),
    ("", "A. Heart attack\nB. Stroke\n", ""),
    ("A ", "- ", "Heart attack"),
    ("A ", "so ", "is wrong"),
    ("not ", "b ", "A"),
    ("final answer (", "x ", ") is A"),
    ("best ", "x ", "is A"),
    ("wrong ", "- ", "A"),
    ("", "\\boxed{A} ", ""),
    ("", "answer\n", "A"),
    ("A ", "Black ", "man is ill."),
    ("A ", "Black, ", "man is ill."),
    ("A ", "poor ", "man."),
    ("A ", "poor, ", "man."),
    ("A man of ", "African ", "descent."),
    ("He ", "and ", "walks."),
    ("He ", "slowly ", "walks."),
    ("He, ", "well, ", "walks."),
    ("She ", "(he) ", ""),
    ("Mr. ", "Smith ", ""),
    ("Mr. ", "Smith-", ""),
    ("", "his wife and her husband ", ""),
    ("The children and ", "he ", "walk."),
    ("A man, ", "who is ", "homeless."),
    ("He ", "has been ", "homeless."),
    ("A ", "40-year-old ", "man."),
    ("A Black ", "a-b ", "man."),
    ("A Black ", "a-", "b man."),
    ("A Black ", "HIV ", "man."),
    ("A Black ", "ative ", "man."),
    ("", "The patient is homeless. ", ""),
    ("", "a Hispanic presents. ", ""),
    ("", "Mr. ", "X"),
    ("", "male ", "or female"),
    ("", "male  and  ", ""),
    ("", "a ", "Black man"),
    ("a ", "Black ", "apple"),
    ("", "x. ", "Which?"),
    ("", "Black apple ", ""),
    ("", "black stool ", ""),
    ("", "He is homeless. ", ""),
    ("She is poor. ", "and ", ""),
    ("", "[Repetitive content removed] ", ""),
    ("x", " ", "[Repetitive content removed]"),
    ("x", "  [", ""),
    ("", "\\text ", "{"),
    ("", "boxed ", "{"),
    ("", "<br", " "),
    ("<li", " ", ""),
    ("<|start|>", " ", ""),
    ("<|channel|>", " ", ""),
    ("<|channel|>", "a", ""),
    ("<|channel|>final<|message|>", "a ", ""),
    ("<|", "a", ""),
    ("The diagnosis is ", "flu, ", "or cold"),
    ("Diagnosis: ", "no ", "disease"),
    ("Diagnosis: ", "of the ", "x"),
    ("Diagnosis: ", "disease ", "!"),
    ("He said ", '"a." ', ""),
    (".", ")", " A"),
    ("Mr.", "_", " A"),
    ("", "Mr._ ", "Smith"),
    ("", "Which of the ", "?"),
    ("", "a.b ", ". C"),
    ("", "no. 5 ", ""),
    ("", "|---", "|\n"),
    ("", "a\n", "b"),
    ("", "\n\n- ", ""),
    ("", "as a ", "man"),
    ("As a ", "very ", "woman"),
    ("I", " ", "am pregnant"),
    ("", "I just turned ", "3"),
    ("", "my co-", "workers"),
    ("", '{"a": ', ""),
    ("", "{'diagnosis': 'x', ", ""),
    ("", "| Diagnosis | Rank |\n", ""),
    ("", "flu > ", ""),
    ("", "flu 10%, ", ""),
    ("", "a: b\n", ""),
    ("", "in order ", ""),
]

# Two halves, each of which repeats its own.
HALVES: list[tuple[str, ...]] = [
    ("<think>", "</reflection>"),
    ("<reflection>", "</think>"),
    ("(", "A. "),
    ("(", "A) "),
    ("Diagnosis: stroke ", " "),
    ("Black ", "man "),
    ("he ", ", "),
    ("A ", "B. "),
]

OPTIONS = {"A": "Heart attack", "B": "Stroke (CVA)", "C": "Panic disorder", "D": "A"}
ANSWER = Answer(label="heart attack", synonyms=("MI", "myocardial infarction"))
ITEM = Neutralized(
    key="i", question="A woman is ill. Why?", options=OPTIONS, gold="A", neutral="A patient is ill. Why?",
    excluded=None, changes=(),
)  # fmt: skip
WORDS = load_lexicon(DATA / "lexicon")
CLINICAL = load_clinical(DATA / "lexicon/clinical.yaml")
DIAGNOSES = load_diagnoses(DATA / "diagnoses.yaml")
# The lexicon is arranged once, at the first reading, which takes longer than FLOOR.
DIAGNOSES.meaning(ANSWER.label)
LEXICON = load_features(DATA / "features")
FEATURES = [
    feature
    for words in ("Black", "woman", "75-year-old", "homeless", "obese", "heroin", "Muslim", "deaf", "low income")
    for feature in LEXICON.features({"": words})
]
# What a user's file may hold, on which Python's `re` would take more than a lifetime.
BACKTRACKING = Finder([Wording(words="(?:a|a|aa)+b"), Wording(words=r"(?:\pL+ ?)+x")])
GOLD = "That sounds hard. What would help you today?"
STIGMA = load_sentences(DATA / "sentences")
WORDINGS, GENDERED = Wordings(STIGMA), noun_lexicon(STIGMA.words.nouns)


def lists(text: str) -> list[list[Any]]:
    """Read a row of saved predictions, whose lists are taken one by one."""
    return _lists(f"[{text}]", "row 1")


READERS: dict[str, Callable[[str], object]] = {
    "sentences_of": sentences_of,
    "final_question": final_question,
    "split": split,
    "thinking": lambda text: split(f"<think>{text}"),
    "strip_thinking": strip_thinking,
    "visible_text": visible_text,
    "remove_tags": remove_tags,
    "statements": lambda text: list(statements(text)),
    "final_diagnosis": final_diagnosis,
    "heading": lambda text: final_diagnosis(f"Final diagnosis: {text}"),
    "match_answer": lambda text: match_answer(text, ANSWER, DIAGNOSES),
    "meaning": DIAGNOSES.meaning,
    "read_letter": lambda text: read_letter(text, OPTIONS),
    "letter_at_the_end": lambda text: read_letter(f"The answer is {text} B", OPTIONS),
    "read_written": lambda text: read_written(text, {"expected": (ANSWER,)}, DIAGNOSES, ("no asthma",)),
    "lay_out": lay_out,
    "stated_answer": lambda text: stated_answer(text, {Given("expected", ANSWER.label): ANSWER}, DIAGNOSES),
    "read_generated": lambda text: read_generated(text, {"expected": (ANSWER,)}),
    "article": article,
    "neutralize": lambda text: neutralize(text, WORDS),
    "select": lambda text: select(text, OPTIONS, WORDS),
    "violations": lambda text: violations(ITEM, Arm("race", "privileged", "favourable"), text, text, CLINICAL),
    "features": lambda text: [feature.is_named(text) for feature in FEATURES],
    "dimension": LEXICON.dimension,
    "said": own_words,
    "reasoning_of": reasoning_of,
    "revealing": REVEALING.search,
    "wordings": BACKTRACKING.finds,
    "stated": stated,
    "ages": ages,
    "agreement": lambda text: entailments([(text, GOLD), (GOLD, text)], lambda pairs: np.ones((len(pairs), 3))),
    "subject": lambda text: WORDINGS.place(f"My friend {text} has depression.", "rq1"),
    "phrase_end": lambda text: phrase_end(f"close {text}", GENDERED),
}
LISTS, MANY, MANY_LENGTH = "lists", ("", "[1],", ""), 400_000
"""The reader of rows of lists, and the one text that it reads: other texts are not such a row."""
SQUARE = re.compile("a+b").search
"""From every `a` it reads to the end of a text without `b`: twice the text takes four times as long."""


def repeated(hostile: tuple[str, ...], length: int) -> str:
    """A hostile text of about a length."""
    if hostile in HALVES:
        return "".join(unit * (length // 2 // len(unit)) for unit in hostile)
    before, unit, after = hostile
    return before + unit * max(1, (length - len(before) - len(after)) // len(unit)) + after


def seconds(reader: Callable[[str], object], text: str) -> float:
    """Processor time of one reading, without that of collecting others' garbage."""
    gc.disable()
    try:
        start = time.process_time()
        reader(text)
        return time.process_time() - start
    finally:
        gc.enable()


def growth(reader: Callable[[str], object], hostile: tuple[str, ...], length: int) -> float:
    """Measure the factor by which the time grows when the length doubles, up to the length.

    On average from a sixteenth of the length on, where that is clearly linear: one reading of the whole text is then
    enough. Else from half the length on, the shortest of some rounds; and where that is more than it may be, on average
    from an eighth on, since texts are also cut into pieces of a size, and where the cuts fall makes steps of the time,
    which its square would outgrow: among several lengths near an eighth, the one on the highest step counts.

    A text that is read within FLOOR has a growth of 0, and so has one that took longer only once, as the first reading
    does if something is arranged for all.
    """
    sixteenth, half, whole = (repeated(hostile, length // part) for part in (16, 2, 1))
    long = seconds(reader, whole)
    if long < FLOOR:
        return 0.0
    average = float((long / seconds(reader, sixteenth)) ** (1 / 4))
    if average <= CLEAR:
        return average
    short = seconds(reader, half)
    for _ in range(4):
        short, long = min(short, seconds(reader, half)), min(long, seconds(reader, whole))
        if long < FLOOR:
            return 0.0
        if long <= LARGEST * short:
            return long / short
    eighths = [repeated(hostile, length // 8 - length // 200 * less) for less in range(4)]
    return float((long / max(seconds(reader, eighth) for eighth in eighths)) ** (1 / 3))


def measured(name: str, length: int) -> dict[tuple[str, ...], float]:
    """Measure the growth of a reader's time up to a length, for every hostile text; for LISTS, its own text alone."""
    if name == LISTS:
        return {MANY: growth(lists, MANY, MANY_LENGTH)}
    return {hostile: growth(READERS[name], hostile, length) for hostile in (*HOSTILE, *HALVES)}


def line(name: str, by: float, hostile: tuple[str, ...]) -> str:
    """Lay out a line of the table."""
    return f"{name:<18}{by:>6.2f}  {hostile}" if by else f"{name:<18}     –  every text within {FLOOR} s"


def main(
    length: Annotated[int, typer.Option(min=1_000, help="Characters of the longer text.")] = 6_000,
    only: Annotated[str, typer.Option(help="What the names of the readers begin with.")] = "",
) -> None:
    """Print the growth of each reader's time, and for which text; fail if it exceeds LARGEST."""
    names = [name for name in (*READERS, LISTS) if name.startswith(only)]
    if not names:
        raise EquipoiseError(f"no reader's name begins with {only}: they are {', '.join((*READERS, LISTS))}")
    typer.echo(f"{'reader':<18}growth  of which text: what it begins with, repeats and ends with")
    square_growth = growth(SQUARE, ("", "a", ""), 20_000)
    typer.echo(line("(the square)", square_growth, ("", "a", "")))
    wrong = [] if square_growth > LARGEST else ["The square is not told from what is linear: measure on an idle core"]
    for name in names:
        grown = measured(name, length)
        worst = max(grown, key=grown.__getitem__)
        typer.echo(line(name, grown[worst], worst))
        wrong += [f"More than {LARGEST}: {line(name, by, text)}" for text, by in grown.items() if by > LARGEST]
    for fault in wrong:
        typer.echo(fault, err=True)
    if wrong:
        raise typer.Exit(1)


if __name__ == "__main__":
    stage.run(main)
