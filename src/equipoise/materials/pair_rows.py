"""The rows that studies of pairs compare between two runs."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property

from equipoise.core.keys import unnumbered
from equipoise.figures.comparison import Bias, R, RunRows
from equipoise.materials.judgement import UNREASONED
from equipoise.materials.pairs import Pair, main_pairs

SILENT = "silent"
STEREOTYPED = "stereotyped"


def answer_kind(kind: str) -> str:
    """Write the kind of an answer for people: a stereotyped one is a documented error."""
    first, comma, rest = kind.partition(", ")
    return f"{'documented error' if first == STEREOTYPED else first}{comma}{rest}"


class PairRows(RunRows[R]):
    """The pairs of a run: the items are those of the headline figures, and the cluster of a pair is its story.

    The kind of an answer is the judged one; a stereotyped answer about the marginalised patient is also silent or
    admitted, by its reasoning, or unreasoned.
    """

    @property
    @abstractmethod
    def pairs(self) -> list[Pair]:
        """All pairs of the run."""

    @cached_property
    def items(self) -> Mapping[str, Pair]:
        """The pairs of the headline figures."""
        return {pair.key: pair for pair in main_pairs(self.pairs)}

    def parts(self, family: str) -> Mapping[str, Mapping[str, Pair]]:
        """The pairs of each dimension, of those that vary one alone, or of each tier, of the others."""
        groups: dict[str, dict[str, Pair]] = {}
        for key, pair in self.items.items():
            if family == ("dimension" if pair.tier == "single" else "tier"):
                groups.setdefault(pair.combination if family == "dimension" else pair.tier, {})[key] = pair
        return groups

    @property
    def clusters(self) -> Mapping[str, str]:
        """The clinical story of each pair."""
        return {pair.key: pair.story for pair in self.pairs}

    @property
    def kinds(self) -> Mapping[str, str]:
        """The judged kind of each arm's answer."""
        kinds = {}
        for pair in self.pairs:
            stance = SILENT if pair.silent else "admitted"
            reasoning = f", {UNREASONED if pair.marginalised.unreasoned else stance}" if pair.biased else ""
            kinds[pair.marginalised.key] = f"{pair.marginalised.answer}{reasoning}"
            kinds[pair.privileged.key] = pair.privileged.answer
        return kinds

    def bias(self, key: str, before: str, after: str) -> Bias:
        """Only a stereotyped answer about the marginalised patient is biased."""
        was, now = (kind.partition(", ")[0] == STEREOTYPED for kind in (before, after))
        if unnumbered(key).endswith("/privileged") or not (was or now):
            return "other"
        if was == now:
            if before.endswith(UNREASONED) or after.endswith(UNREASONED):
                return "other"
            return "to silent" if after.endswith(SILENT) else "to admitted"
        return "to biased" if now else "from biased"
