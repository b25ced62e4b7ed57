"""Multiple-choice questions: their neutral form, their adversarial variants, and their meaning for cities."""

from typing import Final

NAME: Final = "questions"
"""The name of the study: that of this folder, of its rows and of its files."""
