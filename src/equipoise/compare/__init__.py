"""Two revisions compared item by item: what changed in the figures, in the answers, and in what they were made from."""
