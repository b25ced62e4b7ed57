"""The study `openr1`: messages of OpenR1-Psy, each in two arms of a demographic, and how far the replies agree."""

from typing import Final

NAME: Final = "openr1"
"""The name of the study: that of this folder, of its rows and of its files."""
