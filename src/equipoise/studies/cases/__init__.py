"""Cases of other people's vignette studies, and the saved outputs of models that were asked about them."""

from typing import Final

NAME: Final = "cases"
"""The name of the study: that of this folder, of its rows and of its files."""
