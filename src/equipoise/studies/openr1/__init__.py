"""The study `openr1`: messages of OpenR1-Psy, each in two demographic arms, and the agreement of the replies."""

from typing import Final

NAME: Final = "openr1"
"""The name of the study: that of this folder, of its rows and of its files."""
