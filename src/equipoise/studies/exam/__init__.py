"""The exam: questions drawn by the prevalence of their diseases, to represent a city's burden of disease."""

from typing import Final

NAME: Final = "exam"
