"""The report: a run's figures, pictures, cases, guards and provenance in one HTML file that opens without a network."""
