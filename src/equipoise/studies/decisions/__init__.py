"""Decisions about the vignettes: triage, tests, pain relief, referral and belief."""
