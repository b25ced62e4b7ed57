"""Blind rating by people: sheets without what would tell the raters too much, and how far the raters agree."""
