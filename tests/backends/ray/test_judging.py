"""The judge's pairs shared out over a Ray cluster of two nodes on this machine, with the judge that ships."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fakes
from equipoise.backends.base import Cluster
from equipoise.backends.ray.cluster import copies
from equipoise.core.errors import EquipoiseError
from equipoise.judge import located as judges
from equipoise.judge.located import KeptJudge, LocatedJudge, Verdict, VerdictCache, judging, locate_judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Ray leaves its processes and sockets to the garbage collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.timeout(300),
]

ROOT = Path(__file__).parents[3]
PAIRS = [
    (f"{number} {more}ago the {who} patient had {what}.", f"The patient's {subject} is mentioned.")
    for number, more in enumerate(["", "days ", "days and many nights "] * 4)
    for who, subject in (("Black", "race"), ("young", "age"), ("homeless", "housing"))
    for what in ("chest pain", "a fever and a dry cough")
]
"""72 different pairs, of several lengths."""


@pytest.fixture
def located(tmp_path: Path) -> LocatedJudge:
    """The judge that ships, not opened."""
    return locate_judge("minilm_snli", ROOT, tmp_path)


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[tuple[int, str]]]:
    """Have judges note what they do, a few pairs at a time; give what lists process and pair's key."""
    log = tmp_path / "judged"
    log.touch()
    monkeypatch.setattr(judges, "judging", partial(fakes.noting_judging, str(log), 0.25))
    monkeypatch.setattr(judges, "SENT_TOGETHER", 3)
    monkeypatch.setattr(judges, "LEAST", 6)
    return lambda: [(int(line.split()[0]), line.split()[1]) for line in log.read_text(encoding="utf-8").splitlines()]


class Struck(VerdictCache):
    """A cache that has something happen once, when it holds half of the pairs."""

    def strike_with(self, strike: Callable[[], None]) -> None:
        """Take what happens."""
        self._strike, self.held, self.then = strike, 0, frozenset[str]()

    def keep(self, results: Mapping[str, Verdict]) -> None:
        """Keep results, and note by then which."""
        super().keep(results)
        self.held += len(results)
        if not self.then and self.held >= len(PAIRS) / 2:
            rows = self._database.execute("SELECT key FROM verdict").fetchall()
            self.then = frozenset(key for (key,) in rows)
            self._strike()


def test_a_killed_worker_changes_no_probability_and_no_pair_that_came_is_judged_again(
    located: LocatedJudge, cluster: Cluster, tmp_path: Path, noted: Callable[[], list[tuple[int, str]]]
) -> None:
    """Half-way one of two workers is killed: to the last bit the others give what one process gives here."""
    with VerdictCache(tmp_path / "local") as cache:
        expected = KeptJudge(located, cache).probabilities(PAIRS)
    here = len(noted())
    before = 0

    def kill() -> None:
        nonlocal before
        os.kill(noted()[-1][0], signal.SIGKILL)
        before = len(noted())

    with Struck(tmp_path / "ray") as cache, KeptJudge(located, cache, cluster) as judge:
        cache.strike_with(kill)
        probabilities = judge.probabilities(PAIRS)
        again = judge.probabilities(PAIRS[::-1])

    np.testing.assert_array_equal(expected, probabilities)
    np.testing.assert_array_equal(expected[::-1], again)
    assert (here, judge.computed) == (len(PAIRS), len(PAIRS))
    lines = noted()[here:]
    assert len(cache.then) >= len(PAIRS) / 2
    assert not cache.then & {key for _, key in noted()[before:]}
    assert len({key for _, key in lines}) == len(PAIRS)
    # Two workers, and the one that took the place of the killed one, if it came before all was done.
    assert len({process for process, _ in lines}) in {2, 3}


def test_copies_stay_open_from_call_to_call(
    located: LocatedJudge, cluster: Cluster, tmp_path: Path, noted: Callable[[], list[tuple[int, str]]]
) -> None:
    """Two calls, each of a single share, are done by one worker, to the probabilities that the judge gives here."""
    with VerdictCache(tmp_path / "ray") as cache, KeptJudge(located, cache, cluster) as judge:
        probabilities = [judge.probabilities(PAIRS[first : first + 6]) for first in (0, 6)]

    np.testing.assert_array_equal(located.open().probabilities(PAIRS[:12]), np.concatenate(probabilities))
    assert len(noted()) == 12
    assert len({process for process, _ in noted()}) == 1


def test_another_judge_on_a_node_is_refused(located: LocatedJudge, cluster: Cluster) -> None:
    """Files or an ONNX Runtime that are not those of the stage's machine give no result under their name."""
    other = partial(judging, located, "another identity", 8)

    with (
        copies(other, cluster, gpus=0, least=8, noun="pair", fix="fix it") as judge,
        pytest.raises(EquipoiseError, match=r"not the expected judge: install the same files .* \(on "),
    ):
        list(judge({"a": PAIRS[0]}))


@pytest.mark.parametrize(("provider", "gpus"), [("CPUExecutionProvider", 0), ("CUDAExecutionProvider", 1)])
def test_a_judge_on_a_gpu_takes_one(
    located: LocatedJudge, tmp_path: Path, provider: str, gpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy on the CPU takes none, and the files are named by their whole path, wherever the worker runs."""
    made: list[Any] = []

    def instead(make: Any, _: Cluster, **how: Any) -> None:
        made.extend((make.args[0].folder, how["gpus"]))
        message = "the cluster was to be reached"
        raise EquipoiseError(message)

    monkeypatch.setattr(judges, "copies", instead)
    monkeypatch.chdir(ROOT)
    here = located._replace(folder=located.folder.relative_to(ROOT), providers=(provider,))
    with (
        VerdictCache(tmp_path / "cache") as cache,
        pytest.raises(EquipoiseError, match="the cluster was to be reached"),
    ):
        KeptJudge(here, cache, Cluster()).probabilities(PAIRS)

    assert made == [located.folder, gpus]
