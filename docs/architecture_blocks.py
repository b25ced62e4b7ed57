"""The generated parts of docs/architecture.md: the table of packages, and the picture of what imports what.

`cog -I docs -r docs/architecture.md` rewrites the table; `python docs/architecture_blocks.py` draws the picture anew.
"""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/equipoise"
PICTURE = ROOT / "docs/images/imports.svg"
ROOMS = (
    "core",
    "stats",
    "text",
    "models",
    "figures",
    "materials",
    "backends",
    "judge",
    "pipeline",
    "published",
    "studies",
    "compare",
    "report",
    "export",
    "api",
    "cli",
)
"""The packages of the library from the ground up: each imports only from those before it."""


@cache
def arrows() -> frozenset[tuple[str, str]]:
    """Find which package imports from which other, as (importing, imported)."""
    imports: set[tuple[str, str]] = set()
    for room in ROOMS:
        for path in (SOURCE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("equipoise."):
                    imports.add((room, str(node.module).split(".")[1]))
    return frozenset((room, other) for room, other in imports if room != other)


def table() -> str:
    """Lay out the packages from the ground up, with what each contains."""
    rows = ["| package | contains |", "|---|---|"]
    for room in ROOMS:
        source = (SOURCE / room / "__init__.py").read_text(encoding="utf-8")
        purpose = (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]
        rows.append(f"| `{room}` | {purpose.rstrip('.')} |")
    return "\n".join(rows)


def picture() -> str:
    """Draw a mark for each package that imports another, as SVG."""
    import vl_convert

    rows = [{"importing": room, "imported": other} for room, other in sorted(arrows())]
    axis = {"title": None, "labelFontSize": 12, "domain": False, "ticks": False, "grid": True}
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 420,
        "height": 420,
        "data": {"values": rows},
        "mark": {"type": "circle", "color": "#1f4e79", "opacity": 1, "size": 120},
        "encoding": {
            "x": {
                "field": "imported",
                "type": "nominal",
                "scale": {"domain": ROOMS},
                "axis": {**axis, "title": "imported package", "labelAngle": -45},
            },
            "y": {
                "field": "importing",
                "type": "nominal",
                "scale": {"domain": ROOMS[::-1]},
                "axis": {**axis, "title": "importing package"},
            },
        },
    }
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version="5.21")
    return svg


if __name__ == "__main__":
    PICTURE.write_text(picture() + "\n", encoding="utf-8")
