from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.judge import located as judges
from equipoise.judge.located import (
    KeptJudge,
    LocatedJudge,
    VerdictCache,
    cached_probabilities,
    locate_judge,
)
from equipoise.judge.model import CrossEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

PAIRS = [
    (f"A {who} patient has {what}.", f"The patient's {subject} is mentioned.")
    for who in ("Black", "young", "homeless")
    for what in ("chest pain", "a fever and a dry cough since Monday")
    for subject in ("race", "age")
]


@pytest.fixture
def located(root: Path, tmp_path: Path) -> LocatedJudge:
    """The judge that ships, not opened."""
    return locate_judge("minilm_snli", root, tmp_path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, str]]]:
    """What the judge itself is asked, call by call."""
    calls: list[list[tuple[str, str]]] = []
    plain = CrossEncoder.probabilities

    def noted(self: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        calls.append(list(pairs))
        return plain(self, pairs)

    monkeypatch.setattr(CrossEncoder, "probabilities", noted)
    return calls


def test_kept_results_are_fresh_ones_to_the_last_bit(
    judge: CrossEncoder, located: LocatedJudge, tmp_path: Path
) -> None:
    """Judged, and then found on disk, a pair has the probabilities that the judge gives it directly."""
    direct = judge.probabilities(PAIRS)
    with VerdictCache(tmp_path / "cache") as cache:
        first, second = (KeptJudge(located, cache).probabilities(PAIRS) for _ in range(2))

    np.testing.assert_array_equal(direct, first)
    np.testing.assert_array_equal(direct, second)


def test_only_new_pairs_are_judged(
    located: LocatedJudge, tmp_path: Path, asked: list[list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal pairs are judged once, a kept one never again, and without a new one the judge is not opened."""
    with VerdictCache(tmp_path / "cache") as cache:
        first = KeptJudge(located, cache)
        first.probabilities([*PAIRS[:5], *PAIRS[:2]])
        second = KeptJudge(located, cache)
        second.probabilities(PAIRS)
        monkeypatch.setattr(LocatedJudge, "open", lambda _: pytest.fail("the judge was opened"))
        third = KeptJudge(located, cache)
        third.probabilities(PAIRS[::-1])

    assert (first.computed, second.computed, third.computed) == (5, len(PAIRS) - 5, 0)
    assert sorted(pair for call in asked for pair in call) == sorted(PAIRS)


def test_no_pair_has_no_row(located: LocatedJudge, tmp_path: Path) -> None:
    """Nothing asked gives an array of no rows."""
    with VerdictCache(tmp_path / "cache") as cache:
        assert KeptJudge(located, cache).probabilities([]).shape == (0,)


def test_what_was_judged_before_a_fault_is_kept(
    located: LocatedJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge that breaks off loses only the pairs that were under way."""
    plain = CrossEncoder.probabilities
    calls: list[int] = []

    def breaks_off(self: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        calls.append(len(pairs))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self, pairs)

    monkeypatch.setattr(judges, "KEPT_TOGETHER", 5)
    with VerdictCache(tmp_path / "cache") as cache:
        with monkeypatch.context() as patch:
            patch.setattr(CrossEncoder, "probabilities", breaks_off)
            with pytest.raises(KeyboardInterrupt):
                KeptJudge(located, cache).probabilities(PAIRS)
        again = KeptJudge(located, cache)
        again.probabilities(PAIRS)

    # 12 pairs go 5, 5 and 2 together; the third call broke off.
    assert (calls, again.computed) == ([5, 5, 2], 2)


def test_another_judge_judges_anew(located: LocatedJudge, root: Path, tmp_path: Path) -> None:
    """Other weights, and the same weights that read fewer tokens or run elsewhere, are other judges."""
    others = [
        located,
        locate_judge("minilm_passages", root, tmp_path),
        located._replace(max_tokens=16),
        located._replace(providers=("CUDAExecutionProvider", "CPUExecutionProvider")),
    ]

    assert len({judge.identity for judge in others}) == 4


def test_pairs_computed_otherwise_are_judged_anew(
    located: LocatedJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When our code comes to compute otherwise, no result from before is taken for the new one."""
    with VerdictCache(tmp_path / "cache") as cache:
        KeptJudge(located, cache).probabilities(PAIRS)
        monkeypatch.setattr(judges, "COMPUTED", "otherwise")
        again = KeptJudge(located, cache)
        again.probabilities(PAIRS)

    assert again.computed == len(PAIRS)


def test_altered_weights_are_refused_though_all_is_kept(root: Path, tmp_path: Path) -> None:
    """The judge's files are checked before the cache is asked, so a kept result is never another judge's."""
    (tmp_path / "models/judges").mkdir(parents=True)
    entry = (root / "models/judges/minilm_snli.yaml").read_text(encoding="utf-8")
    (tmp_path / "models/judges/minilm_snli.yaml").write_text(entry, encoding="utf-8")

    with (
        pytest.raises(EquipoiseError, match="judge weights missing: "),
        cached_probabilities("minilm_snli", tmp_path, "inference"),
    ):
        pass
