"""The pages of documentation that the report contains, for readers without a clone; other links become plain text."""

from itertools import count
from pathlib import Path
from typing import NamedTuple

from equipoise.core import jsonl
from equipoise.core.visible import visible
from equipoise.studies.registry import BOARD, STUDIES

VERDICTS, GUARDS, FLOOR = "verdicts", "metrics/guards", "metrics/noise_floor"
"""Pages that every report links to."""
DEEPER = 2
"""Levels by which a page's headings are lowered, to be below the report's own."""
LOWEST = 6


class Page(NamedTuple):
    """A page of the documentation: its anchor, its title, and its text as HTML."""

    name: str
    title: str
    html: str


def anchor(page: str) -> str:
    """Give the id of a page in the report."""
    return f"doc-{page.rpartition('/')[2]}"


def read_pages(folder: Path) -> list[Page]:
    """Read the pages that the report links to, sorted by title; a missing page is an EquipoiseError."""
    declared = [*(figure.page for figure in BOARD), *(study.page for study in STUDIES.values())]
    names = dict.fromkeys((*filter(None, declared), VERDICTS, GUARDS, FLOOR))
    known = {f"{name.rpartition('/')[2]}.md": anchor(name) for name in names}
    pages = [_page(name, jsonl.read_text(folder / f"{name}.md"), known) for name in names]
    return sorted(pages, key=lambda page: page.title)


def _page(name: str, text: str, known: dict[str, str]) -> Page:
    """Render a page; `known` has the anchor of each file in the report."""
    from markdown_it import MarkdownIt
    from markdown_it.common.utils import escapeHtml
    from markdown_it.token import Token

    title, _, body = visible(text).partition("\n")
    title = title.removeprefix("# ")
    # Markup in a page is shown as text.
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")

    def linked(tokens: list[Token]) -> list[Token]:
        """Keep links within the report and to the web."""
        kept, keep = [], True
        for token in tokens:
            if token.type == "link_open":
                file = str(token.attrs["href"]).partition("#")[0].rpartition("/")[2]
                target = str(token.attrs["href"])
                keep = target.startswith("https://") or file in known
                token.attrs["href"] = target if target.startswith("https://") else f"#{known.get(file)}"
            if keep or token.type not in {"link_open", "link_close"}:
                kept.append(token)
        return kept

    tokens = markdown.parse(body)
    for token in tokens:
        token.children = linked(token.children) if token.children else token.children
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(LOWEST, int(token.tag[1:]) + DEEPER)}"
        if token.type in {"th_open", "td_open"}:
            # The page's policy allows no style of an element.
            token.attrs = {"scope": "col"} if token.type == "th_open" else {}
    tables = (f"Table {number}: {title}" for number in count(1))

    def table_open(*_: object) -> str:
        """Begin a table that scrolls by itself, also by keyboard, if it is wider than the window."""
        name = escapeHtml(next(tables))
        region = f'<div class="wide" tabindex="0" role="region" aria-label="{name}">'
        return f'{region}\n<table>\n<caption class="unseen">{name}</caption>\n'

    markdown.add_render_rule("table_open", table_open)
    markdown.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")
    return Page(anchor(name), title, markdown.renderer.render(tokens, markdown.options, {}))
