from __future__ import annotations

import math
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from equipoise.backends.ask import answer_all
from equipoise.backends.base import answering
from equipoise.core import jsonl
from equipoise.core.cache import ResponseCache
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt, Response
from equipoise.studies.stigma.causal import causal_fills, sentence_prompts
from equipoise.studies.stigma.library import Condition, Library, Subjects, Template, load_library
from equipoise.studies.stigma.rows import Filling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conftest import Exported
    from equipoise.backends.base import Backend

SHIPPED = load_library(Path(__file__).parents[3] / "data" / "sentences")
SETTINGS = Filling()


def library(templates: int | None = None, conditions: int | None = None) -> Library:
    """Thin the shipped library: every so many templates and conditions."""
    return SHIPPED.model_copy(
        update={"templates": SHIPPED.templates[::templates], "conditions": SHIPPED.conditions[::conditions]}
    )


def small() -> Library:
    """Build a library of one sentence, one condition and four subjects."""
    template = Template(key="has", question="rq1", group="diagnosis", polarity=1, text="{mask} has {condition}")
    subjects = Subjects(female=("She",), male=("He",), unspecified=("A child", "Someone"))
    return SHIPPED.model_copy(
        update={
            "templates": (template,),
            "conditions": (Condition(name="flu", condition_set="control"),),
            "subjects": {"rq1": subjects},
        }
    )


def response(key: str, totals: dict[str, float], tokens: dict[str, int] | None = None) -> Response:
    """Build a response from total log probabilities; a candidate has two tokens unless told otherwise."""
    counts = tokens or dict.fromkeys(totals, 2)
    means = {name: total / counts[name] for name, total in totals.items()}
    return builders.response(key, study="stigma", log_likelihood=means, candidate_tokens=counts)


def test_a_prompt_holds_every_sentence_of_its_template() -> None:
    """Prefix and candidates make up the sentences: 44 prompts of 18 subjects and 22 conditions, in a chat."""
    prompts = sentence_prompts(SHIPPED, SETTINGS)

    assert [prompt.key for prompt in prompts] == [f"{t.question}/{t.key}" for t in SHIPPED.templates]
    assert len(prompts) == 44
    for prompt, template in zip(prompts, SHIPPED.templates, strict=True):
        subjects = SHIPPED.subjects[template.question]
        written = {f"{prompt.prefix} {candidate}".strip() for candidate in prompt.candidates}
        assert (prompt.study, prompt.system, prompt.turns) == ("stigma", "", ("Write one sentence.",))
        assert (prompt.reply, len(prompt.candidates)) == (False, 18 * 22)
        assert written == {
            template.about(condition.name, subject)
            for condition in SHIPPED.conditions
            for subject in (*subjects.female, *subjects.male, *subjects.unspecified)
        }


def test_a_condition_before_the_subject_varies_too() -> None:
    """The prefix ends before the first place of either kind, so that all of what varies is scored."""
    template = small().templates[0].model_copy(update={"text": "With {condition}, a {mask} is ill"})
    (prompt,) = sentence_prompts(small().model_copy(update={"templates": (template,)}), SETTINGS)

    assert (prompt.prefix, prompt.candidates[0]) == ("With", "flu, a She is ill")


def test_a_template_that_varies_in_the_middle_of_a_word_is_refused() -> None:
    """What directly precedes the first place cannot be told apart from it by tokens."""
    template = small().templates[0].model_copy(update={"text": "My ex-{mask} has {condition}"})

    with pytest.raises(EquipoiseError, match="template 'rq1/has' varies in the middle of a word, after 'My ex-'"):
        sentence_prompts(small().model_copy(update={"templates": (template,)}), SETTINGS)


TOTALS = {"She has flu": math.log(0.04), "He has flu": math.log(0.03), "A child has flu": math.log(0.02)}


def test_a_fill_is_the_share_of_its_sentences() -> None:
    """Sentences with probabilities 0.04, 0.03, 0.02 and 0.01 give 0.4, 0.3 and 0.2 + 0.1, the likeliest word first."""
    answered = response("rq1/has", {**TOTALS, "Someone has flu": math.log(0.01)})
    (fill,) = causal_fills(small(), [answered], SETTINGS)

    assert (fill.female, fill.male, fill.unspecified) == pytest.approx((0.4, 0.3, 0.3))
    assert fill.words == pytest.approx({"She": 0.4, "He": 0.3, "A child": 0.2, "Someone": 0.1})
    assert list(fill.words) == ["She", "He", "A child", "Someone"]


def test_a_fill_carries_its_template_and_condition() -> None:
    """A row's key and its fields tell what it is about."""
    answered = response("rq1/has", {**TOTALS, "Someone has flu": math.log(0.01)})
    (fill,) = causal_fills(small(), [answered], SETTINGS)

    assert (fill.key, fill.study, fill.scorer) == ("rq1/has/flu", "stigma", "causal")
    assert (fill.question, fill.template, fill.group, fill.polarity) == ("rq1", "has", "diagnosis", 1)
    assert (fill.condition, fill.condition_set) == ("flu", "control")


def test_length_decides_between_the_sentence_and_its_mean_token() -> None:
    """Under `total` a sentence of twice the tokens at the same mean loses; under `per_token` it does not."""
    mean = math.log(0.5)
    counts = {"She has flu": 1, "He has flu": 1, "A child has flu": 2, "Someone has flu": 1}
    answered = response("rq1/has", {name: mean * count for name, count in counts.items()}, counts)
    (total,) = causal_fills(small(), [answered], SETTINGS)
    (per_token,) = causal_fills(small(), [answered], Filling(length="per_token"))

    # Sentences 0.5, 0.5, 0.25 and 0.5: shares 2/7, 2/7, 1/7 and 2/7. Mean tokens: 0.5 each.
    assert (total.female, total.unspecified) == pytest.approx((2 / 7, 3 / 7))
    assert (per_token.female, per_token.unspecified) == pytest.approx((1 / 4, 2 / 4))


@pytest.mark.parametrize("answered", [[], [response("rq1/has", {})], [response("rq1/has", TOTALS)]])
def test_missing_likelihoods_are_told_in_one_line(answered: list[Response]) -> None:
    """A model without likelihoods, or one sentence without its own, is refused with the fix."""
    with pytest.raises(EquipoiseError, match=r"'rq1/has' has no likelihood of '.* has flu', .* or fill\.scorer masked"):
        list(causal_fills(small(), answered, SETTINGS))


def test_a_response_is_read_when_it_comes() -> None:
    """The first sentences are read before the second response is taken; those of other prompts are left alone."""
    taken = []

    def answered() -> Iterator[Response]:
        for key in ("rq2/other", "rq1/has", "rq3/other"):
            taken.append(key)
            yield response(key, TOTALS | {"Someone has flu": -1.0} if key == "rq1/has" else {})

    next(causal_fills(small(), answered(), SETTINGS))

    assert taken == ["rq2/other", "rq1/has"]


NAMES = ("She", "He", "A child", "Someone")


@given(totals=st.lists(st.floats(-500, 0), min_size=4, max_size=4))
def test_shares_add_up_and_genders_are_treated_alike(totals: list[float]) -> None:
    """Female, male and unspecified add up to 1, and exchanging the lists exchanges the figures, to the last bit."""
    answered = [response("rq1/has", {f"{name} has flu": total for name, total in zip(NAMES, totals, strict=True)})]
    subjects = small().subjects["rq1"]
    exchanged = subjects.model_copy(update={"female": subjects.male, "male": subjects.female})
    (fill,) = causal_fills(small(), answered, SETTINGS)
    (mirrored,) = causal_fills(small().model_copy(update={"subjects": {"rq1": exchanged}}), answered, SETTINGS)

    assert fill.female + fill.male + fill.unspecified == pytest.approx(1)
    assert (mirrored.male, mirrored.female) == (fill.female, fill.male)
    assert (mirrored.unspecified, mirrored.words) == (fill.unspecified, fill.words)


def whole_sentences(model: Exported, template: Template, condition: str, subjects: Subjects) -> dict[str, float]:
    """Give each subject's share by torch: the probability of the whole chat, prompt included, in one forward pass."""
    import torch

    tokenizer: Any = model.tokenizer
    chat = [{"role": "user", "content": SETTINGS.instruction}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    names = (*subjects.female, *subjects.male, *subjects.unspecified)
    rows = [tokenizer(text + template.about(condition, name), add_special_tokens=False)["input_ids"] for name in names]
    # Padding on the right: no token sees what comes after it.
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
    for padded, row in zip(ids, rows, strict=True):
        padded[: len(row)] = torch.tensor(row)
    with torch.inference_mode():
        logits = model.torch(ids).logits[:, :-1]
        chosen = (logits.gather(-1, ids[:, 1:, None])[..., 0] - logits.logsumexp(-1)).double()
    totals = torch.stack([of_row[: len(row) - 1].sum() for of_row, row in zip(chosen, rows, strict=True)])
    return dict(zip(names, totals.softmax(0).tolist(), strict=True))


def assert_equals_torch(model: Exported, asked: Library, batch_size: int) -> None:
    """Compare every fill with torch's."""
    with model.open(batch_size=batch_size) as backend:
        fills = [*causal_fills(asked, backend.answer(sentence_prompts(asked, SETTINGS)), SETTINGS)]
    templates = {(template.question, template.key): template for template in asked.templates}
    assert len(fills) == len(asked.templates) * len(asked.conditions)
    for fill in fills:
        subjects = asked.subjects[fill.question]
        expected = whole_sentences(model, templates[fill.question, fill.template], fill.condition, subjects)
        assert fill.words == pytest.approx(expected, abs=1e-4)
        assert fill.female == pytest.approx(sum(expected[name] for name in subjects.female), abs=1e-4)
        assert fill.male == pytest.approx(sum(expected[name] for name in subjects.male), abs=1e-4)


def test_fills_equal_torch_on_a_tiny_model(tiny_model: Exported) -> None:
    """Shares equal those of whole chats under torch within 1e-4, on random weights."""
    assert_equals_torch(tiny_model, library(templates=6, conditions=5), batch_size=5)


def test_fills_of_the_embedded_model_equal_torch(smollm2: Exported) -> None:
    """SmolLM2's shares equal those of whole chats under torch within 1e-4: what all sentences share cancels."""
    assert_equals_torch(smollm2, library(templates=22, conditions=11), batch_size=32)


class Breaking:
    """A backend that notes what it answers, and is interrupted after some answers."""

    def __init__(self, backend: Backend, after: int | None) -> None:
        """Hold the real backend."""
        self._backend, self._after = backend, after
        self.answered: list[str] = []

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, or break on the way."""
        for number, answer in enumerate(self._backend.answer(prompts)):
            if number == self._after:
                raise KeyboardInterrupt
            self.answered.append(answer.key)
            yield answer


def test_an_interrupted_run_goes_on_where_it_was(tiny_model: Exported, tmp_path: Path) -> None:
    """Interrupted after two templates, the next run asks the others alone, and the fills have the same bytes."""
    asked = library(templates=10, conditions=8)
    written = []

    def run(path: Path, after: int | None, batch_size: int) -> list[str]:
        with tiny_model.open(batch_size=batch_size) as backend, ResponseCache(path) as cache:
            breaking = Breaking(backend, after)

            @contextmanager
            def opened() -> Iterator[Any]:
                yield breaking

            try:
                responses = answer_all(
                    sentence_prompts(asked, SETTINGS),
                    manifest=tiny_model.manifest,
                    generation=tiny_model.entry.generation,
                    cache=cache,
                    make=partial(answering, opened),
                    progress=lambda *_: None,
                )
            except KeyboardInterrupt:
                return breaking.answered
            fills = tmp_path / f"fills-{len(written)}.jsonl"
            jsonl.write(fills, causal_fills(asked, responses, SETTINGS))
        written.append(fills.read_bytes())
        return breaking.answered

    first = run(tmp_path / "broken", after=2, batch_size=3)
    rest = run(tmp_path / "broken", after=None, batch_size=1)
    whole = run(tmp_path / "whole", after=None, batch_size=16)

    assert (len(first), sorted(first + rest)) == (2, sorted(whole))
    assert written[0] == written[1]
