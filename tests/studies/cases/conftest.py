"""Fixtures of the judge."""

from fixtures import checkpoint, judge, pytest_collection_modifyitems, root

__all__ = ["checkpoint", "judge", "pytest_collection_modifyitems", "root"]
