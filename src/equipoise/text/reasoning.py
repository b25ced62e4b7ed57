"""Split a model's whole output into its reasoning and its answer.

Four forms are recognised. `think`: reasoning between marks such as `<think>` and `</think>`, the answer after it.
`content`: the same, with the answer between marks of its own, such as `<content>` and `</content>` (PsyLLM).
`channels`: messages of the channels `analysis` and `final` between special tokens (gpt-oss). `plain`: no marks;
reasoning step by step, then the conclusion. `thinking.yaml` lists the marks. They may be missing, nested or repeated: a
chat template may have put the opening mark in the prompt, and a length limit may cut the closing mark off. Marks and
surrounding white space are removed; no other character is lost.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Literal, NamedTuple

from equipoise.text import thinking
from equipoise.text.conclusions import Statement, headed_statement, locate
from equipoise.text.patterns import caseless

Form = Literal["think", "content", "channels", "plain"]

THINKS: frozenset[str] = frozenset({"think", "content", "channels"})
"""Forms in which thinking precedes the answer."""

CHANNEL = re.compile(
    r"(?:<\|start\|>\w*\s*)?"
    r"(?:<\|channel\|>[ ]*(?P<channel>\w+)(?:[^<\n]{0,80}(?:<\|constrain\|>[ ]*\w*[ ]*)?<\|message\|>)?|<\|message\|>)"
    r"|<\|start\|>\w*|<\|(?:channel|constrain|end|return|call)\|>"
)
"""A message's head, with the channel it opens, or the end of a message."""


class Split(NamedTuple):
    """The two parts of an output, whether it reached an answer, and its form.

    `answer` is all text outside the tags, including explanations; in the form `plain`, and if unclosed thinking states
    an answer, it is only the statement of the conclusion. An output without an answer is unfinished.
    """

    reasoning: str
    answer: str
    finished: bool
    form: Form


class _Piece(NamedTuple):
    """A stretch of text between two tags."""

    reasoning: bool
    text: str


def split(text: str, form: Form | Literal["auto"] = "auto") -> Split:
    """Split an output of the given form; `auto` detects the form by its tags."""
    form = detect(text) if form == "auto" else form
    if form == "plain":
        return _with_conclusion(text, locate(text), form)
    pieces = _pieces(text, form)
    reasoning = _join(piece.text for piece in pieces if piece.reasoning)
    answer = _reply(pieces)
    if re.search(r"\w", answer):
        return Split(reasoning, answer, finished=True, form=form)
    # A statement under a heading of thinking that did not end is an answer; what it considers along the way is not, and
    # nothing is if the reply after the thinking is empty.
    statement = headed_statement(reasoning) if pieces[-1].reasoning else None
    return _with_conclusion(_join((reasoning, answer)), statement, form)


def strip_thinking(text: str) -> tuple[str, bool]:
    """Return a reply's text outside its thinking, and whether its thinking never ended."""
    form = detect(text)
    if form == "plain":
        return text, False
    pieces = _pieces(text, form)
    return _reply(pieces), pieces[-1].reasoning


def detect(text: str) -> Form:
    """Detect an output's form by its marks; without marks it is plain."""
    if "<|channel|>" in text or "<|message|>" in text or _bare_channels()[0].match(text):
        return "channels"
    kinds = {mark.kind for _, _, mark in _marks(text)}
    if kinds & {"answer", "end"}:
        return "content"
    return "think" if kinds else "plain"


def visible_text(text: str, form: Form | Literal["auto"] = "auto", *, finished: bool = True) -> str:
    """Return the part of a reply that its reader sees; empty if the reply does not reach it.

    A reply without tags is visible as a whole, unless the model, of the given form, thinks first and was cut off
    (`finished` is False): its chat template may have put the opening tag in the prompt.
    """
    detected = detect(text)
    if detected == "plain":
        return "" if form in THINKS and not finished else text.strip()
    parts = split(text, detected)
    return parts.answer if parts.finished else ""


def remove_tags(text: str) -> str:
    """Return a reply without tags: its thinking, then the part that its reader sees."""
    detected = detect(text)
    return text.strip() if detected == "plain" else _join(split(text, detected)[:2])


def _with_conclusion(text: str, conclusion: Statement | None, form: Form) -> Split:
    """Split a text at its conclusion: it becomes the answer, the rest the reasoning; unfinished without one."""
    if conclusion is None:
        return Split(text.strip(), "", finished=False, form=form)
    rest = _join((text[: conclusion.start], text[conclusion.end :]))
    return Split(rest, text[conclusion.start : conclusion.end].strip(), finished=True, form=form)


def _pieces(text: str, form: Form) -> list[_Piece]:
    """Cut a text of a form with marks; among the channels, `final` is the answer and every other one reasoning."""
    if form != "channels":
        pieces = _cut_at_marks(text, [mark for mark in _marks(text) if form == "content" or mark[2].kind in TURNS])
        return [*pieces[:-1], *_cut_at_answer(pieces[-1])]
    answers = thinking.table().channels.answer
    _, bare, headless = _bare_channels()
    if headless.match(text):
        text = f"<|channel|>{text.lstrip()}"
    pieces = []
    channel, at = answers[0], 0
    for match in (CHANNEL if "<|" in text else bare).finditer(text):
        pieces.append(_Piece(channel not in answers, text[at : match.start()]))
        channel, at = (match["channel"] or answers[0]).lower(), match.end()
    pieces.append(_Piece(channel not in answers, text[at:]))
    return pieces


@cache
def _bare_channels() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Match channels where decoding has dropped special tokens, as in `analysisThe patient…assistantfinalAppendicitis`.

    The first matches the beginning of such an output, the second the head of a message in it, and the third a channel
    whose first token stood in the prompt.
    """
    channels = thinking.table().channels
    thoughts, answers = "|".join(channels.thinking), "|".join(channels.answer)
    every = f"{thoughts}|{answers}"
    return (
        re.compile(
            rf"(?:assistant)?(?:{thoughts})(?=[A-Z])|assistant(?:{thoughts})(?![a-z])"
            rf"|(?s:.)*assistant(?:{answers})(?![a-z])"
        ),
        re.compile(rf"(?:^|assistant)(?P<channel>{every})(?![a-z])"),
        re.compile(rf"\s*(?:{every})[ ]?<\|message\|>"),
    )


TURNS = frozenset({"open", "close"})
"""The kinds of marks around thinking."""
_Found = tuple[int, int, thinking.Mark]
"""A mark's half-open range in a text, and what it does."""


def _marks(text: str) -> list[_Found]:
    """Find the marks of a text."""
    grammar = thinking.grammar(text)
    return [(match.start(), match.end(), grammar.mark(match[0])) for match in grammar.pattern.finditer(text)]


def _cut_at_marks(text: str, marks: list[_Found]) -> list[_Piece]:
    """Cut a text at its marks: text between marks of thinking is reasoning, the rest is the answer.

    A closing mark ends the innermost thinking that its name opened, and what was opened in it. Without an opening mark
    it ends thinking that began in the prompt, so all text before it is reasoning, unless nothing follows it. The text
    after the last closing mark is the answer, however many openings of the same name were not closed; thinking of
    another name goes on. A mark of the answer ends unclosed thinking; the text before the first of them is reasoning.
    """
    gaps = [*zip([0, *(end for _, end, _ in marks)], [*(start for start, _, _ in marks), len(text)], strict=True)]
    # Where the last stretch with a word begins.
    last_word = next((start for start, end in reversed(gaps) if WORD.search(text, start, end)), -1)
    pieces: list[_Piece] = []
    # Pieces before `begun` are reasoning, whatever their marks say; `thought` is true if any piece is.
    opened, count = list[str](), Counter[str]()
    closed, content, begun, thought = False, False, 0, False
    for (start, end), (_, at, (kind, name)) in zip(gaps, marks, strict=False):
        pieces.append(_Piece(bool(opened), text[start:end]))
        thought = thought or bool(opened)
        if kind == "open":
            opened.append(name)
            count[name] += 1
            closed = False
        elif kind == "close" and opened:
            ended = name if count[name] else opened[-1]
            while (last := opened.pop()) != ended:
                count[last] -= 1
            count[ended] -= 1
            closed = len(opened) == count[ended]
        elif kind == "close":
            if not content and (last_word >= at or not thought):
                begun, thought = len(pieces), True
            closed = True
        else:
            if kind == "answer" and not content:
                begun, thought = len(pieces), True
            opened.clear()
            count.clear()
            content = closed = True
    pieces.append(_Piece(bool(opened) and not closed, text[gaps[-1][0] :]))
    return [piece._replace(reasoning=piece.reasoning or place < begun) for place, piece in enumerate(pieces)]


WORD = re.compile(r"\w")


@cache
def _around() -> re.Pattern[str]:
    """Match the tags around a whole answer."""
    return caseless(rf"<(?P<close>/?)(?P<name>{'|'.join(thinking.table().around)})[ ]?>")


def _cut_at_answer(last: _Piece) -> list[_Piece]:
    """Cut an answer in tags of its own off thinking that was not closed, if the text ends with it."""
    tags = list(_around().finditer(last.text))[-2:] if last.reasoning else []
    if len(tags) == 2 and _is_pair(*tags) and not last.text[tags[1].end() :].strip():  # noqa: PLR2004  (a pair)
        place = tags[0].start()
        return [_Piece(reasoning=True, text=last.text[:place]), _Piece(reasoning=False, text=last.text[place:])]
    return [last]


def _is_pair(first: re.Match[str], second: re.Match[str]) -> bool:
    return not first["close"] and bool(second["close"]) and first["name"].lower() == second["name"].lower()


def _reply(pieces: Iterable[_Piece]) -> str:
    """Join what is not thinking, without tags around all of it, the second of which the limit may have cut off."""
    reply = _join(piece.text for piece in pieces if not piece.reasoning)
    match list(_around().finditer(reply)):
        case [first, second] if _is_pair(first, second) and (first.start(), second.end()) == (0, len(reply)):
            return reply[first.end() : second.start()].strip()
        case [first] if first.start() == 0 and not first["close"]:
            return reply[first.end() :].strip()
        case _:
            return reply


def _join(texts: Iterable[str]) -> str:
    """Join texts, each as a paragraph of its own."""
    return "\n\n".join(stripped for text in texts if (stripped := text.strip()))
