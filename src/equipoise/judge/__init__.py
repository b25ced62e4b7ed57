"""The judge: does a model's reasoning mention, weigh or dismiss a feature of the patient?

Used by the pipeline: `registry` names the judges, `model` and `checkpoint` load one and give entailment probabilities,
`lexicon` finds where a feature is named, `windows` cuts reasoning into premises, `reading` turns probabilities into a
judgement, and `given` does so for whole outputs of any model.

Used by the pipelines in judge/, which make the judge that ships and measure it: `sources`, `snli`, `banks`, `corpus`,
`restore`, `training`, `export` and `evaluation` make it; `labels`, `folds`, `grid`, `calibration`, `validation`,
`stress` and `figures` choose how it is read and say how far it is right. `settings` reads their parameters.
"""
