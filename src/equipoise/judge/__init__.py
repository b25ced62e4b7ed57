"""The judge: does a model's reasoning mention, weigh or dismiss a feature of the patient?

`registry` names the judges, `model` loads one and gives entailment probabilities, `windows` cuts reasoning into
premises and `reading` turns probabilities into a judgement. `sources`, `snli`, `training`, `export` and `evaluation`
make the judge that ships with Equipoise; the pipeline in judge/ calls them.
"""
