"""Multiple-choice questions: their neutral form, their adversarial variants, and their meaning for cities."""

from typing import Final

NAME: Final = "questions"
