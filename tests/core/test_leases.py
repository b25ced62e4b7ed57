"""Two processes on one cache do not do the same work at once."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from equipoise.core import cache
from equipoise.core.cache import Leases

if TYPE_CHECKING:
    from pathlib import Path


def died(leases: Leases) -> None:
    """Stop renewing, as the end of a process does, and release nothing."""
    leases._released.set()


def test_a_key_is_leased_once(tmp_path: Path) -> None:
    """What one owner holds no other is given, until it is released; its own it is given again."""
    first, second = Leases(tmp_path / "leases"), Leases(tmp_path / "leases")

    assert first.claim(["a", "b"]) == {"a", "b"}
    assert second.claim(["b", "c"]) == {"c"}
    assert first.claim(["a"]) == {"a"}
    first.release()
    assert second.claim(["a", "b"]) == {"a", "b"}
    second.release()


def test_a_lease_is_renewed_while_its_owner_lives_and_expires_when_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It outlasts its term by far; an owner that stopped without releasing it holds nobody up for longer than that."""
    monkeypatch.setattr(cache, "LEASE", 0.4)
    first, second = Leases(tmp_path / "leases"), Leases(tmp_path / "leases")
    first.claim(["a"])
    time.sleep(1.0)
    while_it_lives = second.claim(["a"])
    died(first)
    time.sleep(0.6)

    assert (while_it_lives, second.claim(["a"])) == (set(), {"a"})
    second.release()


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_is_set_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    """A lease of a process that died expires, also where the clock was set back in the meantime."""
    first, second = Leases(tmp_path / "leases"), Leases(tmp_path / "leases")
    first.claim(["a"])
    died(first)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3600 * hours)

    assert second.claim(["a"]) == {"a"}
    second.release()


def test_a_process_that_was_killed_holds_nobody_up(tmp_path: Path) -> None:
    """Its leases are free at once."""
    holding = (
        "from equipoise.core.cache import *; print(Leases(Path('leases')).claim('a'), flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", f"import time; from pathlib import Path; {holding}"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "{'a'}\n"
        other = Leases(tmp_path / "leases")
        while_it_lives = other.claim(["a"])
        child.kill()

    assert (while_it_lives, other.claim(["a"])) == (set(), {"a"})
    other.release()


@pytest.mark.parametrize("content", [b"not a database", b""])
def test_a_damaged_file_leases_everything(tmp_path: Path, content: bytes) -> None:
    """Leases only save work: without them each process does all of its own."""
    (tmp_path / "leases").write_bytes(content)
    leases = Leases(tmp_path / "leases")

    assert leases.claim(["a"]) == {"a"}
    leases.release()
    assert Leases(tmp_path / "absent" / "leases").claim(["a"]) == {"a"}
