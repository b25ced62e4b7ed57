"""Prompts and the judge's pairs worked on by the nodes of a Ray cluster."""
