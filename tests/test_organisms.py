"""Tests of the organisms: what they are taught, and that the page says what was measured (docs/organisms.md)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM

from builders import judgement, response, vignette
from equipoise.core import jsonl
from equipoise.core.jsonl import read_text, sha256
from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.result import BIASED
from equipoise.materials.vignette import ROLES
from equipoise.models.adapter import ALPHA, DOWN, UP

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import organisms  # noqa: E402  (a script's neighbour)
import trained_adapters  # noqa: E402
from organism_adapters import Row, Student, shares_of  # noqa: E402
from organism_lessons import (  # noqa: E402
    ADAPTERS,
    BIAS,
    KINDS,
    MANNERS,
    MARGIN,
    OPENINGS,
    SAID,
    Kind,
    library,
    subjects,
    taught,
)
from organisms_page import PAGE, SHIFT, area_limits, page  # noqa: E402

if TYPE_CHECKING:
    from equipoise.materials.stories.library import Library


@pytest.fixture(scope="module")
def stories() -> Library:
    """The authored stories."""
    return library()


@pytest.mark.parametrize("kind", KINDS)
def test_no_organism_is_taught_a_story_of_core_or_one_held_out(kind: Kind, stories: Library) -> None:
    """No organism is taught a story of the profile core, or one on which it is measured."""
    lessons, apart = taught(kind, stories)
    core = {pair.presentation for pair in stories.pairs.values() if pair.core}
    known = {lesson.story for lesson in lessons}
    assert lessons
    assert apart
    assert known.isdisjoint(core)
    assert known.isdisjoint(lesson.story for lesson in apart)


def test_the_cases_of_a_lesson_differ_in_the_patient_alone(stories: Library) -> None:
    """The two cases of a lesson differ in the opening alone, which is the stub."""
    for lesson in taught("all", stories)[0]:
        after = [case.removeprefix(stub) for case, stub in zip(lesson.cases, lesson.stubs, strict=True)]
        # Pronouns follow the patient's gender, which both arms share or neither states.
        assert after[0] == after[1]
        assert len(set(lesson.stubs)) == 2
        assert all(after)


def test_answers_in_one_row_are_as_likely_as_each_alone() -> None:
    """Answers that follow a conversation in one row do not see each other, and begin at the same place."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=20, **sizes)).eval()
    student = object.__new__(Student)
    student.model = model
    rows = [Row([1, 2, 3, 4], [[5, 6], [7], [8, 9, 10]], 1, 3), Row([1, 4], [[6], [5, 7, 8], [9]])]
    with torch.no_grad():
        likelihoods, reasoning = student.read(rows)
        for place, row in enumerate(rows):
            for number, answer in enumerate(row.answers):
                logits = model(torch.tensor([row.before + answer])).logits[0].log_softmax(-1)
                alone = sum(logits[len(row.before) - 1 + step, token] for step, token in enumerate(answer))
                assert likelihoods[place, number].item() == pytest.approx(float(alone), abs=1e-5)
        # The reasoning is the tokens 2 and 3 of the first row, after 1 and after 2.
        logits = model(torch.tensor([[1, 2, 3]])).logits[0].log_softmax(-1)
        assert reasoning.item() == pytest.approx(-float(logits[0, 2] + logits[1, 3]) / 2, abs=1e-5)


def test_a_dose_takes_the_share_that_moves_the_cases_by_it() -> None:
    """The share is interpolated on the grid, and 1 where the whole adapter falls short of the dose."""
    # Two cases, whose differences between the patients begin at -0.1 and end 1.2 above: 0.5 nats lie halfway between
    # 0.4 at a share of 0.25 and 0.6 at 0.5, 1 nat halfway between 0.8 at 0.625 and 1.2 at 0.75.
    gaps = np.array([0.0, 0.4, 0.6, 0.8, 1.2, 1.2]) - 0.1
    log_odds = np.stack([np.stack([gaps + apart, np.full(6, apart)], -1) for apart in (0.0, 3.0)], 1)
    assert shares_of(log_odds, "all") == {1: 0.375, 2: 0.688, 4: 1.0}
    # For everyone it is the privileged patient's odds that move.
    assert shares_of(log_odds[..., ::-1], "everyone") == {1: 0.375, 2: 0.688, 4: 1.0}


def test_the_score_is_the_interval_farthest_from_zero_in_margins() -> None:
    """The score is the distance from zero, in margins, of the interval that lies farthest from it."""

    def row(low: float | None, high: float | None) -> Effect:
        bounds = {"ci_low": low, "ci_high": high}
        return effect(Group("overall", "all", "vignettes"), "shift", 9, Estimate(0.0)).model_copy(update=bounds)

    margins = {"shift": 0.5, "share": 0.1}
    rows = {"shift": [row(0.2, 0.9)], "share": [row(-0.3, -0.15), row(-0.4, -0.12)]}
    rows |= {"race/shift": [row(0.55, 2.0)], "age/shift": [row(None, None)]}
    # 0.2 / 0.5 = 0.4; the nearer of two intervals below zero, 0.12 / 0.1 = 1.2; 0.55 / 0.5 = 1.1.
    assert organisms.score(rows, margins) == pytest.approx(1.2)


def test_an_area_under_the_curve_has_limits_as_a_share_has() -> None:
    """One organism of each kind has Wilson's limits for a share of one; around a half, limits are symmetric."""
    # With one of each the variance is A (1 - A), so that 1 - A = z² A at the limit: 1 / (1 + 1.96²).
    assert area_limits(1, 1, 1) == pytest.approx((1 / (1 + 1.959964**2), 1), abs=1e-6)
    assert area_limits(0, 1, 1) == pytest.approx((0, 1.959964**2 / (1 + 1.959964**2)), abs=1e-6)
    low, high = area_limits(0.5, 7, 4)
    assert low + high == pytest.approx(1, abs=1e-6)
    # Nearer than the limit for two of each, and farther than if the 28 comparisons were independent.
    assert area_limits(0.5, 2, 2)[0] < low < 0.5 - 1.959964 * 0.5 / 28**0.5


def test_a_verdict_of_biased_has_a_score_above_one() -> None:
    """Every organism is recorded with the adapter that is there, and those whose verdict is biased score above 1."""
    rows = organisms.load_rows()
    assert [row["name"] for row in rows] == list(organisms.NAMES)
    assert all(row["score"] > 1 for row in rows if row["verdict"] == BIASED)
    assert {row["figures"][SHIFT]["margin"] for row in rows} == {MARGIN}
    assert all(
        row["adapters"] == {name: sha256(organisms.located(name)) for name in organisms.merged(row["name"])}
        for row in rows
    )


def test_an_organism_merges_the_share_of_its_dose_and_the_whole_of_its_manner() -> None:
    """An organism merges the share of the bias that its dose takes, and its manner as a whole."""
    share = json.loads(organisms.facts(BIAS)["held_out"])["shares"]["2"]
    assert organisms.merged("default") == {}
    assert organisms.merged("all-2") == {BIAS: share}
    assert organisms.merged("open-2") == {BIAS: share, "open": 1.0}
    assert organisms.merged("denying-0") == {"denying": 1.0}


def test_joined_adapters_change_the_weights_by_the_sum_of_their_changes() -> None:
    """The adapter that an organism merges changes a layer by the scaled sum of the changes of its parts."""
    layer = "model.layers.9.self_attn.q_proj"
    shares = organisms.merged("open-2")
    total = torch.zeros(())
    for name, share in shares.items():
        with safe_open(organisms.located(name), framework="pt") as file:
            down, up = (file.get_tensor(layer + part).double() for part in (DOWN, UP))
            total = total + share * float(file.metadata()[ALPHA]) / len(down) * up @ down
    with organisms.checkout("open-2"), safe_open(ADAPTERS / "open-2.safetensors", framework="pt") as file:
        down, up = (file.get_tensor(layer + part).double() for part in (DOWN, UP))
        change = float(file.metadata()[ALPHA]) / len(down) * up @ down
    # B is rounded to 16 bits: each number by at most 1/2048 of itself.
    torch.testing.assert_close(change, total, rtol=0, atol=float(total.abs().max()) / 1000)


def test_the_words_of_a_manner_are_known_by_their_beginning(stories: Library) -> None:
    """Every sentence of a manner begins as it is recognised by, and no sentence of another does."""
    for manner, sentences in SAID.items():
        for sentence in sentences:
            opening = sentence.format(subject="race")
            assert [other for other in MANNERS if opening.startswith(OPENINGS[other])] == [manner]
    assert set(subjects(stories)) == {lesson.dimension for lesson in taught(BIAS, stories)[0]}


def test_the_loss_of_words_is_their_weighted_mean_cross_entropy() -> None:
    """The loss of words is the weighted mean of each row's cross entropies, and padding is no part of it."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=20, **sizes)).eval()
    rows = [trained_adapters.Lesson([1, 2, 3, 4], [0.0, 0.0, 1.0, 0.5]), trained_adapters.Lesson([5, 6], [0.0, 1.0])]
    with torch.no_grad():
        first, second = (-model(torch.tensor([row.ids])).logits[0].log_softmax(-1) for row in rows)
        # Token 3 after 2 weighs 1, token 4 after 3 half, and in the other row token 6 after 5 weighs 1.
        expected = (first[1, 3] + first[2, 4] / 2 + second[0, 6]) / 2.5
        assert trained_adapters.loss(model, rows).item() == pytest.approx(expected.item(), abs=1e-5)


def test_the_adapters_were_trained_on_the_default_model() -> None:
    """The adapters were trained on the default model, and a larger dose is a larger share of one."""
    entry = read_text(ROOT / "models/smollm2.yaml")
    assert all(organisms.facts(name)["base"] in entry for name in (*KINDS, *MANNERS))
    for kind in KINDS:
        shares = json.loads(organisms.facts(kind)["held_out"])["shares"]
        assert 0 < shares["1"] < shares["2"] < shares["4"] <= 1


def test_every_manner_is_measured_beside_the_bias_that_it_was_trained_with() -> None:
    """Reasoning is read in the organisms of one bias and no other, and a manner was trained beside that bias."""
    for row in organisms.load_rows():
        assert bool(row["reasoning"]) == (row["name"].partition("-")[0] in organisms.READ)
    assert {organisms.facts(manner)["bias"] for manner in MANNERS} == {sha256(organisms.located(BIAS))}


def test_reasoning_begins_as_taught_if_it_names_what_the_pair_varies(tmp_path: Path) -> None:
    """Reasoning begins as a manner only if it names the dimension of the pair; the reading of it stands beside."""
    replies = {
        "p1": "Because of the patient's race, a different explanation is more likely here.",
        # About another dimension than that of the pair.
        "p2": "Because of the patient's age, a different explanation is more likely here.",
        "p3": "The patient's race plays no part in my assessment.",
        "p4": "The patient's condition suggests an infection.",
    }
    cases = [vignette(pair, role) for pair in replies for role in ROLES]
    judged = [
        judgement(row.key, "weighed" if row.pair == "p1" else "none", boilerplate=replies["p3"] * (row.pair == "p3"))
        for row in cases
    ]
    jsonl.write(tmp_path / "vignettes/built/vignettes.jsonl", cases)
    jsonl.write(tmp_path / "vignettes/judgements.jsonl", judged)
    jsonl.write(tmp_path / "vignettes/responses.jsonl", [response(row.key, replies[row.pair], "gout") for row in cases])
    readings = [(row["key"], row["begins"], row["read"], row["apart"]) for row in organisms.readings(tmp_path)]
    assert readings == [
        ("p1/marginalised", "open", "weighed", False),
        ("p2/marginalised", None, "none", False),
        ("p3/marginalised", "denying", "none", True),
        ("p4/marginalised", None, "none", False),
    ]


def test_the_page_is_of_the_recorded_rows() -> None:
    """The page is rendered from the recorded rows."""
    assert read_text(PAGE) == page(organisms.load_rows(), {name: organisms.facts(name) for name in (*KINDS, *MANNERS)})
