"""Blind rating by people: sheets that do not reveal too much to the raters, and the raters' agreement."""
