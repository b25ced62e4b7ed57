"""Likelihoods of candidates from what a server gives: those of a prompt's own tokens, or of a reply's first token.

A form says what is asked for, and where it stands in the reply:

- `prompt_logprobs`: a chat completion whose last message is the beginning of the reply, which the server continues;
  `prompt_logprobs` has each token of the prompt with its log probability (vLLM);
- `echo`: a text completion that repeats its prompt with the log probabilities of the prompt's tokens;
- `top_logprobs`: a chat completion of one token, with the likeliest alternatives to that token.

With the first two, a candidate's likelihood is exact: its tokens begin where the prompt with it differs from the prompt
without it, as for weights that run here (`conversation.Encoded`). With the third it is that of the first token, an
approximation: a diagnosis shares its first token with every other text that begins alike, and what is not among the
alternatives is only known to be less likely than all of them together leave over. Such candidates have an upper bound
(`Scores.at_most`), so that a figure which needs them is undefined rather than wrong.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import BaseModel, BeforeValidator

from equipoise.backends.completions import ending_of
from equipoise.backends.conversation import Likelihood, common_length
from equipoise.core.row import Frozen, Text

Form = Literal["prompt_logprobs", "echo", "top_logprobs"]
FORMS: tuple[Form, ...] = get_args(Form)
TOP = 20
"""Alternatives to a token that are asked for: the most that OpenAI's API gives."""
LOWEST = -9000.0
"""Nats: a log probability as low as this stands for minus infinity, for which vLLM writes -9999."""
ROUNDING = 1e-3
"""Nats by which rounding may raise a log probability above 0."""
MERGED = 4
"""Most tokens at the end of a prompt that a candidate may change by merging with them."""
TAIL = 24
"""Characters at the end of a text by which the tokens of a reply are recognised as those of the text."""
LEFT_OVER = 1e-9
"""The least probability of all that is not among the alternatives, since these are rounded."""
PROBE = "Is ice cold? Reply with one letter. A: yes. B: no."
ANSWER = "The right answer is B"
"""The question by which a server is asked what it gives, and a reply that it is to read."""
OPENERS = " \t\r\n*_`\"'([\N{LEFT SINGLE QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}"
"""What a reply may write before its first word."""


class Offer(Frozen):
    """The likelihoods that a server gives, the form of the requests for them, and what was found about other forms."""

    likelihoods: Literal["prompt", "top", "none"]
    form: Form | None = None
    found: Text

    @classmethod
    def form_of(cls, manifest: Mapping[str, str]) -> Form | None:
        """Read the form of the requests from what a manifest says about likelihoods; None where it asks for none."""
        return cls.model_validate(manifest).form if manifest else None

    def written(self) -> dict[str, str]:
        """Lay the offer out for the manifest."""
        return self.model_dump(mode="json", exclude_none=True)


class Token(NamedTuple):
    """A token of a prompt: what identifies it, its text, and its log probability in nats; None where it has none."""

    name: str | None
    text: str
    log_p: float | None


class Scores(NamedTuple):
    """The likelihoods of candidates, and for each without one the highest log probability that it can have, in nats."""

    known: dict[str, Likelihood]
    at_most: dict[str, float]


UNKNOWN = 0.0
"""The bound of a log probability about which nothing is known."""


def log_probability(value: object) -> float | None:
    """Read a log probability in nats, which may be minus infinity; None for a non-number, NaN, or a value above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= ROUNDING:
        return None
    return min(float(value), 0.0) if value > LOWEST else -math.inf


LogP = Annotated[float | None, BeforeValidator(log_probability)]


class _Own(BaseModel):
    """A token among the log probabilities of a prompt."""

    logprob: LogP = None
    decoded_token: str | None = None


class _Alternative(BaseModel):
    """A token that the reply could have begun with."""

    token: str = ""
    logprob: LogP = None


class _First(_Alternative):
    top_logprobs: list[_Alternative] | None = None


class _Logprobs(BaseModel):
    """Log probabilities: of a chat completion in `content`, of a text completion in the lists."""

    content: list[_First] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[LogP] | None = None


class _Choice(BaseModel):
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class Scored(BaseModel):
    """A completion, as far as log probabilities are read from it."""

    choices: list[_Choice] = []
    prompt_logprobs: list[dict[str, _Own] | None] | None = None

    @property
    def _logprobs(self) -> _Logprobs:
        return (self.choices[0].logprobs if self.choices else None) or _Logprobs()

    @property
    def is_filtered(self) -> bool:
        """Whether a provider's filter ended the reply."""
        return bool(self.choices) and ending_of(self.choices[0].finish_reason) == "content_filter"

    def prompt(self, form: Form, text: str) -> list[Token] | None:
        """List the tokens of a prompt that ends with a text; None if the completion does not have all of them.

        The list is empty where only the text of the tokens is another: one may end within a character beyond ASCII.
        """
        if form == "prompt_logprobs":
            tokens = [*map(_own, self.prompt_logprobs or ())]
        else:
            names, values = self._logprobs.tokens or (), self._logprobs.token_logprobs or ()
            tokens = [*map(Token, names, names, values)] if len(names) == len(values) else []
        # One token is asked for; in a text completion, a server may give it too.
        prompt_tokens = _ending_with(text, tokens, generated=(0,) if form == "prompt_logprobs" else (1, 0))
        if prompt_tokens is None:
            return [] if tokens and not text[-TAIL:].isascii() else None
        # The first token follows nothing, and has no probability.
        given = [token.log_p for token in prompt_tokens[1:] if token.log_p is not None]
        return prompt_tokens if len(given) == len(prompt_tokens) - 1 and max(given, default=0.0) > -math.inf else None

    def alternatives(self) -> dict[str, float] | None:
        """Give the finite log probabilities of the first token's alternatives, by text; None if one is missing."""
        first = next(iter(self._logprobs.content or ()), None)
        if first is None or not first.top_logprobs:
            return None
        # The token that was drawn need not be among the likeliest.
        listed = {row.token: row.logprob for row in (first, *first.top_logprobs)}
        if None in listed.values():
            return None
        return {text: value for text, value in listed.items() if value is not None and value > -math.inf} or None


def _own(place: Mapping[str, _Own] | None) -> Token:
    """Give a place's token: the first, after which its alternatives may follow."""
    name, own = next(iter((place or {}).items()), (None, _Own()))
    return Token(name, own.decoded_token or "", own.logprob)


def _ending_with(text: str, tokens: list[Token], generated: Iterable[int]) -> list[Token] | None:
    """Leave out what was generated after a text, by the number of tokens for which the others end as the text does."""
    for count in generated:
        prompt = tokens[: len(tokens) - count]
        if prompt and "".join(token.text for token in prompt).endswith(text[-TAIL:]):
            return prompt
    return None


def prompt_score(before: Sequence[Token], joined: Sequence[Token]) -> Likelihood | None:
    """Score a candidate by the tokens of the prompt without it and with it; None where one has no finite probability.

    As for weights that run here, the candidate's tokens are those from the first difference on.
    """
    start = common_length((token.name for token in before), (token.name for token in joined))
    own = [token.log_p for token in joined[start:]]
    if not own or start < len(before) - MERGED:
        return None
    known = [value for value in own if value is not None and value > -math.inf]
    return Likelihood(math.fsum(known) / len(own), len(own)) if len(known) == len(own) else None


def first_token_scores(alternatives: Mapping[str, float], candidates: Sequence[str]) -> Scores:
    """Score candidates by the first token of a reply: the probability of the alternatives that only they begin with.

    An alternative with which several candidates begin tells nothing about any of them, and neither does a single letter
    about a word, since it may be a word of its own. A candidate with none of its own, or with such a one, has a bound:
    what the alternatives leave over, and those that may be its own. `candidates` with one token in all are exact but
    for spellings that are not among the alternatives.
    """
    own: dict[str, list[float]] = {candidate: [] for candidate in candidates}
    shared: dict[str, list[float]] = {candidate: [] for candidate in candidates}
    for text, log_p in alternatives.items():
        begun = text.lstrip(OPENERS)
        fitting = [candidate for candidate in candidates if _begins(begun, candidate)]
        clear = len(fitting) == 1 and not (len(begun) == 1 < len(fitting[0]))
        for candidate in fitting:
            (own if clear else shared)[candidate].append(math.exp(log_p))
    left_over = max(1.0 - math.fsum(map(math.exp, alternatives.values())), LEFT_OVER)
    known, at_most = {}, {}
    for candidate in candidates:
        if own[candidate] and not shared[candidate]:
            known[candidate] = Likelihood(min(math.log(math.fsum(own[candidate])), 0.0), 1)
        else:
            most = math.fsum((*own[candidate], *shared[candidate], left_over))
            at_most[candidate] = min(math.log(most), 0.0)
    return Scores(known, at_most)


def _begins(begun: str, candidate: str) -> bool:
    """Whether a reply that begins with a token may give a candidate: the token is its beginning, or all of it.

    A letter counts as it is written, since `a` is a word; words count in any case.
    """
    if not begun:
        return False
    if len(candidate) > 1:
        begun, candidate = begun.casefold(), candidate.casefold()
    whole = begun.startswith(candidate) and not begun[len(candidate) :][:1].isalnum()
    return whole or candidate.startswith(begun.rstrip())


def unknown(candidates: Iterable[str]) -> Scores:
    """Give the scores of candidates about which nothing is known."""
    return Scores({}, dict.fromkeys(candidates, UNKNOWN))
