"""The judge: does a model's reasoning mention, weigh or dismiss a feature of the patient?

`located` finds or exports a judge of the registry and caches the probabilities that `model` computes; `lexicon` finds
where a feature is named, `reading` converts probabilities to a judgement, and `score` reads responses. Judges are
trained and measured on `passages`. `llm` asks a language model instead, and `readers` opens a judge of any kind.
judge/workshop, outside the library, trains and validates the judge that ships.
"""
