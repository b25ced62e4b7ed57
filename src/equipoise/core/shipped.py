"""The files that Equipoise brings along: word lists, cities, sentences, settings, and the embedded judge.

In a checkout they are those of the working folder, which its user may change. Elsewhere they are those of the package:
its own folder `shipped` where it was built into a wheel, the checkout that it runs from where it was not.
"""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
BUILT = PACKAGE / "shipped"
HOME = BUILT if BUILT.is_dir() else PACKAGE.parents[1]
"""Where the package has its files, under the names that they have in a checkout."""
PIPELINE = "dvc.yaml"
SIGN = Path("models/judges")
"""The folder by which a checkout is known."""


def root() -> Path:
    """Give the root of the files: the working folder if it is that of a checkout, else the package's."""
    return Path() if SIGN.is_dir() else HOME


def shipped(path: Path | str) -> Path:
    """Find a file or folder by its path from the root of a checkout; one that exists under that path is taken as it is.

    A path that the package does not have either stays as it is, so that errors name what was asked for.
    """
    named = Path(path)
    return named if named.exists() or not (HOME / named).exists() else HOME / named
