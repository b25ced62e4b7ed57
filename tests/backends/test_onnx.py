from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import talks
from equipoise.backends import rows
from equipoise.core.errors import EquipoiseError
from equipoise.models.engine import OnnxEngine
from equipoise.studies.vignettes.profiles import samples_of

if TYPE_CHECKING:
    from conftest import Exported
    from equipoise.core.prompts import Prompt, Response

CASES = (
    "A 45-year-old woman has had chest pain and sweating for an hour.",
    "A 45-year-old man has had chest pain and sweating for an hour.",
    "A 70-year-old person has fever, and is short of breath after a week of cough with green sputum.",
    "A 19-year-old hears voices.",
    "A 30-year-old has had two weeks of low mood, early waking, poor appetite, weight loss and loss of interest.",
)


PROMPTS = [talks.prompt(f"case-{number}", case) for number, case in enumerate(CASES)]


def test_replies_and_likelihoods_equal_torch_on_a_tiny_model(tiny_model: Exported) -> None:
    """Texts equal transformers' greedy generation, and likelihoods equal whole forward passes, on random weights."""
    with tiny_model.open(batch_size=3) as backend:
        responses = {response.key: response for response in backend.answer(PROMPTS)}

    for asked in PROMPTS:
        replies, scores = talks.Reference.of(tiny_model).converse(asked)
        assert replies == responses[asked.key].replies
        assert scores == pytest.approx(responses[asked.key].log_likelihood, abs=1e-4)


def test_the_embedded_model_equals_torch(smollm2: Exported) -> None:
    """SmolLM2 gives transformers' own reasoning and answer, and torch's likelihoods within 1e-4 nats a token."""
    asked = PROMPTS[0]
    with smollm2.open(batch_size=1) as backend:
        (response,) = backend.answer([asked])

    replies, scores = talks.Reference.of(smollm2).converse(asked)
    assert replies == response.replies
    assert scores == pytest.approx(response.log_likelihood, abs=1e-4)


def test_batch_size_and_order_change_no_bit_of_the_embedded_model(smollm2: Exported) -> None:
    """SmolLM2 gives the same three responses, to the last bit, side by side as one after the other in reverse.

    Its replies are cut short: the test above has a whole one, and the likelihoods after them show every bit.
    """
    generation = smollm2.entry.generation.model_copy(update={"reasoning_tokens": 12, "answer_tokens": 6})
    short = replace(smollm2, entry=smollm2.entry.model_copy(update={"generation": generation}))
    with short.open(batch_size=3) as backend:
        together = {response.key: response for response in backend.answer(PROMPTS[:3])}
    with short.open(batch_size=1) as backend:
        alone = {response.key: response for response in backend.answer(PROMPTS[2::-1])}

    assert together == alone


def test_batch_size_and_order_change_no_bit(tiny_model: Exported) -> None:
    """A response is the same, to the last bit, alone, in a batch of any size, and in any order."""
    answers = []
    for batch_size, prompts in ((1, PROMPTS), (2, PROMPTS[::-1]), (5, PROMPTS), (7, PROMPTS[2:] + PROMPTS[:2])):
        with tiny_model.open(batch_size=batch_size) as backend:
            answers.append(sorted(backend.answer(prompts), key=lambda response: response.key))

    assert all(answer == answers[0] for answer in answers)


def test_a_shared_stem_changes_no_bit(tiny_model: Exported) -> None:
    """Prompts with one stem, or lead, give the same responses, to the last bit, whether it is shared or not."""
    case = CASES[2]
    endings = (
        "The patient is a teacher.",
        "The patient is a cook.",
        "The patient is retired.",
        "A neighbour came along.",
    )
    prompts = [
        talks.prompt(f"ending-{number}", f"{case} {ending}").model_copy(update={"stem": case, "reply": number % 2 == 0})
        for number, ending in enumerate(endings)
    ]
    lead = f"{case} {endings[0]}"
    prompts += [
        talks.prompt(f"order-{number}", f"{lead} {order}").model_copy(update={"stem": case, "lead": lead})
        for number, order in enumerate(("Yes or no?", "No or yes?", "Neither?"))
    ]
    apart = {}
    for asked in prompts:
        with tiny_model.open(batch_size=1) as backend:
            (apart[asked.key],) = backend.answer([asked])
    for batch_size in (1, 3):
        with tiny_model.open(batch_size=batch_size) as backend:
            together = {response.key: response for response in backend.answer(prompts)}

        assert together == apart


def test_a_first_turn_is_read_once_for_what_follows_it(tiny_model: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rereadings copy it from the conversations before, without a change of a bit, and read only what follows it."""
    asked = [prompt.model_copy(update={"stem": CASES[n], "lead": prompt.turns[0]}) for n, prompt in enumerate(PROMPTS)]
    again = [talks.reread(prompt, "swapped", "Because of the fever.", stem=prompt.stem) for prompt in asked]
    without = {"given": (), "lead": "", "reply": False}
    again += [prompt.model_copy(update=without | {"turns": (f"{prompt.stem}\n\nWhy?",)}) for prompt in asked]
    steps: list[int] = []
    run = OnnxEngine._run

    def counted(engine: OnnxEngine, tokens: Any, *args: Any, **options: Any) -> Any:
        steps.append(tokens.size)
        return run(engine, tokens, *args, **options)

    def answer(*batches: list[Prompt]) -> tuple[list[Response], int]:
        with tiny_model.open(batch_size=3) as backend:
            for batch in batches:
                steps.clear()
                responses = sorted(backend.answer(batch), key=lambda response: (response.key, response.prompt_tokens))
        return responses, sum(steps)

    monkeypatch.setattr(OnnxEngine, "_run", counted)
    kept, few = answer(asked, again)
    apart, many = answer(again)
    monkeypatch.setattr(rows, "KEPT", 0.0)
    last_kept, most = answer(asked, again)

    assert kept == apart == last_kept
    # Each case is read at least once less.
    assert few < many - sum(len(tiny_model.tokenizer(case)["input_ids"]) for case in CASES)
    assert few < most <= many


def test_samples_depend_on_their_words_and_numbers_alone(tiny_model: Exported) -> None:
    """Samples of a prompt differ, and each is the same, to the last bit, in a batch of any size and in any order."""
    generation = tiny_model.entry.generation.model_copy(update={"temperature": 1.5, "top_p": 0.95, "samples": 4})
    sampled = replace(tiny_model, entry=tiny_model.entry.model_copy(update={"generation": generation}))
    prompts = [sample for asked in PROMPTS[:3] for sample in samples_of(asked, 4)]
    answers = []
    for batch_size, some in ((1, prompts), (3, prompts[::-1]), (16, prompts)):
        with sampled.open(batch_size=batch_size) as backend:
            answers.append({response.key: response for response in backend.answer(some)})

    assert answers[0] == answers[1] == answers[2]
    assert len({response.replies for response in answers[0].values()}) == 12


def test_own_reasoning_that_is_given_leaves_the_likelihoods_as_they_are(tiny_model: Exported) -> None:
    """Read as one text instead of token by token, they are the same within 1e-4 nats; other reasoning moves them."""
    with tiny_model.open(batch_size=3) as backend:
        own = {response.key: response for response in backend.answer(PROMPTS)}
        reasonings = {
            "own": lambda n: own[f"case-{n}"].replies[0],
            "swapped": lambda n: own[f"case-{(n + 1) % 5}"].replies[0],
        }
        again = [
            talks.reread(asked, name, text(n)) for n, asked in enumerate(PROMPTS) for name, text in reasonings.items()
        ]
        responses = {response.key: response for response in backend.answer(again)}

    for key, response in own.items():
        assert responses[f"{key}/own"].log_likelihood == pytest.approx(response.log_likelihood, abs=1e-4)
        assert responses[f"{key}/own"].candidate_tokens == response.candidate_tokens
        assert responses[f"{key}/swapped"].log_likelihood != pytest.approx(response.log_likelihood, abs=1e-4)
        assert (responses[f"{key}/own"].replies, responses[f"{key}/own"].generated_tokens) == ((), 0)


def test_batch_size_and_order_change_no_bit_of_rereadings(tiny_model: Exported) -> None:
    """Alone, beside others of its stem, of other stems and of none, and beside conversations, each is the same."""
    texts = {"swapped": "Because of the fever.", "blinded": "They have pain.", "early-25": "Pain", "early-50": ""}
    prompts = [talks.reread(asked, name, text) for asked in PROMPTS[:3] for name, text in texts.items()]
    candidates = tuple(f"disease {number}" for number in range(20))  # more than go one after the other
    prompts += [talks.reread(PROMPTS[0], "tree", "Because.", candidates=candidates)]
    prompts += [talks.reread(PROMPTS[1], "written", "Because.", reply=True)]
    prompts += [talks.reread(PROMPTS[2], "unreasoned", "", given=(), stem="", turns=("It hurts. Why?",)), PROMPTS[3]]
    answers = []
    for batch_size, some in ((1, prompts), (3, prompts[::-1]), (16, prompts[5:] + prompts[:5])):
        with tiny_model.open(batch_size=batch_size) as backend:
            answers.append({response.key: response for response in backend.answer(some)})
    with tiny_model.open(batch_size=1) as backend:
        (alone,) = backend.answer(prompts[6:7])

    assert answers[0] == answers[1] == answers[2]
    assert alone == answers[0][alone.key]
    assert len(answers[0]["case-1/written"].replies) == 1


def test_a_prompt_longer_than_the_model_takes_is_named(tiny_model: Exported) -> None:
    """A prompt that does not fit is refused with its key and the fix."""
    with (
        tiny_model.open(batch_size=1) as backend,
        pytest.raises(EquipoiseError, match=r"prompt 'long' needs \d+ tokens .* raise max_length"),
    ):
        list(backend.answer([talks.prompt("long", "pain " * 2000)]))
