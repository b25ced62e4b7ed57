"""The exam: questions that represent a city's burden of disease, drawn by prevalence."""

from typing import Final

NAME: Final = "exam"
"""The name of the study: that of this folder, of its rows and of its files."""
