"""Tests of how errors of other packages are reported."""

from __future__ import annotations

import errno
from urllib.error import URLError

import pytest

from equipoise.core.errors import one_line


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Not known.\n\nYou can update it with `pip install --upgrade transformers`. If not, wait.", "Not known."),
        ("Not known. Run pip install -U vllm", "Not known."),
        ("Not known. Install `pip install git+https://somewhere`", "Not known."),
        # What is missing may be installed.
        ("It needs accelerate: `pip install accelerate`", "It needs accelerate: `pip install accelerate`"),
    ],
)
def test_advice_to_install_another_version_is_left_out(message: str, told: str) -> None:
    """The versions of a run are pinned and tested together; what others advise would undo that."""
    assert one_line(ValueError(message)) == f"ValueError: {told}"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (URLError(ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")), "Connection refused"),
        (PermissionError(errno.EACCES, "Permission denied", "models/a.yaml"), "Permission denied: models/a.yaml"),
        (TimeoutError("timed out"), "timed out"),
        # Libraries raise it too, with advice to install another version.
        (OSError("Not known. Run pip install -U transformers"), "Not known."),
        (OSError("Run pip install -U transformers"), "OSError:"),
        # Without words, or where the fault is in a program, the type says more.
        (TimeoutError(), "TimeoutError:"),
        (KeyError("a"), "KeyError: 'a'"),
    ],
)
def test_an_error_of_the_system_is_told_in_its_words(error: Exception, told: str) -> None:
    """A reader needs neither its number nor the class in which Python raises it."""
    assert one_line(error) == told
