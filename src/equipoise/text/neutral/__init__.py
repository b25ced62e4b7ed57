"""Neutral forms of clinical questions: which questions can have one, and their text without race, gender and income."""
