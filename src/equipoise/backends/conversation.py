"""A conversation in tokens, the same whatever runs the model: what it reads, what is scored, and how a reply enters it.

A backend takes one `Turn` after the other and returns the outcome of each; the response comes at the end.
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import date
from itertools import takewhile
from threading import Lock
from typing import Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest
from equipoise.core.prompts import Prompt, Response
from equipoise.models.registry import WeightsEntry
from equipoise.text.sentences import first_sentence

TODAY = date(2025, 1, 1)
"""The date for templates that state one, so that an answer does not depend on the day it is given."""

FINAL = "<|channel|>final<|message|>"
"""The head of gpt-oss' answers."""


class Likelihood(NamedTuple):
    """A candidate's mean log probability per token, in nats, and the number of its tokens."""

    mean: float
    tokens: int


class Encoded(NamedTuple):
    """The tokens of a text and a candidate together, and where the candidate's own begin."""

    tokens: Sequence[int]
    start: int


class Turn(NamedTuple):
    """What a model is given at one turn.

    `tokens` are all that it reads before its reply; at the first turn, `stems` are the numbers of those that other
    prompts begin with too, ascending: at least what precedes the user's words. Each is read up to in a step of its own.
    Each of `candidates` is scored after `tokens`. `limit` is the most tokens of the reply; 0 asks for none. `ended`
    says of a reply whether nothing of it is wanted after its last token; what a backend writes beyond that is left out.
    Draws are seeded with `seed`, which depends on the prompt's words and the number of its sample alone.
    """

    tokens: list[int]
    first: bool
    stems: tuple[int, ...]
    candidates: dict[str, Encoded]
    limit: int
    seed: int = 0
    ended: Callable[[Sequence[int]], bool] = lambda _: False


class Turned(NamedTuple):
    """The outcome of a turn: the candidates' likelihoods, and the reply without the token that ended it."""

    likelihoods: Mapping[str, Likelihood]
    reply: Sequence[int]


Talk = Generator[Turn, Turned, Response]


class Chat:
    """A model's tokenizer and chat template, used as its registry entry says; several threads may share it."""

    def __init__(self, tokenizer: Any, ends: int | Sequence[int] | None, entry: WeightsEntry) -> None:  # noqa: ANN401
        """Take a tokenizer of transformers or of an export; `ends` are tokens that end a reply beside its own."""
        if tokenizer.chat_template is None:
            message = f"{entry.title}: its tokenizer has no chat template: choose a model tuned to follow instructions"
            raise EquipoiseError(message)
        self._tokenizer = tokenizer
        self._entry = entry
        self._alone = Lock()
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
                messages.append({"role": "assistant", "content": self._said(prompt.given[number - 1])})
                continue
            first = number == len(prompt.given) + 1
            turn = self._turn(prompt, messages, first=first, last=number == len(prompt.turns))
            likelihoods, reply = yield turn
            prompt_tokens += len(turn.tokens)
            if not turn.limit:
                break
            cut = next((length for length in range(len(reply) + 1) if turn.ended(reply[:length])), None)
            finished.append(cut is not None or len(reply) < turn.limit)
            # The token that ended the reply was generated too.
            generated_tokens += len(reply[:cut]) + (finished[-1] and cut is None)
            said = self._decode(reply[:cut])
            replies.append(said if cut is None else first_sentence(said) or said)
            messages.append({"role": "assistant", "content": self._said(replies[-1])})
        return Response(
            key=prompt.key,
            study=prompt.study,
            replies=tuple(replies),
            finished=tuple(finished),
            log_likelihood={candidate: found.mean for candidate, found in likelihoods.items()},
            candidate_tokens={candidate: found.tokens for candidate, found in likelihoods.items()},
            prompt_tokens=prompt_tokens,
            generated_tokens=generated_tokens,
        )

    def _turn(self, prompt: Prompt, messages: list[dict[str, str]], *, first: bool, last: bool) -> Turn:
        text = self._templated(prompt, messages)
        if begun := last and bool(prompt.prefix or prompt.candidates):
            text += self._past_thinking(text) + prompt.prefix
        ids = self._encode(text)
        candidates: dict[str, Encoded] = {}
        for candidate in prompt.candidates if last else ():
            # After a prefix it is the next word, else it begins the reply. It is encoded together with the text before
            # it, so that its first token is the one the model would write.
            joined = self._encode(f"{text} {candidate}" if prompt.prefix else text + candidate)
            candidates[candidate] = Encoded(joined, common_length(ids, joined))
        limit = self._limit(prompt, last=last, begun=begun)
        self._check_length(prompt, max([len(ids) + limit, *(len(encoded.tokens) for encoded in candidates.values())]))
        seed = draw_seed(prompt, len(messages))
        turn = Turn(ids, first, self._stems(prompt, text, ids) if first else (), candidates, limit, seed)
        # Thinking that is not begun for the model is not its answer.
        whole = not last or not prompt.sentence or (self._entry.thinks and not begun)
        return turn if whole else turn._replace(ended=self._has_sentence)

    def _has_sentence(self, reply: Sequence[int]) -> bool:
        return first_sentence(self._decode(reply)) is not None

    def _limit(self, prompt: Prompt, *, last: bool, begun: bool) -> int:
        """Bound the reply: a last one that is not begun for the model may hold thinking beside the answer."""
        generation = self._entry.generation
        if not last:
            return generation.reasoning_tokens
        if not prompt.reply:
            return 0
        thinking = generation.reasoning_tokens if self._entry.thinks and not begun else 0
        return prompt.limit or generation.answer_tokens + thinking

    def _past_thinking(self, text: str) -> str:
        """Take a model that thinks first past its thinking: an answer that is begun for it comes after that.

        The empty thinking block is that of Qwen3's own template without thinking; the head is gpt-oss' own.
        """
        match self._entry.reasoning:
            case "think" | "content" if text.rstrip().endswith("<think>"):
                return "\n</think>\n\n"
            case "think" | "content" if not text.rstrip().endswith("</think>"):
                return "<think>\n\n</think>\n\n"
            case "channels":
                return FINAL
            case _:
                return ""

    def _stems(self, prompt: Prompt, text: str, ids: list[int]) -> tuple[int, ...]:
        """Count the tokens up to the end of the prompt's stem and its lead; without any, to where the user speaks.

        A lead that is the last reply given ends where the user speaks again.
        """
        place = text.find(prompt.stem or prompt.lead or prompt.turns[0])
        if place < 0:
            return ()
        ends = {place + len(shared) for shared in (prompt.stem, prompt.lead) if shared} or {place}
        if prompt.given and prompt.lead and prompt.lead == prompt.given[-1]:
            again = text.rfind(prompt.turns[len(prompt.given)])
            ends = {place + len(prompt.stem), again} if again > place else {place + len(prompt.stem)}
        return tuple(sorted({common_length(ids, self._encode(text[:end])) for end in ends} - {0}))

    def _said(self, reply: str) -> str:
        """Give the part of a reply that stays in the conversation.

        Templates leave thinking out where the model was trained without it. That of gpt-oss gets the final channel
        only, as it refuses replies with channels in them.
        """
        if self._entry.reasoning != "channels":
            return reply
        _, head, final = reply.rpartition(FINAL)
        return final if head else re.sub(r"<\|\w+\|>", " ", reply)

    def _templated(self, prompt: Prompt, messages: list[dict[str, str]]) -> str:
        from jinja2 import TemplateError

        try:
            return str(
                self._tokenizer.apply_chat_template(
                    messages,
                    tokenize=False,
                    add_generation_prompt=True,
                    strftime_now=TODAY.strftime,
                    **self._entry.thinking,
                )
            )
        except TemplateError as error:
            message = f"prompt {prompt.key!r}: the chat template of {self._entry.title} refuses it ({error})"
            raise EquipoiseError(message) from error

    def _encode(self, text: str) -> list[int]:
        with self._alone:
            return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _decode(self, reply: Sequence[int]) -> str:
        # The heads of channels are special tokens.
        return str(self._tokenizer.decode(reply, skip_special_tokens=self._entry.reasoning != "channels")).strip()

    def _check_length(self, prompt: Prompt, needed: int) -> None:
        if needed > self._entry.max_length:
            raise EquipoiseError(
                f"prompt {prompt.key!r} needs {needed} tokens with its reply, and the model's registry entry allows "
                f"{self._entry.max_length}: raise max_length there or shorten the prompt"
            )


def draw_seed(prompt: Prompt, said: int) -> int:
    """Seed of the draws of a reply, of 63 bits: what a prompt's words, its sample's number and what was said determine.

    The prompt's key is no part of it: the same words asked in two cases have one answer in the cache.
    """
    return int(digest([prompt.system, prompt.turns, prompt.prefix, prompt.sample, said])[:16], 16) >> 1


def common_length(first: Iterable[object], second: Iterable[object]) -> int:
    """Count the leading items that two sequences share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def answered(talk: Talk, turned: Turned) -> Turn | Response:
    """Give a conversation the outcome of its turn: its next one, or the response where that was the last."""
    try:
        return talk.send(turned)
    except StopIteration as stop:
        response: Response = stop.value
        return response


def held(talk: Talk, take: Callable[[Turn], Turned]) -> Response:
    """Hold a conversation to its end; `take` has the model take a turn."""
    turn: Turn | Response = next(talk)
    while isinstance(turn, Turn):
        turn = answered(talk, take(turn))
    return turn
