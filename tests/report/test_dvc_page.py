"""Tests of the page of `dvc plots`, made from our template: it draws without a network."""

from __future__ import annotations

import json
import re
import time
from configparser import ConfigParser
from pathlib import Path
from typing import TYPE_CHECKING

import browser
import pytest
from dvc_render.html import render_html
from dvc_render.vega import VegaRenderer
from dvc_render.vega_templates import Template

from equipoise.report.page import bundle

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Render one picture as `dvc plots show` does, into its usual place beside report/."""
    folder = tmp_path_factory.mktemp("clone")
    config = ConfigParser()
    config.read(ROOT / ".dvc/config", encoding="utf-8")
    content = json.loads((ROOT / ".dvc/plots/forest.json").read_text(encoding="utf-8"))
    row = {"group": "overall", "measure": "rate", "n": 9, "estimate": 0.5, "ci_low": 0.2, "ci_high": 0.8, "rev": "HEAD"}
    renderer = VegaRenderer([row], "rates", template=Template(content, name="forest"), x="estimate", y="group")
    page = folder / "dvc_plots/index.html"
    render_html([renderer], page, ROOT / ".dvc" / config["plots"]["html_template"])
    (folder / "report").mkdir()
    (folder / "report/vega.js").write_text(bundle(), encoding="utf-8")
    return page


def test_the_page_loads_nothing_from_the_network(rendered: Path) -> None:
    """The one script that is loaded lies beside it; DVC's own are in a template element, which is inert."""
    text = rendered.read_text(encoding="utf-8")
    loaded = re.sub(r"<template.*?</template>", "", text, flags=re.DOTALL)

    assert re.findall(r'(?:src|href)="([^"]*)"', loaded) == ["../report/vega.js"]
    assert (rendered.parent / "../report/vega.js").is_file()
    assert "https://cdn." in text  # the way out where Vega is not there
    assert "vegaEmbed('#" in loaded


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Tab]:
    """Start a browser."""
    if browser.program() is None:
        pytest.skip("needs Chromium on the PATH (apt-get install chromium)")
    with browser.tab(tmp_path_factory.mktemp("browser")) as opened_tab:
        yield opened_tab


def test_the_picture_is_drawn_from_the_file_alone(rendered: Path, tab: browser.Tab) -> None:
    """Chromium draws it, complains of nothing, and loads two files."""
    tab.call("Page.navigate", url=rendered.resolve().as_uri())
    for _ in range(browser.WAITS):
        if tab.js("document.querySelectorAll('.vega-embed canvas, .vega-embed svg').length"):
            break
        time.sleep(0.1)

    assert tab.js("document.querySelectorAll('.vega-embed canvas, .vega-embed svg').length") > 0
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))] == []
