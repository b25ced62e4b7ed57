"""Figures: their declaration, estimation, guards, primary endpoints and verdicts."""
