"""The causal scorer: the probability of each subject, from the likelihood of the whole sentence under a causal model.

A causal model reads from left to right and cannot fill a mask in the middle. Each sentence is therefore written with
every candidate subject. With L(s, c) the log probability, in nats, of the sentence about condition c from its first
varied word to its end, with subject s,

    p(s | c) = exp L(s, c) / sum over all subjects t of exp L(t, c)

which is the probability of the subject, given that the model writes one of these sentences about c. A gender's figure
is the sum over its subjects. L is a sum over tokens, not their mean; docs/causal-scorer.md says why.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt, Response
from equipoise.studies.stigma import NAME
from equipoise.studies.stigma.aggregate import Shares, fill
from equipoise.studies.stigma.library import CONDITION, MASK, Condition, Library, Subjects, Template
from equipoise.studies.stigma.rows import Fill, Filling, Length


def sentence_prompts(library: Library, settings: Filling) -> list[Prompt]:
    """Ask for the likelihood of every sentence: a prompt for each template, a candidate for each subject and condition.

    The key is `<question>/<template>`. The model is asked `settings.instruction` and given the words before the first
    varied one as the beginning of its reply; a template that varies in the middle of a word is an EquipoiseError.
    """
    return [_sentence_prompt(template, library, settings.instruction) for template in library.templates]


def causal_fills(library: Library, responses: Iterable[Response], settings: Filling) -> Iterator[Fill]:
    """Read the subjects' probabilities from the responses to `sentence_prompts`: a row for each template and condition.

    The three figures of a row add up to 1. Raises EquipoiseError if a likelihood is missing.
    """
    waiting = {template.name: template for template in library.templates}

    def fills(template: Template, response: Response | None) -> Iterator[Fill]:
        for condition in library.conditions:
            yield _fill(template, condition, library.subjects[template.question], response, settings.length)

    for response in responses:
        if template := waiting.pop(response.key, None):
            yield from fills(template, response)
    for template in waiting.values():
        yield from fills(template, None)


def _before(template: Template) -> str:
    """Return the text before the first varied word, including the space."""
    before = template.text[: min(template.text.index(place) for place in (MASK, CONDITION))]
    if before and not before.endswith(" "):
        message = f"template {template.name!r} varies in the middle of a word, after {before!r}: put a space there"
        raise EquipoiseError(message)
    return before


def every_subject(subjects: Subjects) -> tuple[str, ...]:
    """List the subjects of a question, in the order of its candidates."""
    return (*subjects.female, *subjects.male, *subjects.unspecified)


def _sentence_prompt(template: Template, library: Library, instruction: str) -> Prompt:
    before = _before(template)
    return Prompt(
        key=template.name,
        study=NAME,
        system="",
        prefix=before.rstrip(),
        turns=(instruction,),
        candidates=tuple(
            template.about(condition.name, subject).removeprefix(before)
            for subject in every_subject(library.subjects[template.question])
            for condition in library.conditions
        ),
        reply=False,
    )


def _fill(
    template: Template, condition: Condition, subjects: Subjects, response: Response | None, length: Length
) -> Fill:
    before = _before(template)
    sentences = {
        subject: template.about(condition.name, subject).removeprefix(before) for subject in every_subject(subjects)
    }
    scores = {subject: _score(template.name, sentence, response, length) for subject, sentence in sentences.items()}
    top = max(scores.values())
    weights = {subject: math.exp(score - top) for subject, score in scores.items()}
    total = math.fsum(weights.values())

    def share(group: Sequence[str]) -> float:
        return math.fsum(weights[subject] for subject in group) / total

    shares = Shares(
        female=share(subjects.female),
        male=share(subjects.male),
        unspecified=share(subjects.unspecified),
        words={subject: weight / total for subject, weight in weights.items()},
    )
    return fill(template, condition, "causal", shares)


def _score(key: str, sentence: str, response: Response | None, length: Length) -> float:
    """Return a sentence's log probability in nats, or its mean per token."""
    mean = response.log_likelihood.get(sentence) if response else None
    tokens = response.candidate_tokens.get(sentence) if response else None
    if mean is None or tokens is None:
        raise EquipoiseError(
            f"prompt {key!r} has no likelihood of {sentence!r}, which fill.scorer causal needs: choose a model whose "
            "backend gives likelihoods, or fill.scorer masked"
        )
    return mean * tokens if length == "total" else mean
