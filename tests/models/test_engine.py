from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np
import pytest

from equipoise.models import engine
from equipoise.models.engine import Branch, Engine, OnnxEngine

if TYPE_CHECKING:
    from conftest import Exported

BUILDS = (["CUDAExecutionProvider", "CPUExecutionProvider"], ["CPUExecutionProvider"])


@pytest.mark.parametrize("build", BUILDS, ids=["build for GPUs", "build for the CPU"])
@pytest.mark.parametrize("driver", [True, False])
@pytest.mark.parametrize("device", [True, False])
def test_cuda_needs_the_build_the_driver_and_a_device(
    monkeypatch: pytest.MonkeyPatch, build: list[str], *, driver: bool, device: bool
) -> None:
    """Where one of the three is missing, the CPU is the only provider; torch, slow to import, is asked last."""
    asked = []
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: build)
    monkeypatch.setattr(engine, "has_driver", lambda: driver)
    monkeypatch.setattr("torch.cuda.is_available", lambda: asked.append("torch") or device)
    providers = engine.providers()

    assert (providers == BUILDS[0]) is (build == BUILDS[0] and driver and device)
    assert providers[-1] == engine.CPU
    assert bool(asked) is (build == BUILDS[0] and driver)


def test_the_driver_is_looked_for_under_the_name_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux and Windows have libraries of different names; one that cannot be loaded does not count."""
    names: list[str] = []

    def load(name: str) -> None:
        names.append(name)
        if name == "libcuda.so.1":
            raise OSError

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr("sys.platform", "linux")
    on_linux = engine.has_driver()
    monkeypatch.setattr("sys.platform", "win32")

    assert (on_linux, engine.has_driver()) == (False, True)
    assert names == ["libcuda.so.1", "nvcuda.dll"]


def test_branches_in_one_step_have_the_logits_of_steps_of_their_own(tiny_model: Exported) -> None:
    """Within 1e-4, wherever they begin and however long they are; the row holds the text afterwards."""
    opened = OnnxEngine(tiny_model.store / str(tiny_model.manifest.folder), rows=2, capacity=64)
    text = [int(token) for token in np.random.default_rng(0).integers(5, 200, 20)]
    branches = [Branch(20, (7, 8, 9)), Branch(20, (8,)), Branch(20, ()), Branch(19, (30, 31)), Branch(12, (7, 8))]
    opened.prefill(text[:9], row=1)
    last, logits = opened.fork(text[9:], branches, row=1, start=9)
    after = opened.prefill([40, 41], row=1, start=20)
    opened.prefill(text[:9], row=1)
    alone, expected = Engine.fork(opened, text[9:], branches, row=1, start=9)
    opened.prefill(text[:9])
    plain = opened.prefill(text[9:], start=9)[0]

    assert list(logits) == branches
    for branch in branches:
        assert logits[branch].shape == (1 + len(branch.tokens), len(last))
        assert logits[branch] == pytest.approx(expected[branch], abs=1e-4)
    assert last == pytest.approx(plain, abs=1e-4)
    assert alone == pytest.approx(plain, abs=1e-4)
    assert after == pytest.approx(opened.prefill([40, 41], start=20), abs=1e-4)
    assert not np.array_equal(logits[branches[0]][1], logits[branches[4]][1])


def test_branches_that_have_no_room_side_by_side_have_steps_of_their_own(tiny_model: Exported) -> None:
    """A row of 24 tokens holds a text of 20 and either of two branches of 4, with the same logits as a longer row."""
    folder = tiny_model.store / str(tiny_model.manifest.folder)
    text, branches = list(range(5, 25)), [Branch(20, (7, 8, 9, 10)), Branch(20, (11, 12, 13, 14))]
    logits = []
    for capacity in (24, 64):
        opened = OnnxEngine(folder, rows=1, capacity=capacity)
        opened.prefill(text[:9])
        logits.append(opened.fork(text[9:], branches, start=9)[1])

    for branch in branches:
        assert logits[0][branch] == pytest.approx(logits[1][branch], abs=1e-4)
