"""Tests of the page in a real browser, from a file: it draws, filters, opens a case, and runs nothing that is data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import browser
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    browser.program() is None, reason="needs Chromium on the PATH (apt-get install chromium)"
)


@pytest.fixture(scope="module")
def tab(written: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Tab]:
    """Open the page."""
    folder = tmp_path_factory.mktemp("browser")
    (folder / "index.html").write_text(written, encoding="utf-8")
    with browser.tab(folder / "profile") as one:
        one.size(1200, 900)
        one.open(folder / "index.html")
        yield one


def test_pictures_are_drawn_without_a_complaint_or_a_request(tab: browser.Tab) -> None:
    """Every picture is there, the console is empty, no script of a reply ran, and only the file itself was loaded."""
    assert tab.js("document.querySelectorAll('[data-picture]').length") == tab.js(
        "document.querySelectorAll('[data-picture] svg').length"
    )
    assert tab.js("document.title").endswith("Equipoise report")
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_filters_leave_the_pairs_that_fit(tab: browser.Tab) -> None:
    """Of three pairs on housing two are biased, one of them silently."""
    choose = "(name, value) => { const s = document.getElementById(name); s.value = value; s.dispatchEvent(new Event('change')); return [document.querySelectorAll('.pair:not([hidden])').length, document.getElementById('count').textContent]; }"  # noqa: E501

    assert tab.js(f"({choose})('state', 'any')") == [2, "2 of 3 pairs"]
    assert tab.js(f"({choose})('state', 'silent')") == [1, "1 of 3 pairs"]
    assert tab.js(f"({choose})('dimension', 'housing')") == [1, "1 of 3 pairs"]
    tab.js("document.getElementById('reset').click()")
    assert tab.js("document.getElementById('count').textContent") == "3 of 3 pairs"


def test_keyboard_opens_a_case(tab: browser.Tab) -> None:
    """Enter on a pair's line opens it, with both arms side by side; the first stop of Tab is the skip link."""
    tab.js("document.querySelector('#pair-housing-01 summary').focus()")
    tab.press("Enter", 13, "\r")

    assert tab.js("document.querySelector('#pair-housing-01').open") is True
    tops = tab.js("[...document.querySelectorAll('#pair-housing-01 .arm')].map(a => a.getBoundingClientRect().top)")
    assert tops[0] == tops[1]


def test_first_stop_is_the_skip_link(tab: browser.Tab) -> None:
    """Tab reaches the link past the navigation first."""
    tab.js("document.activeElement.blur(); window.scrollTo(0, 0); document.body.tabIndex = -1; document.body.focus()")
    tab.press("Tab", 9)

    assert tab.js("document.activeElement.className") == "skip"


def test_phone_has_one_column_and_no_sideways_scroll(tab: browser.Tab) -> None:
    """At 400 pixels the arms are one below the other and the page is no wider than the window."""
    tab.size(400, 800)

    try:
        tab.js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        tops = tab.js("[...document.querySelectorAll('#pair-housing-01 .arm')].map(a => a.getBoundingClientRect().top)")
        assert tops[0] < tops[1]
        assert tab.js("document.documentElement.scrollWidth") <= 400
    finally:
        tab.size(1200, 900)
