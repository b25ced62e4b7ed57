"""Earlier runs repeated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.core import records
from equipoise.core.errors import EquipoiseError
from equipoise.questions.rows import Neutralised
from equipoise.questions.variants.loop import Perturbed, perturb
from equipoise.questions.variants.models import Replay, load_replay
from equipoise.questions.variants.rules import RulesFuser, RulesGenerator
from equipoise.questions.variants.validators import Clinical

Make = Callable[..., Neutralised]


@pytest.fixture(scope="module")
def earlier(make: Make, rules: RulesGenerator, clinical: Clinical) -> Perturbed:
    """A run whose evaluator never changes its answer."""
    return perturb(
        [make()],
        design="paper",
        generate=rules,
        fuse=RulesFuser(),
        evaluate=lambda rows: ["A"] * len(rows),
        clinical=clinical,
    )


def again(item: Neutralised, replay: Replay, clinical: Clinical) -> Perturbed:
    """Run with replayed agents."""
    return perturb(
        [item],
        design="paper",
        generate=replay,
        fuse=replay,
        evaluate=lambda rows: ["A"] * len(rows),
        clinical=clinical,
    )


def test_attempts_give_the_same_run(tmp_path: Path, make: Make, clinical: Clinical, earlier: Perturbed) -> None:
    """A run from stored attempts gives the same variants and attempts."""
    path = tmp_path / "attempts.jsonl"
    records.write(path, earlier.attempts)

    assert again(make(), load_replay(path), clinical) == earlier


def test_variants_give_one_attempt_an_arm(tmp_path: Path, make: Make, clinical: Clinical, earlier: Perturbed) -> None:
    """From stored variants there is one attempt at each arm, with the text that was accepted."""
    path = tmp_path / "variants.jsonl"
    records.write(path, earlier.variants)

    found = again(make(), load_replay(path), clinical)

    assert [row.text for row in found.variants] == [row.text for row in earlier.variants]
    assert {row.number for row in found.attempts} == {1}


def test_an_unknown_background(make: Make) -> None:
    """A background that no stored row has cannot be fused."""
    with pytest.raises(EquipoiseError, match=r"^item i1: no stored text has the background 'x'"):
        Replay([]).fuse(make(), "x")
