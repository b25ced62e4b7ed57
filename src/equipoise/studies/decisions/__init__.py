"""Decisions about the vignettes: triage, tests, pain relief, referral and belief."""

from typing import Final

NAME: Final = "decisions"
