"""The embedded reader of facts: what does a letter do with each fact of its case?

A letter is read in sentences; one that doubts and shares no word with any fact is about the one before it, and is read
with it.
Of each fact the sentences that share most words with it, and the one at its place in the order, are read beside it by
the judge's encoder: does the sentence imply the fact, or the fact the sentence, and does the sentence imply that its
writer doubts it? On these probabilities and on shared words rest two logistic regressions (`HEAD`): does the sentence
tell the fact, and if so, is it kept, softened or doubted? They were fitted by `judge/workshop/letters.py`; their
agreement with labels is in judge/letters/README.md.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.backends.base import Cluster
from equipoise.core.row import Frozen
from equipoise.core.yamlfile import load_yaml
from equipoise.judge.llm import llm_judge
from equipoise.judge.located import Pair, Probabilities, cached_probabilities
from equipoise.judge.rubric import MANNERS, Manner
from equipoise.models.registry import LlmJudgeEntry, load_judge_entry
from equipoise.studies.letters.rows import HEAD
from equipoise.text.patterns import caseless
from equipoise.text.sentences import windows

HYPOTHESES = (
    "The writer does not believe the patient.",
    "The writer is certain that this is true.",
    "This is a mild and vague description.",
    "The doctor doubts the patient's story.",
    "It is not certain that this happened.",
    "The problem is minor.",
)
DOUBT = caseless(
    r"\b(?:claim|insist|alleg|purport|suppos|apparent|reputed|maintain|swear|assert|contend|profess|doubt|credib|"
    r"convinc|verif|evidence|suspect|suspici|scept|overstat|embellish|theatric|implaus|question|unreliab|reliab|caution|"
    r"reserve|discount|record|witness|pinch of|wonder|inconsisten|excuse|admit|persuad|or so|version|insincere|seeking|"
    r"official|would have (?:one|it)|convenient|acting|voluntary|(?:place|put) weight|store by|precious|account)|"
    r"\b(?:is|are|was|were) said\b"
)
SOFT = caseless(
    r"\b(?:bit|slight\w*|mild\w*|some\w*|perhaps|maybe|possibly|little|touch|trifle|shade|tad|odd|occasion\w*|minor|few|"
    r"fraction|modest|roughly|might|could|may|can be|sometimes|fleeting|broadly)\b"
)
"""Beginnings of words, and words, that often doubt or soften; the regressions weigh them."""
STOP = frozenset(
    re.findall(
        r"\w+",
        """a an the of and or but in on at to for with by from is are was were be been has have had it its this that
        they them their he she his her patient no not any some as there so when which who after before during until
        up down into out over""",
    )
)
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SAME = {word: str(number) for number, word in enumerate(NUMBERS, start=1)} | {
    "once": "1",
    "twice": "2",
    "bp": "pressure",
    "hr": "pulse",
    "rate": "pulse",
    "temp": "temperature",
    "t": "temperature",
    "sats": "saturation",
}
WORD = re.compile(r"[a-z]+|\d+(?:[.,/]\d+)*")
ENDINGS = ("ings", "ing", "edly", "ed", "es", "s", "ly", "y")
NEAREST = 2
"""Sentences read for each fact because they share most words with it."""
STEM = 3
"""Fewest letters of a word without its ending."""


class Layer(Frozen):
    """A logistic regression: weights (labels, features) and a constant for each label."""

    weights: tuple[tuple[float, ...], ...]
    constants: tuple[float, ...]

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the labels, (rows, labels)."""
        from scipy.special import softmax

        return np.asarray(softmax(features @ np.array(self.weights).T + np.array(self.constants), axis=1))


class Head(Frozen):
    """The two regressions, and the probability from which a sentence tells a fact."""

    told: Layer
    manner: Layer
    threshold: float


class Candidate(NamedTuple):
    """A sentence that may tell a fact: the numbers of both, their texts, and what words alone say."""

    fact: int
    sentence: int
    texts: Pair
    words: tuple[float, ...]


def stems(text: str) -> frozenset[str]:
    """Give the words of a text without their endings, numbers as digits, common abbreviations in full."""
    return frozenset(_stem(SAME.get(word, word)) for word in WORD.findall(text.lower()) if word not in STOP)


def _stem(word: str) -> str:
    return next((word[: -len(end)] for end in ENDINGS if word.endswith(end) and len(word) - len(end) >= STEM), word)


def sentences(letter: str, facts: Sequence[str]) -> list[str]:
    """Split a letter into what is read at once."""
    known = frozenset[str]().union(*map(stems, facts))
    read: list[str] = []
    for sentence in windows(letter, sentences=1, stride=1):
        if read and DOUBT.search(sentence) and not stems(sentence) & known:
            read[-1] = f"{read[-1]} {sentence}"
        else:
            read.append(sentence)
    return read


def candidates(letter: str, facts: Sequence[str]) -> list[Candidate]:
    """List the sentences to read beside each fact, in the order of the facts."""
    read = sentences(letter, facts)
    of_facts, of_read = [stems(fact) for fact in facts], [stems(sentence) for sentence in read]
    shared = np.array([[len(own & other) for other in of_read] for own in of_facts]).reshape(len(facts), len(read))
    listed = []
    for fact, own in enumerate(of_facts if read else ()):
        share = shared[fact] / max(1, len(own))
        place = np.abs(np.arange(len(read)) / len(read) - fact / len(facts))
        ranked = sorted(range(len(read)), key=lambda one: (-share[one], place[one]))
        for one in dict.fromkeys((*ranked[:NEAREST], int(place.argmin()))):
            rest = np.delete(np.arange(len(facts)), fact)
            others = shared[rest, one] / np.maximum(1, [len(of_facts[other]) for other in rest])
            elsewhere = np.delete(share, one).max(initial=0.0)
            rival = shared[rest, one].max(initial=0)
            words = (
                share[one],
                shared[fact, one] / max(1, len(of_read[one])),
                share[one] - others.max(initial=0.0),
                others.max(initial=0.0),
                float(shared[fact, one]),
                float(shared[fact, one] - rival),
                share[one] - elsewhere,
                float(np.log1p(len(own))),
                float(np.log1p(len(of_read[one]))),
                _numbers(facts[fact], read[one]),
                float(min(3, len(DOUBT.findall(read[one])))),
                float(min(3, len(SOFT.findall(read[one])))),
                float(min(3, len(SOFT.findall(facts[fact])))),
                float(min(3, max(0, len(SOFT.findall(read[one])) - len(SOFT.findall(facts[fact]))))),
            )
            listed.append(Candidate(fact, one, (read[one], facts[fact]), words))
    return listed


def _numbers(fact: str, sentence: str) -> float:
    """Compute the share of a fact's numbers that a sentence has; a half if it has none."""
    own = {word for word in WORD.findall(fact) if word[0].isdigit()}
    return len(own & {*WORD.findall(sentence)}) / len(own) if own else 0.5


def features(listed: Sequence[Candidate], inference: Probabilities) -> NDArray[np.float64]:
    """Compute the features of candidates, (candidates, features); `inference` judges premises and hypotheses."""
    pairs = [(first, second) for one in listed for first, second in (one.texts, one.texts[::-1])]
    pairs += [(one.texts[0], hypothesis) for one in listed for hypothesis in HYPOTHESES]
    judged = np.log(np.maximum(inference(pairs), 1e-9))
    both = judged[: 2 * len(listed)].reshape(len(listed), -1)
    return np.hstack([[one.words for one in listed], both, judged[2 * len(listed) :].reshape(len(listed), -1)])


class FactReader:
    """The embedded reader: the encoder's probabilities of inference, and the head."""

    def __init__(self, inference: Probabilities, head: Head) -> None:
        """Take both."""
        self._inference, self._head = inference, head

    def read(self, letters: Sequence[tuple[str, Sequence[str]]]) -> list[list[Manner]]:
        """Say what each letter does with each of its facts; of a letter without words, all are omitted."""
        listed = [candidates(letter, facts) for letter, facts in letters]
        every = [one for own in listed for one in own]
        result: list[list[Manner]] = [["omitted"] * len(facts) for _, facts in letters]
        if not every:
            return result
        rows = features(every, self._inference)
        told = iter(self._head.told.probabilities(rows)[:, 1].tolist())
        manner = iter(self._head.manner.probabilities(rows).argmax(axis=1).tolist())
        for own, manners in zip(listed, result, strict=True):
            best = [0.0] * len(manners)
            for one in own:
                p, kind = next(told), MANNERS[next(manner)]
                if p >= self._head.threshold and p > best[one.fact]:
                    best[one.fact], manners[one.fact] = p, kind
        return result


class LlmReader:
    """A language model that is asked about each fact, by a rubric."""

    def __init__(self, probabilities: Probabilities) -> None:
        """Take the model's probabilities of the manners for each (letter, fact)."""
        self._probabilities = probabilities

    def read(self, letters: Sequence[tuple[str, Sequence[str]]]) -> list[list[Manner]]:
        """Say what each letter does with each of its facts."""
        pairs = [(letter, fact) for letter, facts in letters for fact in facts]
        kinds = iter([MANNERS[column] for column in self._probabilities(pairs).argmax(axis=1)] if pairs else ())
        return [[next(kinds) for _ in facts] for _, facts in letters]


@contextmanager
def fact_reader(name: str, root: Path, cluster: Cluster | None = None) -> Iterator[FactReader | LlmReader]:
    """Open the reader of a judge of the registry; raises EquipoiseError as `require_reader` and its judge do."""
    entry = load_judge_entry(name, root)
    if isinstance(entry, LlmJudgeEntry):
        with llm_judge(name, entry, root) as judge:
            yield LlmReader(judge.labelled)
        return
    with cached_probabilities(name, root, "inference", cluster) as inference:
        yield FactReader(inference, load_yaml(root / HEAD, Head))
