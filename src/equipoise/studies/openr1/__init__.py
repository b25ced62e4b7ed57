"""The study `openr1`: messages of OpenR1-Psy, each in two demographic arms, and the agreement of the replies."""

from typing import Final

NAME: Final = "openr1"
