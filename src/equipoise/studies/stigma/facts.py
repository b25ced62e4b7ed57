"""The facts about the sentences that a phantom answers from: the gender of each subject, and the kind of illness."""

from itertools import product

from equipoise.backends.phantom import Fact
from equipoise.core import jsonl
from equipoise.core.prompts import Prompt
from equipoise.pipeline.run import Run
from equipoise.studies.stigma.causal import every_subject
from equipoise.studies.stigma.library import load_library


def facts(run: Run) -> list[Fact]:
    """List the facts about the prompts: each sentence with its gender and set of conditions."""
    library = load_library(run.data / "sentences")
    rows = []
    for prompt in jsonl.each(run.built("prompts"), Prompt):
        subjects = library.subjects["rq1" if prompt.key.startswith("rq1/") else "rq2"]
        genders = {name: gender for gender in ("female", "male", "unspecified") for name in getattr(subjects, gender)}
        sentences = product(every_subject(subjects), library.conditions)
        sides = {
            sentence: (genders[subject], condition.condition_set)
            for sentence, (subject, condition) in zip(prompt.candidates, sentences, strict=True)
        }
        rows.append(Fact(key=prompt.key, study=run.study, task="completion", question=prompt.key, subjects=sides))
    return rows
