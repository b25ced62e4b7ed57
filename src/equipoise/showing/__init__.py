"""Judged pairs for people to look at on a terminal, with what others wrote shown as text."""
