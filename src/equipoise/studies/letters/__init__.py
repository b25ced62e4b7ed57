"""Letters: what a referral letter or discharge summary leaves out, softens or doubts, and about whom."""

from typing import Final

NAME: Final = "letters"
"""The name of the study: that of this folder, of its rows and of its files."""
