"""Fixtures of a small library, and of the project's own."""

from small_library import authored, check, folder, library

__all__ = ["authored", "check", "folder", "library"]
