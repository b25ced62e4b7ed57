"""Equipoise in Python: DataFrames in, figures out, by the code that the command line runs; docs/api.md describes it."""
