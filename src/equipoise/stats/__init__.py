"""Statistics of paired data: pure functions in which an undefined figure is None, never 0 and never NaN."""
