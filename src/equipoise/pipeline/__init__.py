"""The steps that the pipeline takes for every study: check, build, infer, score, measure."""
