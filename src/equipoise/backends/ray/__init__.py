"""Process prompts and the judge's pairs on the nodes of a Ray cluster."""
