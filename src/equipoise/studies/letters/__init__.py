"""Letters: what a referral letter or discharge summary leaves out, softens or doubts, and about whom."""

from typing import Final

NAME: Final = "letters"
