from __future__ import annotations

import ctypes

import pytest

from equipoise.models import engine

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
    found = engine.providers()

    assert (found == BUILDS[0]) is (build == BUILDS[0] and driver and device)
    assert found[-1] == engine.CPU
    assert bool(asked) is (build == BUILDS[0] and driver)


def test_the_driver_is_looked_for_under_the_name_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux and Windows have libraries of different names; one that cannot be loaded is none."""
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
