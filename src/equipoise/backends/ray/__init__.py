"""Prompts and the judge's pairs processed on the nodes of a Ray cluster."""
