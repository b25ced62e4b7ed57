"""Paired clinical vignettes: the authored library, its checks, and the profiles in which it is built."""

from equipoise.vignettes.compose import pair_rows
from equipoise.vignettes.library import Library, load_library
from equipoise.vignettes.profiles import Counts, Profile, build, counts, counts_table, require_one_source, validate

__all__ = [
    "Counts",
    "Library",
    "Profile",
    "build",
    "counts",
    "counts_table",
    "load_library",
    "pair_rows",
    "require_one_source",
    "validate",
]
