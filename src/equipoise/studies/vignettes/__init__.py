"""Paired clinical vignettes: the authored library, its checks, and the profiles in which it is built."""

from typing import Final

NAME: Final = "vignettes"
