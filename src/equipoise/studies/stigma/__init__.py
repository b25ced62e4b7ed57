"""The gender that a model associates with mental illness and its stereotypes (Lin et al. 2022, EMNLP)."""

from typing import Final

NAME: Final = "stigma"
"""The name of the study: that of this folder, of its rows and of its files."""
