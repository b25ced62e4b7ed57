"""Fixtures of the stigma study."""

from fixtures import library, wordings

__all__ = ["library", "wordings"]
