"""Material that several studies share: paired vignettes, multiple-choice questions, cities."""
