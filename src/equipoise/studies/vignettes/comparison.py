"""Comparison of two runs of the study, by pairs, whose answers depend on likelihoods and on the judge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from equipoise.core.prompts import Response
from equipoise.figures.comparison import Files
from equipoise.figures.digits import near, tied
from equipoise.judge.reading import CONSIDERED_FROM, MENTIONED_FROM
from equipoise.materials.judgement import Judgement
from equipoise.materials.pair_rows import PairRows
from equipoise.materials.pairs import Pair, pair_up
from equipoise.materials.vignette import Vignette
from equipoise.text.answers import log_likelihoods

ANSWER = frozenset({"answer", "label", "answer_likelihood", "label_likelihood"})
"""Fields of a judgement that the likelihoods of the answers decide."""
CONSIDERED = frozenset({"mentioned", "considered", "window"})
"""Fields of a judgement that the judge's probabilities decide."""
TURNS = {"p_considered": CONSIDERED_FROM, "p_mentioned": MENTIONED_FROM}
"""Thresholds for the reading of each of the judge's probabilities."""


@dataclass(frozen=True, kw_only=True)
class VignetteRows(PairRows[Judgement]):
    """The vignettes of a run, the responses to them by key, and the judgements of these."""

    texts_name = "vignettes"
    vignettes: Sequence[Vignette] = ()
    responses: Mapping[str, Response] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""
        return cls(
            vignettes=files.built("vignettes", Vignette),
            answers=files.rows("judgements", Judgement),
            responses={row.key: row for row in files.rows("responses", Response)},
        )

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs of judged vignettes; empty if the model answered none."""
        return pair_up(self.vignettes, self.answers) if self.answers else []

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of the vignettes, with the answers that count."""
        return {row.key: "\n".join((row.text, *_named(row))) for row in self.vignettes}

    def same(self, answer: Judgement, other: Judgement, head: Self) -> bool:
        """Whether judgements are equal up to last digits, which may decide an answer or a reading in a tie."""
        if not near(answer, other, ANSWER | CONSIDERED):
            return False
        if not near(answer, other, CONSIDERED) and not self._answers_tied(answer, other, head):
            return False
        return (answer.mentioned, answer.considered) == (other.mentioned, other.considered) or any(
            (getattr(answer, name) >= turn) != (getattr(other, name) >= turn) for name, turn in TURNS.items()
        )

    def _answers_tied(self, answer: Judgement, other: Judgement, head: Self) -> bool:
        """Whether the answers come from likelihoods that tie in their totals or in their means per token."""
        replies = [self.responses.get(answer.key), head.responses.get(other.key)]
        known = [reply for reply in replies if reply is not None]
        if len(known) < len(replies) or any(row.label != row.label_likelihood for row in (answer, other)):
            return False
        return any(
            tied(answer.label, other.label, *(log_likelihoods(reply, length) for reply in known))
            for length in ("total", "per_token")
        )


def _named(vignette: Vignette) -> Iterator[str]:
    """Name the answers of a case and the words by which they are read: the expected, the stereotyped, the others."""
    for answer in (vignette.expected, vignette.stereotyped, *vignette.distractors, *vignette.components):
        yield from (answer.label, *answer.synonyms)
