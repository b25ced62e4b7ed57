"""The made-up example files as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import json_value, read_text
from equipoise.core.shipped import shipped
from equipoise.core.tables import json_rows
from equipoise.materials.interchange import CASES

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

FOLDER = "data/examples"
READ = (".csv", ".json", ".jsonl")


def example(name: str) -> pd.DataFrame:
    """Read one of the files of data/examples, which are made up and document the accepted forms.

    Args:
        name: the file's name without its extension: `amqa_answers`, `outputs`, `cases`, `mental`, `reasoning`, ….

    Returns:
        A row for each row of the file; for `cases`, a row for each case, with its metadata as columns.

    Raises:
        EquipoiseError: no such example; the message lists them.

    >>> list(example("outputs").columns)
    ['id', 'model_name', 'output_text']
    """
    import pandas as pd

    paths = {path.stem: path for path in sorted(shipped(FOLDER).iterdir()) if path.suffix in READ}
    if name not in paths:
        raise EquipoiseError(f"no example {name!r}: choose one of {', '.join(paths)}")
    if paths[name].suffix == ".csv":
        return pd.read_csv(paths[name])
    return pd.DataFrame(_rows(paths[name]))


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [row for _, row in json_rows(path)]
    value = json_value(str(path), read_text(path))
    rows: list[dict[str, Any]] = value[CASES] if isinstance(value, dict) else value
    return [{key: item for key, item in row.items() if key != "metadata"} | row.get("metadata", {}) for row in rows]
