"""A picture of a table of figures: a Vega-Lite specification that notebooks draw, and that can be saved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.figures.plot import INK

MIME = "application/vnd.vegalite.v5+json"
"""The type by which Jupyter, VS Code and Colab know a specification."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
SAVED = (".json", ".svg", ".png")


@dataclass(frozen=True)
class Chart:
    """A picture in Vega-Lite; the last expression of a notebook's cell is drawn.

    With altair installed, `altair.Chart.from_dict(chart.spec)` turns it into a chart of altair's.

    Attributes:
        spec: the specification, with the rows that it draws.
    """

    spec: dict[str, Any]

    def save(self, path: str | Path) -> None:
        """Write the specification (.json) or the picture (.svg, .png; needs `pip install 'equipoise[run]'`).

        Raises:
            EquipoiseError: another ending, or the extra is missing.
        """
        file = Path(path)
        if file.suffix not in SAVED:
            raise EquipoiseError(
                f"{file}: cannot save a chart as {file.suffix or 'a name without an ending'!r}: "
                f"choose one of {', '.join(SAVED)}"
            )
        if file.suffix == ".json":
            jsonl.write_text(file, json.dumps(self.spec, ensure_ascii=False, indent=1) + "\n")
        elif file.suffix == ".svg":
            jsonl.write_text(file, self._svg())
        else:
            with extras_named():
                import vl_convert
            jsonl.write_bytes(file, vl_convert.vegalite_to_png(self.spec, vl_version="5.21"))

    def _svg(self) -> str:
        with extras_named():
            import vl_convert
        svg: str = vl_convert.vegalite_to_svg(self.spec, vl_version="5.21")
        return svg

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """Give Jupyter the specification and, where it can be drawn here, the picture for pages that run nothing."""
        drawn = {"image/svg+xml": self._svg()} if find_spec("vl_convert") else {}
        return {MIME: self.spec, **drawn, "text/plain": repr(self)}

    def __repr__(self) -> str:
        """Say what is drawn."""
        return f"Chart of {len(self.spec['data']['values'])} figures: {self.spec['title']['text']}"


def forest(title: str, rows: Iterable[Mapping[str, Any]]) -> Chart:
    """Draw estimates with their intervals, a column of the picture for each measure, a line for each group.

    `rows` have `name` (of the line), `measure`, `n`, `estimate`, `ci_low` and `ci_high`, None where undefined.
    """
    x = {"type": "quantitative", "scale": {"zero": False}, "title": None}
    tooltip = [{"field": name} for name in ("name", "measure", "n", "estimate", "ci_low", "ci_high")]
    return Chart(
        {
            "$schema": SCHEMA,
            "title": {"text": title, "anchor": "start"},
            "data": {"values": [dict(row) for row in rows]},
            "facet": {"field": "measure", "type": "nominal", "title": None, "sort": None},
            "columns": 3,
            "resolve": {"scale": {"x": "independent"}},
            "spec": {
                "width": 220,
                "height": {"step": 20},
                "encoding": {
                    "y": {"field": "name", "type": "nominal", "title": None, "sort": None},
                    "tooltip": tooltip,
                },
                "layer": [
                    {
                        "mark": {"type": "rule", "color": INK},
                        "encoding": {"x": {"field": "ci_low", **x}, "x2": {"field": "ci_high"}},
                    },
                    {
                        "mark": {"type": "point", "filled": True, "color": INK, "size": 50},
                        "encoding": {"x": {"field": "estimate", **x}},
                    },
                ],
            },
        }
    )
