"""The judge: does a model's reasoning mention, weigh or dismiss a feature of the patient?

`located` finds or exports a judge of the registry and caches the probabilities that `model` computes; `lexicon` finds
where a feature is named, `reading` turns probabilities into a judgement, and `score` reads responses. `passages` are
what a judge is trained and measured on. `llm` asks a language model instead, and `readers` opens a judge of any kind.
judge/workshop, outside the library, makes and validates the judge that ships.
"""
