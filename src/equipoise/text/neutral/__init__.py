"""Neutral forms of clinical questions: which questions can have one, and the text without race, gender and income."""
