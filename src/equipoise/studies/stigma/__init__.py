"""The gender that a model associates with mental illness and its stereotypes (Lin et al. 2022, EMNLP)."""

from typing import Final

NAME: Final = "stigma"
