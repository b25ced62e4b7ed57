"""A model's whole output, split into its reasoning and its answer.

Four forms are known. `think`: reasoning between `<think>` and `</think>`, the answer after it. `content`: the same,
with the answer between `<content>` and `</content>` (PsyLLM). `channels`: messages of the channels `analysis` and
`final` between special tokens (gpt-oss). `plain`: no tags; reasoning step by step, then the conclusion. Tags may be
missing, nested or repeated: a chat template may have put the opening one in the prompt, and a length limit cuts the
closing one off. Tags are taken out, and white space at the ends; no other character is lost.
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from equipoise.text.conclusions import Statement, headed, locate
from equipoise.text.patterns import caseless

Form = Literal["think", "content", "channels", "plain"]

THINKS: frozenset[str] = frozenset({"think", "content", "channels"})
"""Forms in which thinking comes before the answer."""

THINKING = r"think(?:ing)?|thought|reasoning|analysis|scratchpad"
THINK = caseless(rf"[<\[](?P<close>/?)(?P<name>{THINKING})[>\]]")
CONTENT = caseless(rf"[<\[](?P<close>/?)(?P<name>{THINKING}|content)[>\]]")
CONTENT_TAG = caseless(r"</?content>")

CHANNEL = re.compile(
    r"(?:<\|start\|>\w*\s*)?"
    r"(?:<\|channel\|>[ ]*(?P<channel>\w+)(?:[^<\n]{0,80}(?:<\|constrain\|>[ ]*\w*[ ]*)?<\|message\|>)?|<\|message\|>)"
    r"|<\|start\|>\w*|<\|(?:channel|constrain|end|return|call)\|>"
)
"""A message's head, with the channel it opens, or what ends a message."""
BARE = re.compile(r"(?:^|assistant)(?P<channel>analysis|commentary|final)(?=[^a-z]|$)")
"""The same where decoding has dropped the special tokens: `analysisThe patient…assistantfinalAppendicitis`."""
BARE_OUTPUT = re.compile(r"analysis(?=[A-Z])|.*assistantfinal(?=[^a-z]|$)", re.DOTALL)


class Split(NamedTuple):
    """An output in two parts, whether it came to an answer, and the form that it had.

    `answer` is all the text outside the tags, explanation included; in the form `plain`, and where thinking that
    never closed states an answer, it is the statement of the conclusion alone. An output is unfinished where it has no
    answer.
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
    """Split an output of the given form; `auto` recognises the form by its tags."""
    form = detect(text) if form == "auto" else form
    if form == "plain":
        return _with_conclusion(text, locate(text), form)
    pieces = _pieces(text, form)
    reasoning = _joined(piece.text for piece in pieces if piece.reasoning)
    answer = _joined(piece.text for piece in pieces if not piece.reasoning)
    if re.search(r"\w", answer):
        return Split(reasoning, answer, finished=True, form=form)
    # What the thinking states under a heading of its own is an answer; what it considers likely on the way is not.
    return _with_conclusion(_joined((reasoning, answer)), headed(reasoning), form)


def outside_thinking(text: str) -> tuple[str, bool]:
    """Give what a reply says outside its thinking, and whether thinking was begun and never ended."""
    form = detect(text)
    if form == "plain":
        return text, False
    pieces = _pieces(text, form)
    said = _joined(piece.text for piece in pieces if not piece.reasoning)
    return said, pieces[-1].reasoning


def detect(text: str) -> Form:
    """Recognise an output's form by its tags; without any it is plain."""
    if "<|channel|>" in text or "<|message|>" in text or BARE_OUTPUT.match(text):
        return "channels"
    if CONTENT_TAG.search(text):
        return "content"
    return "think" if THINK.search(text) else "plain"


def read_by_user(text: str, form: Form | Literal["auto"] = "auto", *, finished: bool = True) -> str:
    """Give the part of a reply that its reader sees; empty where the reply never comes to it.

    A reply without tags is all of it, unless the model, of the given form, thinks first and was cut off (`finished` is
    False): its chat template may have put the opening tag in the prompt.
    """
    found = detect(text)
    if found == "plain":
        return "" if form in THINKS and not finished else text.strip()
    parts = split(text, found)
    return parts.answer if parts.finished else ""


def untagged(text: str) -> str:
    """Give all of a reply's words, thinking first and then what its reader sees, without the tags."""
    found = detect(text)
    return text.strip() if found == "plain" else _joined(split(text, found)[:2])


def _with_conclusion(text: str, found: Statement | None, form: Form) -> Split:
    """The conclusion as the answer, the text around it as the reasoning; without a conclusion, unfinished."""
    if found is None:
        return Split(text.strip(), "", finished=False, form=form)
    rest = _joined((text[: found.start], text[found.end :]))
    return Split(rest, text[found.start : found.end].strip(), finished=True, form=form)


def _pieces(text: str, form: Form) -> list[_Piece]:
    """Cut a text of a form with tags; of the channels, the final one is answer, every other one is reasoning."""
    if form != "channels":
        return _tagged(text, CONTENT if form == "content" else THINK)
    pieces: list[_Piece] = []
    channel, at = "final", 0
    for match in (CHANNEL if "<|" in text else BARE).finditer(text):
        pieces.append(_Piece(channel != "final", text[at : match.start()]))
        channel, at = match["channel"] or "final", match.end()
    pieces.append(_Piece(channel != "final", text[at:]))
    return pieces


def _tagged(text: str, tag: re.Pattern[str]) -> list[_Piece]:
    """Cut a text at its tags: text between thinking tags is reasoning, the rest is answer.

    A closing tag that nothing opened ends thinking that began in the prompt, so all before it is reasoning, unless
    nothing comes after it. What follows the last closing tag is answer, however many openings were left without one.
    A content tag ends thinking that was not closed; the text before the first one is reasoning.
    """
    # Position of the last word outside the tags.
    last_word = max(
        (match.start() for match in re.finditer(r"\w", tag.sub(lambda one: " " * len(one[0]), text))), default=-1
    )
    pieces: list[_Piece] = []
    # Pieces before `begun` are reasoning, whatever they were taken for; `thought` if any piece is.
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


def _joined(texts: Iterable[str]) -> str:
    """Texts one after the other, each a paragraph of its own."""
    return "\n\n".join(stripped for text in texts if (stripped := text.strip()))
