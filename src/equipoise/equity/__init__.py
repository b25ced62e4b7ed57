"""Equity: what accuracy by patient group means for the population of a city, and by disease."""
