"""Fixtures of the judge."""

from fixtures import checkpoint, judge, pairs, pytest_collection_modifyitems, root

__all__ = ["checkpoint", "judge", "pairs", "pytest_collection_modifyitems", "root"]
