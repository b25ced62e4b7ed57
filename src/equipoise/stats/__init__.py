"""Statistics of pairs, groups and clusters, as pure functions: an undefined figure is None, never 0 and never NaN."""
