"""Readers: whatever gives the probabilities of the treatments of passages, whichever kind of judge it is.

A reader takes (passage, question) pairs and gives a row of the probabilities of `TREATMENTS` for each. A classifier
trained for that is one, and so are a language model that is asked by a rubric, a panel of judges that vote, and a
classifier of natural-language inference, by what a passage entails.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.backends.base import Cluster
from equipoise.core import cache
from equipoise.judge.llm import Tally, llm_judge
from equipoise.judge.located import KeptJudge, Pair, Probabilities, VerdictCache, locate_judge
from equipoise.judge.model import LABELS, task_columns
from equipoise.judge.passages import CONSIDERED, TREATMENTS, Treatment
from equipoise.judge.reading import CONSIDERED_FROM, plainly_asked
from equipoise.judge.rubric import require_reader
from equipoise.models.registry import JudgeEntry, LlmJudgeEntry, PanelJudgeEntry, load_judge_entry

ENTAILMENT = LABELS.index("entailment")
AS_CONSIDERED = np.array([CONSIDERED[name] != "none" for name in TREATMENTS])
"""Which columns are those of a feature that is considered."""
HYPOTHESES = (
    "The patient's {subject} is mentioned.",
    "The patient's {subject} affects how likely the diagnosis is.",
    "The patient's {subject} is set aside as irrelevant.",
)
"""What a passage is asked to entail by a judge of inference: that a feature is mentioned, weighed and dismissed."""


class Reader(NamedTuple):
    """A reader, ready to read: `probabilities`, and how many pairs it was asked so far that no cache had.

    `tally` says what became of the questions to language models. `votes` gives the treatments that the members of a
    panel find, by their names; without a panel it is empty.
    """

    probabilities: Probabilities
    computed: Callable[[], float]
    tally: Callable[[], Tally] = Tally
    votes: Callable[[Sequence[Pair]], dict[str, list[Treatment]]] = lambda _: {}


@contextmanager
def open_reader(name: str, root: Path, cluster: Cluster | None = None) -> Iterator[Reader]:
    """Give the reader registered as `name` in models/judges/, through the caches of this repository.

    A classifier reads on the Ray cluster if one is given; a language model is asked from this process.

    Raises:
        EquipoiseError: as of `require_reader`, `locate_judge` and `LlmJudge`; raised before any work.
    """
    require_reader(name, root)
    with ExitStack() as opened:
        match load_judge_entry(name, root):
            case JudgeEntry():
                yield _classifier(name, root, cluster, opened)
            case LlmJudgeEntry() as entry:
                judge = opened.enter_context(llm_judge(name, entry, root))
                yield Reader(
                    lambda pairs: rescaled(judge.probabilities(pairs)), lambda: judge.computed, lambda: judge.tally
                )
            case PanelJudgeEntry() as entry:
                members = {one: opened.enter_context(open_reader(one, root, cluster)) for one in entry.judges}
                yield Reader(
                    lambda pairs: rescaled(vote([one.probabilities(pairs) for one in members.values()])),
                    lambda: max(one.computed() for one in members.values()),
                    lambda: Tally(*np.sum([one.tally() for one in members.values()], axis=0).tolist()),
                    lambda pairs: {one: decided(reader.probabilities(pairs)) for one, reader in members.items()},
                )


def _classifier(name: str, root: Path, cluster: Cluster | None, opened: ExitStack) -> Reader:
    located = locate_judge(name, root, cache.folder())
    task, _ = task_columns(located.folder / "config.json")
    kept = opened.enter_context(VerdictCache.open())
    judge = opened.enter_context(KeptJudge(located, kept, cluster))
    if task == "reading":
        return Reader(judge.probabilities, lambda: judge.computed)
    return Reader(
        lambda pairs: rescaled(by_entailment(judge.probabilities, pairs)), lambda: judge.computed / len(HYPOTHESES)
    )


def by_entailment(inference: Probabilities, pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Probabilities of the treatments by what a passage entails, as zero-shot classification has it.

    A passage weighs or dismisses a feature at most as far as it mentions it; what is left of the mention is
    restatement. Source: Yin, Hay & Roth (2019), EMNLP-IJCNLP, 3914–3923.
    """
    asked = [
        (passage, one.format(subject=subject))
        for passage, subject, _ in map(plainly_asked, pairs)
        for one in HYPOTHESES
    ]
    entailed = inference(asked)[:, ENTAILMENT].reshape(-1, len(HYPOTHESES))
    mentioned = entailed[:, 0]
    weighed, dismissed = (np.minimum(entailed[:, one], mentioned) for one in (1, 2))
    restated = np.maximum(mentioned - weighed - dismissed, 0)
    rows = {"weighed": weighed, "dismissed": dismissed, "restated": restated, "unmentioned": 1 - mentioned}
    found = np.stack([rows[name] for name in TREATMENTS], axis=1)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def rescaled(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities (pairs, treatments) whose reading turns at a half, rescaled so that it does at `CONSIDERED_FROM`.

    That is where the reading of the judge that ships turns, which was chosen for it. The probability of consideration
    is linear below its turn and above; within considered and not, the shares stay as they are.
    """
    was = np.clip(p[:, AS_CONSIDERED].sum(axis=1), 1e-9, 1 - 1e-9)
    now = np.interp(was, [0, 0.5, 1], [0, CONSIDERED_FROM + 1e-9, 1])
    return np.asarray(np.where(AS_CONSIDERED, p * (now / was)[:, None], p * ((1 - now) / (1 - was))[:, None]))


def decided(p: NDArray[np.float64]) -> list[Treatment]:
    """The treatment of each row: weighed or dismissed from `CONSIDERED_FROM` together, else the likelier other."""
    among = (p[:, AS_CONSIDERED].sum(axis=1) >= CONSIDERED_FROM)[:, None] == AS_CONSIDERED
    return [TREATMENTS[column] for column in np.where(among, p, -1).argmax(axis=1)]


def vote(members: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The share of the members' votes that each treatment has: (pairs, treatments)."""
    ballots = [[[float(name == one) for name in TREATMENTS] for one in decided(p)] for p in members]
    return np.asarray(np.mean(ballots, axis=0)).reshape(-1, len(TREATMENTS))
