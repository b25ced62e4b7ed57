"""Tests of prompts scored side by side, each in one thread."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
import tiny
from equipoise.backends.conversation import Chat, Encoded, Turn
from equipoise.backends.scoring import (
    Beginnings,
    Begun,
    Row,
    Rows,
    choose,
    log_softmax,
    penalise,
    score_all,
    shares,
)
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt
from equipoise.models.engine import Engine
from equipoise.models.registry import Generation, OnnxEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conftest import Exported

ENTRY = OnnxEntry.model_validate(
    {
        "title": "A model",
        "licence": "none",
        "backend": "onnx",
        "parameters": "1M",
        "source": {"kind": "local", "path": "."},
        "max_length": 400,
        "generation": {"reasoning_tokens": 1, "answer_tokens": 1},
    }
)
CHAT = Chat(tiny.tokenizer(), None, ENTRY)


def prompt(key: str, stem: str = "", text: str = "") -> Prompt:
    """Build a prompt that is scored and not replied to."""
    scored = {"study": "questions", "prefix": "Answer:", "candidates": ("A", "B"), "reply": False}
    return builders.prompt(key, f"{stem} {text or key}", stem=stem, **scored)


class Fake:
    """An engine that makes up logits from the tokens of its one row, and notes the length of each step."""

    fork = Engine.fork

    def __init__(self, steps: list[int] | None = None) -> None:
        """Begin with an empty row."""
        self.steps: list[int] = [] if steps is None else steps
        self._held: list[int] = []
        self._alone = Lock()

    def replicate(self) -> Self:
        """Give another that notes its steps in the same place."""
        return type(self)(self.steps)

    def take(self, row: int, start: int, end: int) -> list[NDArray[np.float32]]:
        """Give the tokens themselves."""
        assert row == 0
        return [np.array([self._held[start:end]], np.float32)]

    def put(self, row: int, start: int, keys_values: list[NDArray[np.float32]]) -> None:
        """Write tokens."""
        assert row == 0
        self._held = [*self._held[:start], *map(int, keys_values[0][0])]

    def prefill(
        self, tokens: Sequence[int], *, row: int = 0, start: int = 0, picks: Sequence[int] | None = None
    ) -> NDArray[np.float32]:
        """Extend the row."""
        # Two threads in one row would mix two prompts.
        assert self._alone.acquire(blocking=False)
        assert row == 0
        self._held = [*self._held[:start], *tokens]
        self.steps.append(len(tokens))
        ends = [start + pick + 1 for pick in ([len(tokens) - 1] if picks is None else picks)]
        logits = [np.random.default_rng(self._held[:end]).normal(size=400) for end in ends]
        self._alone.release()
        return np.array(logits, np.float32)


def score(prompts: list[Prompt], scorers: int, engine: Any = None) -> dict[str, dict[str, float]]:
    """Score prompts; the likelihoods by key."""
    asked: Any = engine or Fake()
    responses = score_all(prompts, CHAT, asked, scorers=scorers)
    return {response.key: response.log_likelihood for response in responses}


def test_adjacent_prompts_with_one_stem_are_one_share() -> None:
    """A prompt without a stem is a share of its own; a stem that comes again after another is a new share."""
    prompts = [prompt(key, stem) for key, stem in zip("abcdefg", ["x", "x", "", "", "y", "x", "x"], strict=True)]

    assert ["".join(asked.key for asked in share) for share in shares(prompts, 1)] == ["ab", "c", "d", "e", "fg"]


def test_a_long_share_is_parted_so_that_no_scorer_idles() -> None:
    """Of 64 prompts with one stem, two scorers take eight at a time: an eighth of all each."""
    assert [len(share) for share in shares([prompt(f"{number}", "x") for number in range(64)], 2)] == [8] * 8


@given(stems=st.lists(st.sampled_from(["", "Low mood.", "Fever."]), max_size=6), scorers=st.integers(1, 4))
def test_every_prompt_is_scored_once_whatever_the_number_of_scorers(stems: list[str], scorers: int) -> None:
    """Each prompt has the likelihoods that it has alone."""
    prompts = [prompt(f"{number:02}", stem) for number, stem in enumerate(stems)]
    apart: dict[str, dict[str, float]] = {}
    for asked in prompts:
        apart |= score([asked], 1)

    assert apart == score(prompts, scorers)


@pytest.mark.parametrize("stem", ["Low mood for two weeks.", ""])
def test_a_stem_is_worked_out_once(stem: str) -> None:
    """One scorer reads the stem, or else what precedes the user's words, and then four times what follows it."""
    engine, prompts = Fake(), [prompt(key, stem) for key in "abcd"]
    score(prompts, 1, engine)

    turns = [next(CHAT.hold(asked)) for asked in prompts]
    ((length,),) = {turn.stems for turn in turns if isinstance(turn, Turn)}
    # The first token of a candidate is a step of one token.
    assert [step for step in engine.steps if step > 1] == [
        length,
        *(len(turn.tokens) - length for turn in turns if isinstance(turn, Turn)),
    ]


def test_candidates_that_end_in_another_token_are_one_step() -> None:
    """After what precedes it and the rest of the prompt, the beginning that A and B share is read once."""
    engine = Fake()
    likelihoods = score([prompt("a")], 1, engine)["a"]
    turn = next(CHAT.hold(prompt("a")))

    assert isinstance(turn, Turn)
    first, second = (list(candidate.tokens)[candidate.start :] for candidate in turn.candidates.values())
    assert first[:-1] == second[:-1] != []
    assert engine.steps[2:] == [len(first) - 1]
    assert likelihoods["A"] != likelihoods["B"]


def test_a_candidate_that_merges_with_the_text_leaves_it_to_the_others() -> None:
    """The first one's tokens begin in the place of the text's last one, which the second one is scored after."""
    merging, plain = Encoded([1, 2, 9, 5, 6], 2), Encoded([1, 2, 3, 7, 8], 3)

    def read(**candidates: Encoded) -> Any:
        asked: Any = Fake()
        return Rows(asked).read(Turn([1, 2, 3], first=True, stems=(), candidates=candidates, limit=0), Row(0))[0]

    assert read(merging=merging, plain=plain) == read(plain=plain) | read(merging=merging)


def test_what_precedes_the_options_is_read_once_for_all_their_orders() -> None:
    """One scorer reads the stem, then for each of two texts the rest of its lead, and then three times its options."""
    stem = "Low mood."
    leads = [f"{stem} She works.", f"{stem} She has no work at all."]
    prompts = [
        prompt(f"{number}{order}", stem, f"{lead.removeprefix(stem)} {order}").model_copy(update={"lead": lead})
        for number, lead in enumerate(leads)
        for order in ("Yes or no", "No or yes", "Or yes no")
    ]
    engine = Fake()
    score(prompts, 1, engine)

    turns = [turn for asked in prompts if isinstance(turn := next(CHAT.hold(asked)), Turn)]
    expected = [turns[0].stems[0]]
    for place, turn in enumerate(turns):
        inner, outer = turn.stems
        expected += [outer - inner] if place in (0, 3) else []
        expected.append(len(turn.tokens) - outer)
    assert [step for step in engine.steps if step > 1] == expected


@pytest.mark.parametrize("scorers", [1, 3])
def test_a_prompt_that_does_not_fit_ends_the_run(scorers: int) -> None:
    """Its error comes through to whoever listens."""
    prompts = [prompt("a"), prompt("long", text="pain " * 400), *(prompt(key) for key in "bcd")]

    with pytest.raises(EquipoiseError, match=r"prompt 'long' needs .* raise max_length"):
        score(prompts, scorers)


def test_whoever_stops_listening_ends_the_scoring() -> None:
    """After the first answer no prompt is begun; the shares that were not begun are never asked."""
    engine = Fake()
    asked: Any = engine
    running: Any = score_all([prompt(f"{number:03}") for number in range(500)], CHAT, asked, scorers=1)
    next(running)
    running.close()
    steps = len(engine.steps)

    # The pool has ended by then: nothing more comes.
    assert steps < 500
    assert steps == len(engine.steps)


def test_no_prompt_needs_no_scorer() -> None:
    """Nothing is asked where nothing is given."""
    assert score([], 2) == {}


def test_scorers_change_no_bit(tiny_model: Exported) -> None:
    """A real graph gives the same likelihoods, to the last bit, with one scorer and with several, in any order."""
    prompts = [prompt(f"{number}", "She reports low mood." if number % 3 else "") for number in range(9)]
    answers = []
    for batch_size, asked in ((1, prompts), (2, prompts[::-1]), (7, prompts)):
        with tiny_model.open(batch_size=batch_size) as backend:
            answers.append(sorted(backend.answer(asked), key=lambda response: response.key))

    assert answers[0] == answers[1] == answers[2]
    assert [len(response.log_likelihood) for response in answers[0]] == [2] * 9


def begun(*stems: int) -> Begun:
    """A first turn of 1, 2, ... that has stems of these lengths, with 4 bytes of keys a token and 4 of logits."""
    return Begun([list(range(1, end + 1)) for end in stems], [np.zeros(stems[-1], np.float32)], np.zeros(1, np.float32))


def test_first_turns_are_found_by_the_steps_in_which_they_were_read() -> None:
    """Two of three stems are the beginning of a turn in two steps, none that of the same tokens in one step."""
    longer, shorter = begun(2, 5), begun(4)
    kept = Beginnings(most=100)
    kept.keep(longer)
    kept.keep(shorter)

    assert kept.find(begun(2, 5, 9).stems) == (2, longer)
    assert kept.find(begun(2, 4).stems) == (1, longer)
    assert kept.find(begun(4, 5).stems) == (1, shorter)
    assert kept.find(begun(5).stems) == kept.find([]) == (0, None)


def test_a_first_turn_has_its_own_logits_though_a_longer_one_begins_with_it() -> None:
    """A turn of three tokens is read whether a turn of five that begins with it was read before or not."""
    short = Turn([1, 2, 3], first=True, stems=(3,), candidates={}, limit=1)
    long = Turn([1, 2, 3, 4, 5], first=True, stems=(3, 5), candidates={}, limit=1)
    logits = []
    for turns in ((short,), (long, short)):
        engine: Any = Fake()
        reader = Rows(engine, Beginnings(most=1e6))
        for turn in turns:
            _, last = reader.read(turn, Row(0))
        logits.append(last)

    assert np.array_equal(*logits)


def test_the_latest_first_turn_is_kept_though_there_is_no_room() -> None:
    """With 60 bytes, turns of 24 and 28 bytes fit; a third takes the place of the second, and so does a fourth."""
    kept, turns = Beginnings(most=60), [begun(5), begun(6), begun(7), begun(100)]
    for turn in turns:
        kept.keep(turn)
        assert kept.find(turn.stems) == (1, turn)

    assert [kept.find(turn.stems)[0] for turn in turns] == [1, 0, 0, 1]


def test_penalty_divides_positive_and_multiplies_negative_scores() -> None:
    """A seen token's score falls, whatever its sign; an unseen one stays."""
    logits = np.array([2.0, -2.0, 1.0], np.float32)

    # 2 / 1.25 = 1.6; -2 x 1.25 = -2.5; token 2 was not seen.
    assert pytest.approx(penalise(logits, [0, 1, 1], 1.25).tolist()) == [1.6, -2.5, 1.0]


def test_tokens_are_drawn_in_proportion() -> None:
    """Above a temperature of 0, shares of 20,000 draws are the softmax of the logits over it."""
    logits = np.array([1.0, 0.0, 2.0, -1.0], np.float32)
    generation = Generation(temperature=0.5, reasoning_tokens=1, answer_tokens=1)
    rng = np.random.default_rng(0)
    counts = np.bincount([choose(logits, generation, rng) for _ in range(20_000)], minlength=4)

    # Softmax of 2, 0, 4 and -2.
    expected = np.exp([2, 0, 4, -2]) / np.exp([2, 0, 4, -2]).sum()
    # Chi-square with 3 degrees of freedom: above 16.3 with probability 0.001.
    assert float(((counts - 20_000 * expected) ** 2 / (20_000 * expected)).sum()) < 16.3


@pytest.mark.parametrize(("top_p", "drawn"), [(0.5, {2}), (0.7, {2, 0}), (0.95, {2, 0, 1}), (1.0, {2, 0, 1, 3})])
def test_only_the_likeliest_tokens_are_drawn(top_p: float, drawn: set[int]) -> None:
    """As many as add up to top_p: 0.64, 0.24, 0.09 and 0.03 in order."""
    logits = np.array([1.0, 0.0, 2.0, -1.0], np.float32)
    generation = Generation(temperature=1.0, top_p=top_p, reasoning_tokens=1, answer_tokens=1)
    rng = np.random.default_rng(0)

    assert {choose(logits, generation, rng) for _ in range(2_000)} == drawn


def test_at_temperature_zero_the_likeliest_token_is_taken() -> None:
    """No number is drawn."""
    rng = np.random.default_rng(0)
    greedy = Generation(reasoning_tokens=1, answer_tokens=1)

    assert choose(np.array([0.0, 3.0, 3.0], np.float32), greedy, rng) == 1
    assert rng.random() == np.random.default_rng(0).random()


def test_log_softmax_of_equal_scores_is_the_log_of_their_share() -> None:
    """Four equal scores have probability 1/4 each."""
    assert log_softmax(np.zeros((1, 4), np.float32))[0].tolist() == pytest.approx([np.log(0.25)] * 4)
