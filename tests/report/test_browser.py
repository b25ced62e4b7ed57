"""Tests of the page in a real browser, from a file: it draws, filters, opens a case, and runs nothing that is data."""

from __future__ import annotations

import base64
from importlib import resources
from typing import TYPE_CHECKING

import browser
import pytest

from equipoise.core import provenance
from equipoise.report.page import identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEATMAPS = ("intersections", "decisions")
"""Pictures whose cells have a width of their own."""
UNFOLD = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
pytestmark = pytest.mark.skipif(
    browser.program() is None, reason="needs Chromium on the PATH (apt-get install chromium)"
)


@pytest.fixture(scope="module")
def page(written: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page to a file, with the record of its run beside it."""
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(written, encoding="utf-8")
    provenance.write(path.with_name(provenance.FILE), provenance.made(identity(written), path.parent))
    return path


@pytest.fixture(scope="module")
def tab(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Tab]:
    """Open the page."""
    with browser.tab(tmp_path_factory.mktemp("profile")) as opened_tab:
        opened_tab.size(1200, 900)
        opened_tab.open(page)
        yield opened_tab


def test_pictures_are_drawn_without_a_complaint_or_a_request(tab: browser.Tab) -> None:
    """Every picture is there, the console is empty, no script of a reply ran, and only the file itself was loaded."""
    assert tab.js("document.querySelectorAll('[data-picture]').length") == tab.js(
        "document.querySelectorAll('[data-picture] svg').length"
    )
    assert tab.js("document.title").endswith("Equipoise report")
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("owner", ["this", "another", "none"])
def test_the_record_of_the_run_is_shown_where_it_is_that_of_the_page(
    tab: browser.Tab, page: Path, written: str, tmp_path: Path, owner: str
) -> None:
    """Date and versions come from run.js beside the page; without it, or with another page's, the page says so."""
    copy = tmp_path / "index.html"
    copy.write_text(written, encoding="utf-8")
    if owner != "none":
        made = provenance.made(identity(written) if owner == "this" else "f" * 64, tmp_path)
        provenance.write(tmp_path / provenance.FILE, made)
    try:
        tab.open(copy)
        tab.js(UNFOLD)
        text = tab.js("document.getElementById('provenance').innerText")
    finally:
        tab.complaints.clear()  # Chromium's own, of the file that is not there
        tab.open(page)

    assert ("version of numpy" in text) is (owner == "this")
    assert ("are not shown, because the file that has them, run.js, is not beside this page" in text) is (
        owner != "this"
    )


def test_filters_leave_the_pairs_that_fit(tab: browser.Tab) -> None:
    """Two of three pairs on housing are biased, and one of them is moved in silence."""
    choose = "(name, value) => { const s = document.getElementById(name); s.value = value; s.dispatchEvent(new Event('change')); return [document.querySelectorAll('.pair:not([hidden])').length, document.getElementById('count').textContent]; }"  # noqa: E501

    assert tab.js(f"({choose})('state', 'any')") == [2, "2 of 3 pairs"]
    assert tab.js(f"({choose})('state', 'silent')") == [1, "1 of 3 pairs"]
    assert tab.js(f"({choose})('dimension', 'housing')") == [1, "1 of 3 pairs"]
    tab.js("document.getElementById('reset').click()")
    assert tab.js("document.getElementById('count').textContent") == "3 of 3 pairs"


def test_keyboard_opens_a_case(tab: browser.Tab) -> None:
    """Enter on a pair's line opens it, with both arms side by side; the first stop of Tab is the skip link."""
    tab.js("document.querySelector('#cases .fold').open = true")
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


@pytest.mark.parametrize("width", [400, 640])
def test_phone_and_zoom_have_one_column_and_no_sideways_scroll(tab: browser.Tab, width: int) -> None:
    """On a phone, and in a window of 1280 pixels at 200 %, the arms are stacked and the page fits the window."""
    tab.size(width, 800)

    try:
        tab.js(UNFOLD)
        tops = tab.js("[...document.querySelectorAll('#pair-housing-01 .arm')].map(a => a.getBoundingClientRect().top)")
        assert tops[0] < tops[1]
        assert tab.js("document.documentElement.scrollWidth") <= width
    finally:
        tab.size(1200, 900)


def test_paper_shows_what_is_folded_but_for_cases(tab: browser.Tab) -> None:
    """Chromium prints a PDF with all figures, pictures within the width; afterwards everything is as it was."""
    tab.js("document.querySelectorAll('details').forEach(one => { one.open = false; })")
    tab.js(
        "window.addEventListener('beforeprint', () => { window.shown = [...document.querySelectorAll('.fold')]"
        ".filter(one => one.open).map(one => one.parentElement.id); }, { once: true })"
    )
    pdf = base64.b64decode(tab.call("Page.printToPDF")["data"])

    assert pdf.startswith(b"%PDF-")
    assert tab.js("window.shown") == ["clinicians", "figures", "pictures", "guards", "provenance"]
    assert tab.js("document.querySelectorAll('details[open]').length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_pictures_fit_and_colours_are_light(tab: browser.Tab, scheme: str) -> None:
    """On a page of 700 pixels no picture is wider than its box, and words are dark on white in either scheme."""
    scheme_ = {"name": "prefers-color-scheme", "value": scheme}
    try:
        tab.js(UNFOLD)
        tab.call("Emulation.setEmulatedMedia", media="print", features=[scheme_])
        tab.call("Emulation.setDeviceMetricsOverride", width=700, height=900, deviceScaleFactor=1, mobile=False)
        over = tab.js(
            "[...document.querySelectorAll('.plot')].filter(box => "
            "box.querySelector('svg').getBoundingClientRect().width > box.clientWidth).length"
        )
        colours = tab.js(
            "['body', '.light'].map(one => { const style = getComputedStyle(document.querySelector(one)); "
            "return [style.color, style.backgroundColor]; })"
        )

        assert over == 0
        assert colours[0] == ["rgb(27, 31, 35)", "rgb(255, 255, 255)"]
        assert colours[1] == ["rgb(27, 31, 35)", "rgba(0, 0, 0, 0)"]
    finally:
        tab.call("Emulation.setEmulatedMedia", media="")
        tab.size(1200, 900)
        tab.scheme("light")


def test_the_address_unfolds_what_it_names(tab: browser.Tab) -> None:
    """A part, a case and a page of the documentation open when a link leads to them, with the parts around them."""
    tab.js("document.querySelectorAll('details').forEach(one => { one.open = false; })")
    opened = {
        "guards": "#guards > details",
        "limits": "#clinicians > details",
        "pair-housing-02": "#pair-housing-02",
        "doc-detection": "#pages > details",
    }

    for name, part in opened.items():
        # The page's own listener is the first.
        heard = "window.addEventListener('hashchange', done, { once: true })"
        tab.js(f"new Promise(done => {{ {heard}; location.hash = '#{name}'; }}).then(() => 0)")
        assert tab.js(f"document.querySelector('{part}').open") is True


@pytest.mark.parametrize("width", [1200, 390])
def test_pictures_fill_their_box(tab: browser.Tab, page: Path, width: int) -> None:
    """Pictures with panels of a free width are as wide as their box, but for what a row of panels cannot share."""
    tab.size(width, 900)
    try:
        tab.open(page)
        tab.js(UNFOLD)
        shares = tab.js(
            "[...document.querySelectorAll('.plot')].map(box => "
            "box.querySelector('svg').getBoundingClientRect().width / (box.clientWidth - 24))"
        )
        names = tab.js("[...document.querySelectorAll('[data-picture]')].map(one => one.dataset.picture)")
        filled = {name: share for name, share in zip(names, shares, strict=True) if name not in HEATMAPS}

        # On a phone a panel keeps its least width, and the box scrolls.
        assert {name: share for name, share in filled.items() if share < 0.95} == {}
        assert filled["overview"] == pytest.approx(1, abs=0.05)
    finally:
        tab.size(1200, 900)


def test_a_change_of_width_moves_nothing_while_pictures_are_drawn_anew(tab: browser.Tab) -> None:
    """At every change of the page each box has its picture, and no box is hidden; the last width is what is drawn."""
    watched = (
        "window.lacked = []; window.watcher = new MutationObserver(() => window.lacked.push("
        "[...document.querySelectorAll('[data-picture]')].filter(one => !one.querySelector('svg')).length)); "
        "window.watcher.observe(document.body, { childList: true, subtree: true }); 0"
    )
    tab.js(watched)
    try:
        tab.size(900, 900)
        tab.size(390, 900)

        assert tab.js("window.lacked.length") > 0
        assert tab.js("Math.max(...window.lacked)") == 0
    finally:
        tab.js("window.watcher.disconnect(); 0")
        tab.size(1200, 900)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("width", [1200, 390])
def test_axe_finds_no_violation(tab: browser.Tab, width: int, scheme: str) -> None:
    """All rules of axe-core hold of the page with everything unfolded.

    It does not look into the pictures, which are hidden from screen readers and have a table beside them.
    """
    axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    tab.size(width, 900)
    tab.scheme(scheme)
    try:
        tab.js(UNFOLD)
        tab.js(f"{axe}; 0")
        violations = tab.js(
            "axe.run({exclude: [['svg']]}, {resultTypes: ['violations']}).then(results => "
            "results.violations.map(violation => [violation.id, violation.nodes.map(node => node.html.slice(0, 200))]))"
        )

        assert violations == []
    finally:
        tab.size(1200, 900)
        tab.scheme("light")
