"""A conversation in tokens, the same for every backend: what the model reads, what is scored, and how replies enter it.

A backend takes one `Turn` after the other and returns the outcome of each; the response comes at the end.
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import takewhile
from threading import Lock
from typing import Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest
from equipoise.core.prompts import Prompt, Response
from equipoise.models.registry import WeightsEntry
from equipoise.models.template import Template
from equipoise.text import thinking
from equipoise.text.reasoning import strip_thinking
from equipoise.text.sentences import first_sentence

FINAL = "<|channel|>final<|message|>"
"""The header of gpt-oss's answers."""


class Likelihood(NamedTuple):
    """A candidate's mean log probability per token, in nats, and the number of its tokens."""

    mean: float
    tokens: int


class Encoded(NamedTuple):
    """The tokens of a text with a candidate, and the index of the candidate's first token."""

    tokens: Sequence[int]
    start: int


class Turn(NamedTuple):
    """The input of a model at one turn.

    `tokens` are all tokens that it reads before its reply; at the first turn, `stems` are the lengths of the beginnings
    that the prompt shares with others, ascending; the last may be the whole turn. Each stem is read in a step of its
    own. Each of `candidates` is scored after `tokens`. `limit` is the maximum number of reply tokens; 0 requests no
    reply. `ended` tells whether a reply is complete after its last token; further output of a backend is discarded.
    Draws are seeded with `seed`, which depends only on the prompt's words and the number of its sample.
    """

    tokens: list[int]
    first: bool
    stems: tuple[int, ...]
    candidates: dict[str, Encoded]
    limit: int
    seed: int = 0
    ended: Callable[[Sequence[int]], bool] = lambda _: False


class Turned(NamedTuple):
    """The outcome of a turn: the candidates' likelihoods, and the reply without its end token."""

    likelihoods: Mapping[str, Likelihood]
    reply: Sequence[int]


Talk = Generator[Turn, Turned, Response]


class Chat:
    """A model's tokenizer and chat template, configured by its registry entry; several threads may share it."""

    def __init__(self, tokenizer: Any, ends: int | Sequence[int] | None, entry: WeightsEntry) -> None:  # noqa: ANN401
        """Take a tokenizer of transformers or of an export; `ends` are further tokens that end a reply."""
        self._template = Template(entry.title, tokenizer, entry.thinking)
        self._tokenizer = tokenizer
        self._entry = entry
        self._alone = Lock()
        self._skips_special = entry.reasoning != "channels" and not any(map(self._is_special, self._marks()))
        self.stops: frozenset[int] = frozenset(
            {tokenizer.eos_token_id, *([ends] if isinstance(ends, int) else ends or ())} - {None}
        )

    def hold(self, prompt: Prompt) -> Talk:
        """Hold one conversation: yields each turn, takes its outcome, returns the response."""
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        replies: list[str] = []
        finished: list[bool] = []
        likelihoods: Mapping[str, Likelihood] = {}
        prompt_tokens = generated_tokens = 0
        for number, content in enumerate(prompt.turns, start=1):
            messages.append({"role": "user", "content": content})
            if number <= len(prompt.given):
                messages.append({"role": "assistant", "content": self._visible_reply(prompt.given[number - 1])})
                continue
            first = number == len(prompt.given) + 1
            turn = self._turn(prompt, messages, first=first, last=number == len(prompt.turns))
            likelihoods, reply = yield turn
            prompt_tokens += len(turn.tokens)
            if not turn.limit:
                break
            cut = next((length for length in range(len(reply) + 1) if turn.ended(reply[:length])), None)
            finished.append(cut is not None or len(reply) < turn.limit)
            # The end token of the reply was generated too.
            generated_tokens += len(reply[:cut]) + (finished[-1] and cut is None)
            text = self._decode(reply[:cut])
            replies.append(text if cut is None else first_sentence(text) or text)
            messages.append({"role": "assistant", "content": self._visible_reply(replies[-1])})
        return Response(
            key=prompt.key,
            study=prompt.study,
            replies=tuple(replies),
            finished=tuple(finished),
            log_likelihood={candidate: likelihood.mean for candidate, likelihood in likelihoods.items()},
            candidate_tokens={candidate: likelihood.tokens for candidate, likelihood in likelihoods.items()},
            prompt_tokens=prompt_tokens,
            generated_tokens=generated_tokens,
        )

    def _turn(self, prompt: Prompt, messages: list[dict[str, str]], *, first: bool, last: bool) -> Turn:
        text = self._apply_template(prompt, messages)
        if begun := last and bool(prompt.prefix or prompt.candidates):
            text += self._skip_thinking(text) + prompt.prefix
        ids = self._encode(text)
        candidates: dict[str, Encoded] = {}
        for candidate in prompt.candidates if last else ():
            # After a prefix it is the next word, else it begins the reply. It is encoded together with the preceding
            # text, so that its first token is the one the model would write.
            joined = self._encode(f"{text} {candidate}" if prompt.prefix else text + candidate)
            candidates[candidate] = Encoded(joined, common_length(ids, joined))
        limit = self._limit(prompt, last=last, begun=begun)
        self._check_length(prompt, max([len(ids) + limit, *(len(encoded.tokens) for encoded in candidates.values())]))
        seed = draw_seed(prompt, len(messages))
        turn = Turn(ids, first, self._stems(prompt, messages, text, ids) if first else (), candidates, limit, seed)
        # Thinking that the template did not begin is not the answer.
        whole = not last or not prompt.sentence or (self._entry.thinks and not begun)
        return turn if whole else turn._replace(ended=self._has_sentence)

    def _has_sentence(self, reply: Sequence[int]) -> bool:
        return first_sentence(self._decode(reply)) is not None

    def _limit(self, prompt: Prompt, *, last: bool, begun: bool) -> int:
        """Return the reply's token limit: a last reply without a given beginning may contain thinking too."""
        generation = self._entry.generation
        if not last:
            return generation.reasoning_tokens
        if not prompt.reply:
            return 0
        thinking = generation.reasoning_tokens if self._entry.thinks and not begun else 0
        return prompt.limit or generation.answer_tokens + thinking

    def _skip_thinking(self, text: str) -> str:
        """Add an empty thinking block for a model that thinks first, so that a given beginning follows it.

        The empty block is the one in Qwen3's own template without thinking, in the model's own marks; the header is
        gpt-oss's own.
        """
        own = self._entry.marks
        begin, end = (own.open[0], own.close[0]) if own else (thinking.OPEN, thinking.CLOSE)
        match self._entry.reasoning:
            case "think" | "content" if text.rstrip().endswith(begin):
                return f"\n{end}\n\n"
            case "think" | "content" if not text.rstrip().endswith(end):
                return f"{begin}\n\n{end}\n\n"
            case "channels":
                return FINAL
            case _:
                return ""

    def _stems(self, prompt: Prompt, messages: list[dict[str, str]], text: str, ids: list[int]) -> tuple[int, ...]:
        """Return the token counts up to the ends of the prompt's stem and lead, or else up to the user's words."""
        place = text.find(prompt.stem or prompt.lead or prompt.turns[0])
        if place < 0:
            return ()
        ends = {place + len(prompt.stem)} if prompt.stem or not prompt.lead else set()
        if prompt.lead:
            ends.add(self._lead_end(prompt, messages, text, place))
        return tuple(sorted({common_length(ids, self._encode(text[:end])) for end in ends} - {0}))

    def _lead_end(self, prompt: Prompt, messages: list[dict[str, str]], text: str, place: int) -> int:
        """Return where the lead ends in the text, in which the first turn is at `place`.

        A lead that is a whole message ends where the next one begins: after the first turn, with what the template puts
        before a reply, so that the turn of one prompt may be the beginning of another, which gives the reply.
        """
        if prompt.given and prompt.lead == prompt.given[-1]:
            return max(text.rfind(prompt.turns[len(prompt.given)]), place + len(prompt.stem))
        if prompt.lead == prompt.turns[0]:
            asked = messages[: 1 + bool(prompt.system)]
            return common_length(text, self._apply_template(prompt, asked))
        return place + len(prompt.lead)

    def _visible_reply(self, reply: str) -> str:
        """Return the part of a reply that stays in the conversation.

        Templates omit thinking if the model was trained without it. gpt-oss's template gets only the final channel,
        because it refuses replies that contain channels; a model with marks of its own, whose stored replies have the
        common ones, only the answer.
        """
        if self._entry.marks:
            return strip_thinking(thinking.with_common_marks(reply, self._entry.marks))[0]
        if self._entry.reasoning != "channels":
            return reply
        _, head, final = reply.rpartition(FINAL)
        return final if head else re.sub(r"<\|\w+\|>", " ", reply)

    def _apply_template(self, prompt: Prompt, messages: list[dict[str, str]]) -> str:
        try:
            return self._template.write(messages)
        except EquipoiseError as error:
            raise EquipoiseError(f"prompt {prompt.key!r}: {error}") from error

    def _encode(self, text: str) -> list[int]:
        with self._alone:
            return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _decode(self, reply: Sequence[int]) -> str:
        # The headers of channels are special tokens, and so are some models' marks of thinking.
        return str(self._tokenizer.decode(reply, skip_special_tokens=self._skips_special)).strip()

    def _marks(self) -> Iterable[str]:
        """Give the marks of thinking that the model may write."""
        own = self._entry.marks
        return (*thinking.around_thinking(), *((*own.open, *own.close) if own else ()))

    def _is_special(self, mark: str) -> bool:
        """Tell whether a mark is one token, which decoding drops with the special ones."""
        tokens = self._encode(mark)
        return len(tokens) == 1 and not str(self._tokenizer.decode(tokens, skip_special_tokens=True)).strip()

    def _check_length(self, prompt: Prompt, needed: int) -> None:
        if needed > self._entry.max_length:
            raise EquipoiseError(
                f"prompt {prompt.key!r} needs {needed} tokens with its reply, and the model's registry entry allows "
                f"{self._entry.max_length}: raise max_length there or shorten the prompt"
            )


def draw_seed(prompt: Prompt, messages: int) -> int:
    """Return the 63-bit seed of a reply's draws, from the prompt's words, sample number and number of messages.

    It does not depend on the prompt's key: the same words asked in two cases have one answer in the cache.
    """
    return int(digest([prompt.system, prompt.turns, prompt.prefix, prompt.sample, messages])[:16], 16) >> 1


def common_length(first: Iterable[object], second: Iterable[object]) -> int:
    """Count the leading items that two sequences share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def advance(talk: Talk, turned: Turned) -> Turn | Response:
    """Send a conversation the outcome of its turn; return its next turn, or the response after the last."""
    try:
        return talk.send(turned)
    except StopIteration as stop:
        response: Response = stop.value
        return response


def run_talk(talk: Talk, take: Callable[[Turn], Turned]) -> Response:
    """Run a conversation to its end; `take` lets the model take a turn."""
    turn: Turn | Response = next(talk)
    while isinstance(turn, Turn):
        turn = advance(talk, take(turn))
    return turn
