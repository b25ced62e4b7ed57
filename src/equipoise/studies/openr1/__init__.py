"""The study `openr1`: messages of OpenR1-Psy, each in two arms of a demographic, and how far the replies agree."""
