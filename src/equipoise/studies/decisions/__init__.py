"""Decisions about the vignettes: triage, tests, pain relief, referral and belief."""

from typing import Final

NAME: Final = "decisions"
"""The name of the study: that of this folder, of its rows and of its files."""
