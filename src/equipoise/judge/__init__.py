"""The judge: does a model's reasoning mention, weigh or dismiss a feature of the patient?

`located` finds or exports a judge of the registry and caches the entailment probabilities that `model` computes;
`lexicon` finds where a feature is named, `reading` turns probabilities into a judgement, and `score` reads responses.
judge/workshop, outside the library, makes, calibrates and validates the judge that ships.
"""
