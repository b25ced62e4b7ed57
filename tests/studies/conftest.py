"""Fixtures of small studies made by hand."""

from handmade import case, no_collection, study

__all__ = ["case", "no_collection", "study"]
