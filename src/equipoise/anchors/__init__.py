"""Published figures, recomputed: what a paper prints, what its released data give, and whether they agree."""
