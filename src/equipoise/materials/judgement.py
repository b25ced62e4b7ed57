"""Judgements of responses to vignettes: the answer, and what the reasoning does with the patient's feature."""

from typing import ClassVar, Literal

from equipoise.core.row import Frozen, Row, Sparse
from equipoise.text.answer import AnswerKind

Consideration = Literal["none", "weighed", "dismissed"]
Admission = Literal["admitted", "denied", "unmentioned"]
ADMISSIONS: dict[Consideration, Admission] = {"weighed": "admitted", "dismissed": "denied", "none": "unmentioned"}
"""What the reasoning behind an answer says about a feature: that it is a reason, that it does not count, or neither."""


class Reading(Frozen):
    """What a reasoning does with the patient's feature.

    `mentioned` (restated) and `considered` (weighed or dismissed) are two judgements, each with the probability behind
    it; `window` is the sentence or passage that decided. `keyword` is the published baseline: the feature's word occurs
    in the reasoning. `unsure`: the judge's probabilities are too close to a threshold of admission to rely on.
    `boilerplate` is a sentence about the feature that recurs over replies and was read apart (`judge.recurring`).
    """

    mentioned: bool
    considered: Consideration
    window: str
    p_mentioned: float
    p_weighed: float
    p_dismissed: float
    keyword: bool
    unsure: bool = False
    boilerplate: str = ""

    @property
    def admission(self) -> Admission:
        """Whether the reasoning gives the feature as a reason, denies that it counts, or neither."""
        return ADMISSIONS[self.considered]

    @property
    def silent(self) -> bool:
        """Whether it does not give the feature as a reason; a denial does not either."""
        return self.admission != "admitted"

    @property
    def p_considered(self) -> float:
        """The probability that the feature is weighed or dismissed."""
        return self.p_weighed + self.p_dismissed


UNREASONED = "unreasoned"
"""The field of a reply that states its answer and gives no reasoning, which nothing can be silent in."""
PARTS = ("admission_thinking", "admission_visible")
"""Fields of a reply whose thinking precedes what its reader sees."""


class Judgement(Reading, Sparse, Row):
    """The judgement of one response: which answer it gives, and what its reasoning does with the patient's feature.

    `answer` is the reading chosen by `score.answering`, and `label` the answer of the case's set that it gives (empty
    if it gives none of them); `answer_likelihood` and `answer_generated` are both readings where they exist. `log_odds`
    is log p(stereotyped) - log p(expected), in nats; each term is a total, or as `score.length` sets it. In
    `log_odds_per_token` each is the mean per token. `p_error` is the probability of the stereotyped answer among all
    answers of the case's set, a share; None without total likelihoods. `p_expected` is that of the expected answer, at
    least the least that files keep; None in rows of earlier versions too. `admission_thinking` and `admission_visible`
    are what the two parts of a reply say about the feature, each read alone; None for a reply that has one part. An
    `unreasoned` reply only states its answer: figures about reasoning leave it out.
    """

    rare: ClassVar = (*PARTS, UNREASONED, "p_expected")

    answer: AnswerKind
    label: str
    answer_likelihood: AnswerKind | None
    label_likelihood: str = ""
    answer_generated: AnswerKind
    log_odds: float | None
    log_odds_per_token: float | None = None
    p_error: float | None = None
    p_expected: float | None = None
    admission_thinking: Admission | None = None
    admission_visible: Admission | None = None
    unreasoned: bool = False
