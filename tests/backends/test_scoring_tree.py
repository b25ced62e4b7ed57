from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import prompt
from equipoise.backends.conversation import Encoded, Likelihood, common_length
from equipoise.backends.rows import FEW
from equipoise.backends.scoring import candidate_likelihoods, log_softmax
from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conftest import Exported
    from equipoise.core.prompts import Prompt

VOCABULARY = 6
CONDITIONS = ("depression", "chest pain", "fever", "low mood for two weeks", "low mood")
SUBJECTS = ("woman", "man", "patient", "clinician", "person")
SENTENCES = prompt(
    "sentences",
    "Write one sentence.",
    prefix="I would feel unsafe around a",
    candidates=tuple(f"{subject} with {condition}, and afraid" for subject in SUBJECTS for condition in CONDITIONS),
    reply=False,
)


def logits(tokens: Sequence[int]) -> NDArray[np.float32]:
    """Make up the logits that follow some tokens."""
    return np.random.default_rng(list(tokens)).normal(size=VOCABULARY).astype(np.float32)


class Fake:
    """An engine whose rows hold tokens in the place of keys and values; it counts the tokens that are run."""

    def __init__(self, rows: int) -> None:
        """Lay the rows out."""
        self.rows = rows
        self.count = 0
        self._held = [[0] * 20 for _ in range(rows)]

    def prefill(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Begin row 0."""
        self._held[0][: len(tokens)] = tokens
        return logits(tokens)[None]

    def run(self, tokens: NDArray[np.int64], lengths: Sequence[int], *, picks: Sequence[int]) -> NDArray[np.float32]:
        """Extend the first rows by one token each."""
        assert (tokens.shape, picks) == ((len(lengths), 1), [0])
        self.count += len(lengths)
        for held, (token,), length in zip(self._held, tokens.tolist(), lengths, strict=False):
            held[length] = token
        return np.array([logits(held[: length + 1]) for held, length in zip(self._held, lengths, strict=False)])

    def move(self, source: int, target: int, length: int) -> None:
        """Copy the beginning of a row."""
        self._held[target][:length] = self._held[source][:length]

    def take(self, row: int, start: int, end: int) -> list[int]:
        """Copy a part of a row."""
        return self._held[row][start:end]

    def put(self, row: int, start: int, kept: list[int]) -> None:
        """Write a part of a row."""
        self._held[row][start : start + len(kept)] = kept


tokens = st.integers(0, VOCABULARY - 1)


@given(
    rows=st.integers(1, 5),
    text=st.lists(tokens, min_size=2, max_size=4),
    tails=st.lists(st.tuples(st.booleans(), st.lists(tokens, min_size=1, max_size=6)), min_size=1, max_size=12),
)
def test_the_tree_gives_what_whole_sequences_give(
    rows: int, text: list[int], tails: list[tuple[bool, list[int]]]
) -> None:
    """Each candidate has the mean over its own tokens, of which each is worked out once, with any number of rows."""
    candidates = {}
    for number, (merges, tail) in enumerate(tails):
        joined = [*text[:-1], (text[-1] + 1) % VOCABULARY, *tail] if merges else [*text, *tail]
        candidates[str(number)] = Encoded(joined, common_length(text, joined))
    engine: Any = Fake(rows)
    scores = candidate_likelihoods(engine, text, candidates)

    for name, (joined, start) in candidates.items():
        log_p = [log_softmax(logits(joined[:place])[None])[0, joined[place]] for place in range(start, len(joined))]
        assert scores[name].tokens == len(log_p)
        assert scores[name].mean == pytest.approx(np.mean(log_p), abs=1e-6)
    # A token is run if something is read after it; the text's own tokens are one step, up to where all leave it alone.
    base = min(start for _, start in candidates.values())
    beginnings = {tuple(joined[:end]) for joined, _ in candidates.values() for end in range(base + 1, len(joined))}
    assert engine.count == len(beginnings)


def reference(model: Exported, asked: Prompt) -> dict[str, Likelihood]:
    """Score candidates by whole forward passes."""
    import torch

    tokenizer: Any = model.tokenizer
    messages = [{"role": "user", "content": asked.turns[0]}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) + asked.prefix
    start = len(tokenizer(text, add_special_tokens=False)["input_ids"])
    scores = {}
    for candidate in asked.candidates:
        joined = torch.tensor([tokenizer(f"{text} {candidate}", add_special_tokens=False)["input_ids"]])
        with torch.inference_mode():
            log_p = model.torch(joined).logits[0].double().log_softmax(-1)
        chosen = log_p[torch.arange(start - 1, joined.shape[1] - 1), joined[0, start:]]
        scores[candidate] = Likelihood(float(chosen.mean()), len(chosen))
    return scores


def test_the_tree_gives_what_torch_gives(tiny_model: Exported) -> None:
    """Each candidate's mean log probability equals that of torch's pass over the whole text, within 1e-5 nats."""
    with tiny_model.open(batch_size=7) as backend:
        (response,) = backend.answer([SENTENCES])

    expected = reference(tiny_model, SENTENCES)
    assert response.log_likelihood == pytest.approx({name: score.mean for name, score in expected.items()}, abs=1e-5)
    assert response.candidate_tokens == {name: score.tokens for name, score in expected.items()}
    assert (response.replies, response.generated_tokens) == ((), 0)


def test_rows_and_order_change_no_bit(tiny_model: Exported) -> None:
    """The likelihoods are the same, to the last bit, with 1, 3 or 64 rows and with the candidates in reverse."""
    answers = []
    for batch_size, step in ((1, 1), (3, -1), (64, 1)):
        asked = SENTENCES.model_copy(update={"candidates": SENTENCES.candidates[::step]})
        with tiny_model.open(batch_size=batch_size) as backend:
            answers += list(backend.answer([asked]))

    assert all(answer == answers[0] for answer in answers)


def test_rows_change_no_bit_of_the_embedded_model(smollm2: Exported) -> None:
    """SmolLM2's likelihoods are the same, to the last bit, with 1, 3 or 64 rows."""
    asked = SENTENCES.model_copy(update={"candidates": SENTENCES.candidates[:20]})
    answers = []
    for batch_size in (1, 3, 64):
        with smollm2.open(batch_size=batch_size) as backend:
            answers += list(backend.answer([asked]))

    assert all(answer == answers[0] for answer in answers)


def test_few_and_many_candidates_have_one_definition(tiny_model: Exported) -> None:
    """Scored as a tree or one after the other, a candidate has the same tokens and, within 1e-5 nats, the same mean."""
    few = SENTENCES.model_copy(update={"key": "few", "candidates": SENTENCES.candidates[:FEW]})
    with tiny_model.open(batch_size=4) as backend:
        responses = {response.key: response for response in backend.answer([SENTENCES, few])}

    many, one_by_one = responses["sentences"], responses["few"]
    assert [many.log_likelihood[name] for name in few.candidates] == pytest.approx(
        list(one_by_one.log_likelihood.values()), abs=1e-5
    )
    assert {name: many.candidate_tokens[name] for name in few.candidates} == one_by_one.candidate_tokens


def test_conversations_beside_a_tree_are_left_as_they_are(tiny_model: Exported) -> None:
    """Conversations that share a stem give the same bits with and without a tree before, between and after them."""
    stem = "The patient reports low mood."
    talks = [
        prompt(f"{n}", f"{stem} {ending}", candidates=("yes", "no"), stem=stem)
        for n, ending in enumerate(("Why?", "For how long?", "Since when?"))
    ]
    with tiny_model.open(batch_size=2) as backend:
        alone = {row.key: row for row in backend.answer(talks)}
        tree, *_ = backend.answer([SENTENCES])
        mixed = {row.key: row for row in backend.answer([talks[0], SENTENCES, *talks[1:]])}

    assert mixed == {**alone, SENTENCES.key: tree}


def test_candidates_longer_than_the_model_takes_are_named(tiny_model: Exported) -> None:
    """A candidate that does not fit is refused with its prompt's key and the fix."""
    asked = SENTENCES.model_copy(update={"candidates": (*SENTENCES.candidates, "pain " * 2000)})
    with (
        tiny_model.open(batch_size=2) as backend,
        pytest.raises(EquipoiseError, match=r"prompt 'sentences' needs \d+ tokens .* raise max_length"),
    ):
        list(backend.answer([asked]))
