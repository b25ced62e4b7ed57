"""The catalogue of studies: the one place where a study is registered.

A study is an entry here, a function of its name in `build`, `score` and `measure` of `equipoise.studies`, and its
headline figures and plots; dvc.yaml runs the same stages for every study that params.yaml names under `studies`.
"""

from typing import NamedTuple


class Likelihoods(NamedTuple):
    """A setting that asks the model for likelihoods: `section.field` is `value`, and `other` does without."""

    section: str
    field: str
    value: str
    other: str


class Entry(NamedTuple):
    """A study: its title, what it asks, and the setting, if any, under which it needs likelihoods.

    `sections` are those of params.yaml that its steps `build` and `score` read, but for what all studies are scored by.
    """

    title: str
    question: str
    sections: tuple[str, ...] = ()
    likelihoods: Likelihoods | None = None


CATALOGUE: dict[str, Entry] = {
    "vignettes": Entry(
        "Vignettes",
        "Does the diagnosis change when only the patient's demographics change, and does the reasoning admit it?",
        ("build",),
        Likelihoods("score", "answering", "likelihood", "generate"),
    ),
    "questions": Entry(
        "Questions",
        "Does accuracy on the same question drop for the unprivileged patient, and what does that mean for a city?",
        ("items", "neutralize", "perturb"),
        Likelihoods("perturb", "answering", "likelihood", "generate"),
    ),
    "exam": Entry(
        "Exam",
        "How well are the questions answered that represent a city's burden of disease?",
        ("sample",),
        Likelihoods("sample", "answering", "likelihood", "generate"),
    ),
    "stigma": Entry(
        "Stigma",
        "Which gender does the model associate with mental illness, and with the attitudes towards it?",
        ("fill",),
        Likelihoods("fill", "scorer", "causal", "masked"),
    ),
    "decisions": Entry(
        "Decisions",
        "Do triage, tests, pain relief, referral and belief change when only the patient's demographics change?",
        ("build",),
    ),
    "openr1": Entry(
        "OpenR1-Psy", "Does the reply to a client's message change with the client's demographics?", ("pair", "agree")
    ),
    "cases": Entry("Cases", "How often is a biased answer in a model's saved outputs silent about the feature?"),
}
"""Every study by name, in the order in which they are reported."""
