"""The ONNX Runtime backend: conversations answered side by side, greedily, with candidate likelihoods."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from equipoise.backends.engine import Engine
from equipoise.errors import EquipoiseError
from equipoise.records import Response

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray

    from equipoise.records import Prompt
    from equipoise.registry import ModelEntry


def penalise(logits: NDArray[np.float32], seen: Sequence[int], penalty: float) -> NDArray[np.float32]:
    """Apply the repetition penalty of CTRL (Keskar et al. 2019, section 4.1) to every token seen, like transformers."""
    if penalty == 1.0 or not seen:
        return logits
    where = np.unique(np.array(seen))
    scores = logits[where]
    result = logits.copy()
    result[where] = np.where(scores > 0, scores / np.float32(penalty), scores * np.float32(penalty))
    return result


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Turn logits (rows, vocabulary) into log probabilities, in nats, in double precision."""
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    return np.asarray(wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True)))


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Count the leading tokens that two sequences share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


@dataclass
class _Row:
    """A row of the engine: the tokens that stand in its buffers, and the next one to append."""

    index: int
    tokens: list[int] = field(default_factory=list)
    following: int = 0


_Talk = Generator[int, "NDArray[np.float32]", Response]


class OnnxBackend:
    """An exported model in ONNX Runtime that works on up to `batch_size` prompts at once."""

    def __init__(self, folder: Path, entry: ModelEntry, *, batch_size: int) -> None:
        """Open an export folder whose files were verified (`equipoise.backends.load`)."""
        from transformers import AutoTokenizer, GenerationConfig

        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        stops = GenerationConfig.from_pretrained(folder).eos_token_id
        self._stops = {self._tokenizer.eos_token_id, *(stops if isinstance(stops, list) else [stops])} - {None}
        self._entry = entry
        self._engine = Engine(folder, rows=batch_size, capacity=entry.max_length)
        # The stem that stands at the beginning of each row's buffers.
        self._stems: dict[int, list[int]] = {}

    def __enter__(self) -> Self:
        """Give the open backend."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the graph and its buffers go."""
        del self._engine

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt; a row that is done takes the next prompt at once. See `Backend.answer`."""
        waiting = iter(prompts)
        rows: list[_Row] = []
        talks: dict[int, _Talk] = {}

        def resume(row: _Row, logits: NDArray[np.float32] | None) -> Iterator[Response]:
            """Hand a conversation its logits; when it ends, give its response and close the gap it leaves."""
            talk = talks[id(row)]
            try:
                row.following = next(talk) if logits is None else talk.send(logits)
            except StopIteration as stop:
                del talks[id(row)]
                last = rows.pop()
                if last is not row:
                    self._engine.move(last.index, row.index, len(last.tokens))
                    self._stems[row.index] = self._stems.get(last.index, [])
                    last.index = row.index
                    rows[last.index] = last
                yield stop.value

        while True:
            while len(rows) < self._engine.rows and (prompt := next(waiting, None)) is not None:
                row = _Row(len(rows))
                rows.append(row)
                talks[id(row)] = self._converse(prompt, row)
                yield from resume(row, None)
            if not rows:
                return
            tokens = np.array([[row.following] for row in rows], np.int64)
            logits = self._engine.run(tokens, [len(row.tokens) for row in rows], picks=[0])
            for row in rows:
                row.tokens.append(row.following)
            for row, scores in zip(list(rows), logits, strict=True):
                yield from resume(row, scores)

    def _converse(self, prompt: Prompt, row: _Row) -> _Talk:
        """Hold one conversation: yields the token to append, takes the logits after it, returns the response."""
        generation = self._entry.generation
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        replies: list[str] = []
        finished: list[bool] = []
        likelihood: dict[str, float] = {}
        prompt_tokens = generated_tokens = 0
        for turn, content in enumerate(prompt.turns, start=1):
            last = turn == len(prompt.turns)
            limit = (prompt.limit or generation.answer_tokens) if last else generation.reasoning_tokens
            messages.append({"role": "user", "content": content})
            text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            text += prompt.prefix if last else ""
            ids = self._encode(text)
            self._check_length(prompt, len(ids) + limit)
            if turn == 1:
                row.tokens = self._stem(prompt, text, ids, row.index)
            known = min(common_length(row.tokens, ids), len(ids) - 1)
            logits = self._engine.prefill(ids[known:], row=row.index, start=known)[0]
            prompt_tokens += len(ids)
            if last and prompt.candidates:
                likelihood, logits = self._likelihood(prompt, text, ids, logits, row.index)
            row.tokens = ids
            if last and not prompt.reply:
                break
            reply: list[int] = []
            while len(reply) < limit:
                token = int(penalise(logits, row.tokens, generation.repetition_penalty).argmax())
                generated_tokens += 1
                if token in self._stops:
                    break
                reply.append(token)
                logits = yield token
            finished.append(len(reply) < limit)
            replies.append(self._tokenizer.decode(reply, skip_special_tokens=True).strip())
            messages.append({"role": "assistant", "content": replies[-1]})
        return Response(
            key=prompt.key,
            study=prompt.study,
            replies=tuple(replies),
            finished=tuple(finished),
            log_likelihood=likelihood,
            prompt_tokens=prompt_tokens,
            generated_tokens=generated_tokens,
        )

    def _stem(self, prompt: Prompt, text: str, ids: list[int], row: int) -> list[int]:
        """Let the prompt's stem stand in the row, in a step of its own, and give its tokens.

        Where the row's last conversation had the same stem, it stands there already. The steps of a prompt begin at the
        same places either way, so the results are the same to the last bit.
        """
        place = text.find(prompt.stem) if prompt.stem else -1
        end = place + len(prompt.stem)
        stem = ids[: common_length(ids, self._encode(text[:end]))] if place >= 0 else []
        if stem and self._stems.get(row) != stem:
            self._engine.prefill(stem, row=row)
        self._stems[row] = stem
        return stem

    def _likelihood(
        self, prompt: Prompt, text: str, ids: list[int], logits: NDArray[np.float32], row: int
    ) -> tuple[dict[str, float], NDArray[np.float32]]:
        """Read the mean log probability per token, in nats, of each candidate after `text`; leave the row at `ids`.

        `ids` are the tokens of `text`, `logits` those after them (also the second result). Each candidate is encoded
        together with the text before it, so that its first token is the one the model would write.
        """
        found: dict[str, float] = {}
        lowest = len(ids)
        for candidate in prompt.candidates:
            joined = self._encode(f"{text} {candidate}" if prompt.prefix else text + candidate)
            start = common_length(ids, joined)
            scores = logits[None]
            if start < len(ids):
                # The text's last token merges with the candidate's first: both are read from one token earlier.
                lowest = min(lowest, start)
                scores = self._engine.prefill([joined[start - 1]], row=row, start=start - 1)
            if rest := joined[start:-1]:
                scores = np.vstack([scores, self._engine.prefill(rest, row=row, start=start, picks=range(len(rest)))])
            found[candidate] = float(log_softmax(scores)[np.arange(len(scores)), joined[start:]].mean())
        if lowest < len(ids):
            logits = self._engine.prefill(ids[lowest:], row=row, start=lowest)[0]
        return found, logits

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _check_length(self, prompt: Prompt, needed: int) -> None:
        if needed > self._engine.capacity:
            message = (
                f"prompt {prompt.key!r} needs {needed} tokens with its reply, and the model's registry entry allows "
                f"{self._engine.capacity}: raise max_length there or shorten the prompt"
            )
            raise EquipoiseError(message)
