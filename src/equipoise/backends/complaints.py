"""What a server says of a request that it does not answer: its words, and whether its filter refused the prompt.

Providers and gateways word and place this differently: as an error of any status, or with status 200 in the place of a
reply.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from equipoise.text.patterns import caseless

FILTER_CODES = re.compile(
    r"contentfilter|contentpolic|contentmanagement|contentsafety|contentmoderation|contentblocked|datainspection"
    r"|prohibitedcontent|inappropriatecontent|harmfulcontent|unsafecontent|sensitive(?:content|word|text)|newsensitive"
    r"|moderation(?:blocked|failed|error|flagged)|guardrail|responsibleai|usagepolic|safetyviolation|censor|riskcontrol"
    r"|^(?:safety|blocklist|spii|recitation|moderation|sensitive|imagesafety|blockreason)$"
)
"""Codes of a filter, without case and punctuation."""
_VERB = (
    r"(?:block|filter|flag|reject|refus|violat|interven|prohibit|trigger|detect|disallow|den[iy]|not allowed|failed"
    r"|contain|restrict)"
)
_TOPIC = (
    r"(?:content[ _-]?(?:filter|polic|moderation|safety|management)|moderation|guardrail|responsible[ _]ai"
    r"|safety[ _-](?:system|filter|setting|polic|reason|check|guideline)|policy violation"
    r"|(?:usage|acceptable use) (?:polic|guideline)"
    r"|(?:prohibited|inappropriate|unsafe|harmful|sensitive|offensive|illegal|unsuitable)[ _]+(?:or [a-z]+ )?"
    r"(?:content|words?|information|input|text|material|prompt|topic|language))"
)
FILTER_WORDS = caseless(
    r"content[ _]?policy[ _]?violation|content management policy|data[ _]?inspection[ _]?failed|content exists risk"
    r"|considered high risk|prohibited_content|block_?reason(?!_unspecified)|safety_check_type"
    r"|new_sensitive|ResponsibleAIPolicy"
    r"|敏感|不安全|不合规|违规|内容安全|审核"
    rf"|\b{_VERB}[^\n]{{0,120}}?\b{_TOPIC}|\b{_TOPIC}[^\n]{{0,120}}?\b{_VERB}"
)
ABOUT_ACCESS = caseless(
    r"\b(?:accounts?|organi[sz]ations?|workspace|subscription|api[ _-]?keys?|suspended|deactivated|banned|permissions?"
    r"|unsupported|unrecogni[sz]ed|unknown|unexpected|extra inputs?|not (?:supported|permitted)|parameters?)\b"
)
"""Words of a message about an account or a field, which may name a policy or a filter too."""
UNFILTERED = frozenset({401, 402, 404, 408, 409, 425, 429})
"""Statuses that have another reason than the words of a prompt."""
LEGAL = 451
"""The status of a refusal for legal reasons: of the prompt's words."""
ABOUT_SYSTEM = caseless(
    r"system['\"]? (?:role|message|prompt|instruction|turn)s?\b[^\n.;]{0,60}?(?:\bnot\b|n't\b|\bun)[ ]?"
    r"(?:support|allow|enabl|permit|accept)"
    r"|(?:\bnot\b|n't\b|\bun|\bno\b)[ ]?(?:support|allow|accept|permit)?\w*[^\n.;]{0,40}?['\"]?system['\"]? "
    r"(?:role|message|prompt|instruction)"
    r"|roles? must alternate|must alternate between|got ['\"]?system|role:? ['\"]?system"
    r"|(?:not|n't) support ['\"]?system|only ['\"]?user['\"]?(?:,| and)[^\n]{0,40}? (?:roles?|supported|allowed)"
    r"|developer instruction is not|(?:unexpected|unknown|invalid|unsupported) (?:message )?role"
)
"""Words of a chat template, or of a server, that takes no system text."""
STATUSES = {
    "invalidapikey": 401,
    "authenticationerror": 401,
    "unauthenticated": 401,
    "permissiondenied": 403,
    "modelnotfound": 404,
    "notfound": 404,
    "notfounderror": 404,
    "contextlengthexceeded": 400,
    "invalidrequesterror": 400,
    "invalidargument": 400,
    "invalidparameter": 400,
    "badrequesterror": 400,
    "insufficientquota": 402,
}
"""Statuses of codes, for an error that comes with the status 200."""

_CODES = frozenset({"code", "type", "status", "reason", "finish_reason", "finishreason", "error_code", "error_type"})
_MESSAGES = ("message", "detail", "error", "msg", "error_message", "error_msg", "raw", "reason", "description")
_WITHIN = frozenset(
    {
        *("error", "errors", "detail", "details", "metadata", "innererror", "cause", "response", "raw", "data"),
        *("body", "message", "msg"),
    }
)
"""Fields in which providers put their own error; what a body repeats of the request is not read."""
_DEEPEST, _LONGEST = 6, 4_000


class Complaint(NamedTuple):
    """A server's words: the status, if it says one, its codes without case and punctuation, and its messages."""

    status: int | None
    codes: frozenset[str]
    messages: tuple[str, ...]

    @property
    def is_filter(self) -> bool:
        """Whether a filter refused the prompt, or withheld the reply to it."""
        if self.status in UNFILTERED:
            return False
        if self.status == LEGAL:
            return True
        # A page is a proxy's, which blocks the address.
        text = "\n".join(message for message in self.messages if not message.startswith("<"))[:_LONGEST]
        worded = FILTER_WORDS.search(text) and not ABOUT_ACCESS.search(text)
        return bool(worded) or any(FILTER_CODES.search(code) for code in self.codes)

    @property
    def is_about_system(self) -> bool:
        """Whether the server takes no system text."""
        return any(ABOUT_SYSTEM.search(message[:_LONGEST]) for message in self.messages)


def read_complaint(body: object, status: int | None = None) -> Complaint:
    """Read an error's body, parsed or as text; `status` is that of the response, None where it says 200."""
    tables = list(_tables(_parsed(body), 0))
    codes = {_plain(value) for table in tables for name, value in table.items() if name.lower() in _CODES}
    codes |= {"blockreason" for table in tables for name, value in table.items() if _is_block(name, value)}
    messages = [
        value.strip()
        for table in tables
        for name in _MESSAGES
        if isinstance(value := table.get(name), str) and value.strip() and _parsed(value) is value
    ]
    if not tables and isinstance(text := _parsed(body), str):
        messages = [text.strip()]
    numbers = [int(code) for code in sorted(codes) if re.fullmatch(r"[45]\d\d", code)]
    known = [STATUSES[code] for code in sorted(codes) if code in STATUSES]
    reported_status = status or next(iter([*numbers, *known]), None)
    return Complaint(reported_status, frozenset(codes - {""}), tuple(dict.fromkeys(filter(None, messages))))


def _tables(value: object, depth: int) -> Iterator[Mapping[str, Any]]:
    """Yield the tables of a body, the outermost first."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        yield value
        for name, inner in value.items():
            if str(name).lower() in _WITHIN or _is_block(name, inner):
                yield from _tables(_parsed(inner), depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value[:10]:
            yield from _tables(inner, depth + 1)


def _is_block(name: str, value: object) -> bool:
    """Whether a field is Gemini's reason to block a prompt."""
    field = _plain(name)
    if field == "promptfeedback":
        return isinstance(value, Mapping) and any(_is_block(*item) for item in value.items())
    return field == "blockreason" and bool(value) and "unspecified" not in str(value).lower()


def _parsed(value: object) -> object:
    """Parse text that is a JSON table or list, as gateways put it in a message; other values stay."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _plain(code: object) -> str:
    return re.sub(r"[\W_]", "", str(code).casefold()) if isinstance(code, str | int) else ""
