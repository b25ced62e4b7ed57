"""The studies, a folder each, and their registry."""
