"""What the tests of the statistics share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep statsmodels from running the garbage collector in every Holm adjustment, most of these tests' time."""
    monkeypatch.setattr("gc.collect", lambda: 0)
