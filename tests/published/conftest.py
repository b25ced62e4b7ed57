"""Fixtures of the stigma study."""

from small_stigma import library, wordings

__all__ = ["library", "wordings"]
