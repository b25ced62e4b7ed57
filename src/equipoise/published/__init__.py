"""Published data: readers, scorers and figures of each source."""
