"""One report and its page for all tests of the report: the bundle of scripts takes seconds to make."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from reported import report_of

from equipoise.report.page import page

if TYPE_CHECKING:
    from equipoise.report.page import Report


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Make a report with a hostile reply."""
    return report_of(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def written(report: Report) -> str:
    """Write its page."""
    return page(report)
