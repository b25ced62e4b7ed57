"""The tables and plots (`plots/pictures`) of a run as PNG and as PDF."""

from collections.abc import Callable, Iterator, Mapping

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.export.run import Run
from equipoise.export.tables import svg, tables

PIXELS = 2.0
"""Scale of a PNG, for print."""


def png_files(run: Run) -> Mapping[str, bytes]:
    """Write `NAME.png` for each table and plot."""
    import vl_convert

    return {f"{name}.png": vl_convert.svg_to_png(drawn, scale=PIXELS) for name, drawn in _drawings(run)}


def pdf_files(run: Run) -> Mapping[str, bytes]:
    """Write `NAME.pdf` for each table and plot."""
    import vl_convert

    convert: Callable[[str], bytes] = vl_convert.svg_to_pdf
    return {f"{name}.pdf": convert(drawn) for name, drawn in _drawings(run)}


def _drawings(run: Run) -> Iterator[tuple[str, str]]:
    for table in tables(run):
        yield f"table-{table.name}", svg(table)
    for assessment in run.studies:
        for name in assessment.study.plots:
            path = run.root / "plots/pictures" / assessment.study.name / f"{name}.svg"
            if not path.is_file():
                raise EquipoiseError(f"{path}: the plot has not been drawn: run `dvc repro report`")
            yield f"plot-{assessment.study.name}-{name}", jsonl.read_text(path)
