"""Split a model's whole output into its reasoning and its answer.

Four forms are recognised. `think`: reasoning between `<think>` and `</think>`, the answer after it. `content`: the
same, with the answer between `<content>` and `</content>` (PsyLLM). `channels`: messages of the channels `analysis` and
`final` between special tokens (gpt-oss). `plain`: no tags; reasoning step by step, then the conclusion. Tags may be
missing, nested or repeated: a chat template may have put the opening tag in the prompt, and a length limit may cut the
closing tag off. Tags and surrounding white space are removed; no other character is lost.
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from equipoise.text.conclusions import Statement, headed_statement, locate
from equipoise.text.patterns import caseless

Form = Literal["think", "content", "channels", "plain"]

THINKS: frozenset[str] = frozenset({"think", "content", "channels"})
"""Forms in which thinking precedes the answer."""

THINKING = r"think(?:ing)?|thought|reasoning|analysis|scratchpad"
THINK = caseless(rf"[<\[](?P<close>/?)(?P<name>{THINKING})[>\]]")
CONTENT = caseless(rf"[<\[](?P<close>/?)(?P<name>{THINKING}|content)[>\]]")
CONTENT_TAG = caseless(r"</?content>")

CHANNEL = re.compile(
    r"(?:<\|start\|>\w*\s*)?"
    r"(?:<\|channel\|>[ ]*(?P<channel>\w+)(?:[^<\n]{0,80}(?:<\|constrain\|>[ ]*\w*[ ]*)?<\|message\|>)?|<\|message\|>)"
    r"|<\|start\|>\w*|<\|(?:channel|constrain|end|return|call)\|>"
)
"""A message's head, with the channel it opens, or the end of a message."""
BARE = re.compile(r"(?:^|assistant)(?P<channel>analysis|commentary|final)(?=[^a-z]|$)")
"""The same if decoding has dropped the special tokens: `analysisThe patient…assistantfinalAppendicitis`."""
BARE_OUTPUT = re.compile(r"analysis(?=[A-Z])|.*assistantfinal(?=[^a-z]|$)", re.DOTALL)


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
    answer = _join(piece.text for piece in pieces if not piece.reasoning)
    if re.search(r"\w", answer):
        return Split(reasoning, answer, finished=True, form=form)
    # A statement under a heading of the thinking is an answer; what it considers likely along the way is not.
    return _with_conclusion(_join((reasoning, answer)), headed_statement(reasoning), form)


def strip_thinking(text: str) -> tuple[str, bool]:
    """Return a reply's text outside its thinking, and whether its thinking never ended."""
    form = detect(text)
    if form == "plain":
        return text, False
    pieces = _pieces(text, form)
    reply = _join(piece.text for piece in pieces if not piece.reasoning)
    return reply, pieces[-1].reasoning


def detect(text: str) -> Form:
    """Detect an output's form by its tags; without tags it is plain."""
    if "<|channel|>" in text or "<|message|>" in text or BARE_OUTPUT.match(text):
        return "channels"
    if CONTENT_TAG.search(text):
        return "content"
    return "think" if THINK.search(text) else "plain"


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
    """Cut a text of a form with tags; of the channels, `final` is the answer and every other one reasoning."""
    if form != "channels":
        return _cut_at_tags(text, CONTENT if form == "content" else THINK)
    pieces: list[_Piece] = []
    channel, at = "final", 0
    for match in (CHANNEL if "<|" in text else BARE).finditer(text):
        pieces.append(_Piece(channel != "final", text[at : match.start()]))
        channel, at = match["channel"] or "final", match.end()
    pieces.append(_Piece(channel != "final", text[at:]))
    return pieces


def _cut_at_tags(text: str, tag: re.Pattern[str]) -> list[_Piece]:
    """Cut a text at its tags: text between thinking tags is reasoning, the rest is the answer.

    A closing tag without an opening tag ends thinking that began in the prompt, so all text before it is reasoning,
    unless nothing follows it. The text after the last closing tag is the answer, however many opening tags were not
    closed. A content tag ends unclosed thinking; the text before the first content tag is reasoning.
    """
    # Position of the last word outside the tags.
    last_word = max(
        (match.start() for match in re.finditer(r"\w", tag.sub(lambda match: " " * len(match[0]), text))), default=-1
    )
    pieces: list[_Piece] = []
    # Pieces before `begun` are reasoning, whatever their tags say; `thought` is true if any piece is.
    depth, at, closed, content, begun, thought = 0, 0, False, False, 0, False
    for match in tag.finditer(text):
        pieces.append(_Piece(depth > 0, text[at : match.start()]))
        thought = thought or depth > 0
        at = match.end()
        closing = bool(match["close"])
        if match["name"].lower() == "content":
            if not closing and not content:
                begun, thought = len(pieces), True
            depth, content, closed = 0, True, True
        elif not closing:
            depth, closed = depth + 1, False
        else:
            if depth == 0 and not content and (last_word >= at or not thought):
                begun, thought = len(pieces), True
            depth, closed = max(depth - 1, 0), True
    pieces.append(_Piece(depth > 0 and not closed, text[at:]))
    return [piece._replace(reasoning=piece.reasoning or place < begun) for place, piece in enumerate(pieces)]


def _join(texts: Iterable[str]) -> str:
    """Join texts, each as a paragraph of its own."""
    return "\n\n".join(stripped for text in texts if (stripped := text.strip()))
