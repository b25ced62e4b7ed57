"""Readers: judges of any kind that return the probabilities of the treatments of passages.

A reader takes (passage, question) pairs and returns a row of the probabilities of `TREATMENTS` for each. It can be a
classifier trained for this, a language model asked with a rubric, a panel of judges that vote, or a classifier of
natural-language inference, by what a passage entails.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.backends.base import Cluster
from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.judge.llm import Tally, llm_judge
from equipoise.judge.located import KeptJudge, Pair, Probabilities, VerdictCache, locate_judge
from equipoise.judge.model import ENTAILMENT, task_columns
from equipoise.judge.passages import TREATMENTS, Treatment
from equipoise.judge.reading import CONSIDERED_FROM, parse_question, remove_marks
from equipoise.judge.rubric import require_reader
from equipoise.judge.unnamed import AS_CONSIDERED, discount_unnamed, unnamed_odds
from equipoise.models.registry import JudgeEntry, LlmJudgeEntry, PanelJudgeEntry, load_judge_entry
from equipoise.text.sentences import sentence_spans

HYPOTHESES = (
    "The patient's {subject} is mentioned.",
    "The patient's {subject} affects how likely the diagnosis is.",
    "The patient's {subject} is set aside as irrelevant.",
)
"""The hypotheses of a judge of inference about a sentence: a feature is mentioned, weighed, dismissed."""
WEIGHED_FROM, DISMISSED_FROM = 0.4, 0.6
"""Least entailments at which a sentence weighs or dismisses a feature, chosen by cross-validation on saved outputs for
the judge of sentences that preceded the reader of passages (docs/decisions/0019-a-judge-that-reads-passages.md)."""


class Reader(NamedTuple):
    """An open reader: `probabilities`, and the number of pairs asked so far that were not cached.

    `tally` counts the outcomes of questions to language models. `votes` returns the treatments by each member of a
    panel, by name; it is empty without a panel.
    """

    probabilities: Probabilities
    computed: Callable[[], float]
    tally: Callable[[], Tally] = Tally
    votes: Callable[[Sequence[Pair]], dict[str, list[Treatment]]] = lambda _: {}


@contextmanager
def open_reader(name: str, root: Path, cluster: Cluster | None = None) -> Iterator[Reader]:
    """Open the reader registered as `name` in models/judges/, through the caches of this repository.

    A classifier runs on the Ray cluster if one is given; a language model is asked from this process.

    Raises:
        EquipoiseError: As in `require_reader`, `locate_judge` and `LlmJudge`; raised before any work.
    """
    require_reader(name, root)
    with ExitStack() as opened:
        match load_judge_entry(name, root):
            case JudgeEntry():
                yield _classifier(name, root, cluster, opened)
            case LlmJudgeEntry() as entry:
                judge = opened.enter_context(llm_judge(name, entry, root))
                yield Reader(judge.probabilities, lambda: judge.computed, lambda: judge.tally)
            case PanelJudgeEntry() as entry:
                members = {member: opened.enter_context(open_reader(member, root, cluster)) for member in entry.judges}
                yield Reader(
                    lambda pairs: vote([reader.probabilities(pairs) for reader in members.values()]),
                    lambda: max(reader.computed() for reader in members.values()),
                    lambda: Tally(*np.sum([reader.tally() for reader in members.values()], axis=0).tolist()),
                    lambda pairs: {member: decide(reader.probabilities(pairs)) for member, reader in members.items()},
                )


def _classifier(name: str, root: Path, cluster: Cluster | None, stack: ExitStack) -> Reader:
    located = locate_judge(name, root, cache.folder())
    config = located.folder / "config.json"
    task, _ = task_columns(config)
    verdicts = stack.enter_context(VerdictCache.open())
    judge = stack.enter_context(KeptJudge(located, verdicts, cluster))
    questions = 1 if task == "reading" else len(HYPOTHESES)
    return Reader(_to_treatments(config, judge.probabilities), lambda: judge.computed / questions)


def _to_treatments(config: Path, classified: Probabilities) -> Probabilities:
    """Convert the probabilities of a classifier's own labels to those of the treatments."""
    task, _ = task_columns(config)
    if task == "facts":
        raise EquipoiseError(f"{config}: it reads facts in letters, not reasoning: choose another of models/judges/")
    if task == "inference":
        return partial(read_by_sentences, classified)
    odds = unnamed_odds(config)
    return lambda pairs: discount_unnamed(classified(pairs), [passage for passage, _ in pairs], odds)


def load_probabilities(name: str, root: Path) -> Probabilities:
    """Return the probabilities of the reader registered as `name`, which stays open; a classifier has no cache.

    Raises:
        EquipoiseError: As in `open_reader`.
    """
    if not isinstance(load_judge_entry(name, root), JudgeEntry):
        return ExitStack().enter_context(open_reader(name, root)).probabilities
    located = locate_judge(name, root, cache.folder())
    return _to_treatments(located.folder / "config.json", located.open().probabilities)


def read_by_sentences(inference: Probabilities, pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Return the probabilities of the treatments from entailments of the sentences that name the feature.

    The result has shape (pairs, treatments). The sentences are those with the marks that `ask_about` puts around the
    feature's words. A sentence weighs or dismisses a feature at most as much as it mentions it, and a passage does what
    any of its sentences does. A feature is dismissed if that is likelier than that it is weighed, and passes its
    threshold. The rest of the mention is restatement. After Yin, Hay & Roth (2019), EMNLP-IJCNLP, 3914-3923.
    """
    held = []
    for passage, statement in pairs:
        _, subject, _ = parse_question((passage, statement))
        named = [
            text for span in sentence_spans(passage) if (text := passage[span.start : span.end]) != remove_marks(text)
        ]
        held.append(
            [(remove_marks(sentence), form.format(subject=subject)) for sentence in named for form in HYPOTHESES]
        )
    questions = [question for some in held for question in some]
    entailed = inference(questions)[:, ENTAILMENT] if questions else np.empty(0)
    ends = np.cumsum([len(some) for some in held])
    return np.array(
        [_passage_treatments(entailments.reshape(-1, len(HYPOTHESES))) for entailments in np.split(entailed, ends[:-1])]
    ).reshape(-1, len(TREATMENTS))


def _passage_treatments(entailed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the treatments from one passage's entailments (sentences, hypotheses)."""
    if not len(entailed):
        return np.array([float(name == "unmentioned") for name in TREATMENTS])
    mentioned, weighed, dismissed = np.minimum(entailed, entailed[:, :1]).max(axis=0)
    is_dismissed = dismissed >= DISMISSED_FROM and dismissed > weighed
    # Both on one scale, with the same threshold for the judgement.
    passed = [
        np.interp(p, [0, turn, 1], [0, CONSIDERED_FROM, 1])
        for p, turn in ((weighed, WEIGHED_FROM), (dismissed, DISMISSED_FROM))
    ]
    considered = passed[1] if is_dismissed else max(passed[0], min(passed[1], CONSIDERED_FROM - 1e-9))
    share = float(is_dismissed) if considered >= CONSIDERED_FROM else dismissed / max(weighed + dismissed, 1e-9)
    rest = 1 - considered
    rows = {
        "weighed": considered * (1 - share),
        "dismissed": considered * share,
        "restated": rest * mentioned,
        "unmentioned": rest * (1 - mentioned),
    }
    return np.array([rows[name] for name in TREATMENTS])


def decide(p: NDArray[np.float64]) -> list[Treatment]:
    """Return the treatment of each row: weighed or dismissed if they reach `CONSIDERED_FROM` together, else another."""
    among = (p[:, AS_CONSIDERED].sum(axis=1) >= CONSIDERED_FROM)[:, None] == AS_CONSIDERED
    return [TREATMENTS[column] for column in np.where(among, p, -1).argmax(axis=1)]


def vote(members: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return each treatment's share of the members' votes: (pairs, treatments)."""
    ballots = [[[float(name == treatment) for name in TREATMENTS] for treatment in decide(p)] for p in members]
    return np.asarray(np.mean(ballots, axis=0)).reshape(-1, len(TREATMENTS))
