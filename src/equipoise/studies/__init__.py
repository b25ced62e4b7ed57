"""The studies, and the steps that the pipeline takes for each: build, infer, score, measure."""
