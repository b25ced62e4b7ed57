"""The page: the whole report in one HTML file that loads only the record of its run, and runs only its own scripts.

Texts of vignettes and models are data: the template engine escapes them, and the content security policy allows only
the hashes of the page's own scripts and style, so that nothing else in the file can run. The record, run.js, is not
part of the page, since equal runs give equal pages; it is allowed by a nonce, the page's id, which no text can contain.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.visible import visible
from equipoise.figures.layout import read_result
from equipoise.figures.options import Decision, Measure
from equipoise.figures.plot import Picture
from equipoise.figures.views import CasesView
from equipoise.models import registry
from equipoise.report.docs import FLOOR, GUARDS, Page, anchor, read_pages
from equipoise.report.guards import NOTHING, PASSED, WARNS, Guards, guards
from equipoise.report.headlines import Card, absent, cards
from equipoise.report.inputs import Provenance, provenance
from equipoise.report.opening import Opening, opening, overview
from equipoise.studies.registry import chosen

FOLDER = Path(__file__).parent
TEMPLATE, STYLE, SCRIPT = "template.html", "page.css", "page.js"
VEGA_LITE = "5.21"
"""The version for which our templates are written."""
GLOBALS = "window.vegaEmbed = vegaEmbed;"
"""The names that the bundle defines for the page's script."""
SIGNS = {WARNS: "\N{BLACK UP-POINTING TRIANGLE}", PASSED: "\N{CHECK MARK}", NOTHING: "\N{EN DASH}"}
"""A sign for each verdict, shown with its word."""
CLOSING = {"script": "</script", "style": "</style"}
"""Text that would end an element with unparsed content."""
IDENTITY = re.compile(r' data-page="([0-9a-f]{64})"')
"""The id of a page, in the page."""


class Report(NamedTuple):
    """The content of the page: `openings` by study; `absent` names headline figures of studies that did not run.

    `overview` is None without any verdict, `cases_view` without cases to show; `intended_use` is empty where
    params.yaml does not state it.
    """

    title: str
    intended_use: str
    judge: str
    openings: Sequence[Opening]
    overview: Picture | None
    cards: Sequence[Card]
    absent: Sequence[str]
    pictures: Sequence[Picture]
    cases_view: CasesView | None
    guards: Guards
    provenance: Provenance
    pages: Sequence[Page]


def read_report(data: Path, templates: Path, docs: Path, root: Path) -> Report:
    """Read a run's rows and effects in `data`, the plots' `templates`, and the pages of `docs` that cards link to.

    `root` has the params.yaml and registries of the run. Raises EquipoiseError if a file is missing or rows do not
    match.
    """
    settings = params.load(root / params.FILE)
    options, decision = settings.section("measure", Measure), settings.section("decision", Decision)
    alpha, decided = options.alpha, decision.applied(options)
    results = {study: read_result(data, study, decision) for study in chosen(settings)}
    by_name = {study.name: result for study, result in results.items()}
    views = {study: view for study in results if (view := study.cases_view(data, settings)) is not None}
    openings = [
        opening(study, result, decided, views.get(study), authored=study.is_authored(settings))
        for study, result in results.items()
    ]
    return Report(
        title=registry.load_entry(settings.model, root).title,
        intended_use=settings.intended_use or "",
        judge=settings.judge,
        openings=openings,
        overview=_overview(openings, _template(templates, "forest"), alpha),
        cards=cards(by_name, alpha),
        absent=absent(by_name),
        pictures=[
            plot.picture(name, plot.rows(result.effects, result.margins), _template(templates, plot.template), alpha)
            for study, result in results.items()
            for name, plot in study.plots.items()
        ],
        cases_view=next(iter(views.values()), None),
        guards=guards(results.values()),
        provenance=provenance(jsonl.read_one(data / "manifest.json", Manifest), settings, root),
        pages=read_pages(docs),
    )


def _overview(openings: Sequence[Opening], template: Mapping[str, Any], alpha: float) -> Picture | None:
    plot = overview(openings)
    rows = plot.rows([])
    return plot.picture("overview", rows, template, alpha) if rows else None


def _template(folder: Path, name: str) -> dict[str, Any]:
    template: dict[str, Any] = json.loads(jsonl.read_text(folder / f"{name}.json"))
    return template


def page(report: Report) -> str:
    """Write the page, whose id is the sha256 of the page with an empty one: equal reports give equal bytes."""
    return _rendered(report, hashlib.sha256(_rendered(report, "").encode()).hexdigest())


def identity(text: str) -> str:
    """Find the id of a page; empty for a page of an earlier version."""
    match = IDENTITY.search(text)
    return match[1] if match else ""


def _rendered(report: Report, identity: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Applies to all values filled in, except our own markup.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    style = inline("style", (FOLDER / STYLE).read_text(encoding="utf-8"))
    scripts = [inline("script", text) for text in (bundle(), (FOLDER / SCRIPT).read_text(encoding="utf-8"))]
    return environment.get_template(TEMPLATE).render(
        report=report,
        signs=SIGNS,
        specs={picture.name: picture.spec for picture in (*filter(None, [report.overview]), *report.pictures)},
        anchors={"guards": anchor(GUARDS), "floor": anchor(FLOOR)},
        pages=[(doc, Markup(doc.html)) for doc in report.pages],  # noqa: S704  (rendered with markup switched off)
        identity=identity,
        policy=policy(style, scripts, identity),
        # Our own, and checked; escaping would break them.
        style=Markup(style),  # noqa: S704
        scripts=[Markup(script) for script in scripts],  # noqa: S704
    )


@cache
def bundle() -> str:
    """Bundle Vega, Vega-Lite and Vega-Embed, as shipped with vl-convert, into one script."""
    import vl_convert

    text: str = vl_convert.javascript_bundle(GLOBALS, vl_version=VEGA_LITE)
    return text


def policy(style: str, scripts: Sequence[str], nonce: str) -> str:
    """Write the content security policy, which allows only content with these hashes, and a script with the nonce."""
    allowed = " ".join(_hashed(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed} 'nonce-{nonce}'; style-src {_hashed(style)}; "
        "base-uri 'none'; form-action 'none'; object-src 'none'"
    )


def inline(element: str, text: str) -> str:
    """Prepare a script or style for its element; one that would end the element is an EquipoiseError."""
    # Browsers convert line ends to \n before hashing.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    text = f"\n{lines}\n"
    if CLOSING[element] in text.lower() or "<!--" in text:
        raise EquipoiseError(
            f"the report's {element} has {CLOSING[element]} or <!-- in it, which ends it: install another vl-convert"
        )
    return text


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
