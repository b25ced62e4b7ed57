"""Metrics of each study: from rows to effects, and from effects to the small JSON files that `dvc metrics` reads."""
