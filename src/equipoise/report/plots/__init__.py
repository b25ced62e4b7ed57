"""From effects to plots: rows for `dvc plots` and the same pictures as SVG."""
