"""A language model of the registry as the judge: given a passage and a feature, it chooses the passage's treatment.

The question comes from a rubric, a YAML file. It contains only the passage and the feature, so the judge is blind to
the model, the arm and the answer. Models prefer some letters to others whatever the question (Zheng et al. 2024,
arXiv:2309.03882), so each question is asked in as many orders as there are labels, a cyclic set in which each label has
each letter once, and the probabilities are averaged. A model with likelihoods gives the probabilities of the letters; a
server replies with a letter, whose share of the orders is the probability.
"""

import json
import re
from asyncio import sleep
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.backends.ask import answer_all, find_manifest, open_backend
from equipoise.backends.base import Backend, Keeping, answering
from equipoise.core import cache
from equipoise.core.cache import ResponseCache
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.progress import progress
from equipoise.core.prompts import Response
from equipoise.judge.located import Pair
from equipoise.judge.reading import parse_question
from equipoise.judge.rubric import LETTERS, load_rubric, orders_of
from equipoise.models.export import describe
from equipoise.models.registry import AnyEntry, ApiEntry, LlmJudgeEntry, PhantomEntry, ReplayEntry, load_entry
from equipoise.text.letters import REFUSAL, read_letter
from equipoise.text.reasoning import visible_text

UNANSWERED = (0.24, 0.24, 0.26, 0.26)
"""Probabilities if no order was answered: almost nothing is known, so the reading is none, and unsure."""
TOGETHER = 16
"""Prompts that a local backend processes at once; their number does not change answers."""
OBJECT = re.compile(r"\{[^{}]*\}")
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "treatment",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"answer": {"type": "string", "enum": list(LETTERS)}},
            "required": ["answer"],
            "additionalProperties": False,
        },
    },
}
"""The `response_format` that restricts a server to one of the letters."""


class Tally(NamedTuple):
    """Outcomes of the replies to a judge's questions, including cached ones, and the attempts repeated in this process.

    A reply is `refused` if the server filtered it or the model declined, `unreadable` if it has no letter.
    """

    asked: int = 0
    refused: int = 0
    unreadable: int = 0
    retries: int = 0


class LlmJudge:
    """A language model that reads passages, through the cache of responses."""

    def __init__(self, name: str, entry: LlmJudgeEntry, root: Path, responses: ResponseCache, stack: ExitStack) -> None:
        """Find the model; it is opened when there is something to ask, and stays open until `stack` is closed.

        Raises:
            EquipoiseError: As in `load_rubric` and `load_entry`; the model was not exported, or cannot answer new
                prompts.
        """
        self._rubric = load_rubric(root / entry.rubric)
        self._orders = orders_of(self._rubric.labels)
        self._name, self._kept = entry.model, responses
        self._entry = _judge_entry(load_entry(entry.model, root), entry)
        if isinstance(self._entry, PhantomEntry | ReplayEntry):
            raise EquipoiseError(
                f"models/judges/{name}.yaml: field model: {entry.model} is a {self._entry.backend}, which answers the "
                "prompts of studies alone: choose a model with weights, or a server"
            )
        self._manifest = _load_manifest(entry.model, self._entry, root)
        keeping = Keeping(responses, partial(answering, self._open))
        self._keeping = stack.enter_context(keeping)
        self.tally = Tally()

    @property
    def computed(self) -> float:
        """The number of pairs that the model was asked, not counting cached answers."""
        return self._keeping.computed / len(self._orders)

    def _open(self) -> Backend:
        if isinstance(self._entry, ApiEntry):
            from equipoise.backends.openai import ApiBackend

            return ApiBackend(self._name, self._entry, cache.folder() / "turns.sqlite", self._pause)
        store = (cache.folder() / "models").resolve()
        return open_backend(self._manifest, self._entry, store, batch_size=TOGETHER)

    async def _pause(self, seconds: float) -> None:
        self._count("retries")
        await sleep(seconds)

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of `TREATMENTS` for each (passage, question): (pairs, treatments).

        The model sees the passage without brackets around the lexicon's words.
        """
        return self.labelled(
            [(passage, f"{subject}: {words}") for passage, subject, words in map(parse_question, pairs)]
        )

    def labelled(self, plain: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of the rubric's labels for each (passage, what is asked about): (pairs, labels).

        Each answered order of the labels has the same weight. Equal pairs are asked once.
        """
        orders, labels = self._orders, self._rubric.labels
        unique = list(dict.fromkeys(plain))
        scored = self._entry.likelihoods
        prompts = [
            self._rubric.ask(pair, order, f"{number:07d}/{turn}", scored=scored)
            for number, pair in enumerate(unique)
            for turn, order in enumerate(orders)
        ]
        with progress("judge") as move:
            responses = answer_all(
                prompts,
                manifest=self._manifest,
                generation=self._entry.generation,
                cache=self._kept,
                make=partial(answering, self._open),
                progress=move,
                keeping=self._keeping,
            )
            rows = [self._row(response, order) for response, order in zip(responses, orders * len(unique), strict=True)]
        grouped = [rows[first : first + len(orders)] for first in range(0, len(rows), len(orders))]
        means = dict(zip(unique, map(_mean, grouped), strict=True))
        return np.array([means[pair] for pair in plain]).reshape(-1, len(labels))

    def _row(self, response: Response, order: Sequence[str]) -> NDArray[np.float64] | None:
        """Return the probabilities from one order; None without an answer, which is counted."""
        from scipy.special import softmax

        if self._entry.likelihoods:
            totals = [response.log_likelihood[letter] * response.candidate_tokens[letter] for letter in LETTERS]
            by_letter = softmax(totals)
        else:
            letter = self._letter(response, order)
            if letter is None:
                return None
            by_letter = np.array([float(candidate == letter) for candidate in LETTERS])
        self._count("asked")
        return np.array([by_letter[order.index(name)] for name in self._rubric.labels])

    def _letter(self, response: Response, order: Sequence[str]) -> str | None:
        reply = visible_text(response.replies[-1], self._entry.reasoning, finished=response.finished[-1])
        options = (self._rubric.options[name] for name in order)
        letter, rule = read_choice(reply, dict(zip(LETTERS, options, strict=True)))
        if letter is None:
            refused = rule == REFUSAL or "content_filter" in response.endings
            self._count("asked", "refused" if refused else "unreadable")
        return letter

    def _count(self, *names: str) -> None:
        self.tally = self.tally._replace(**{name: getattr(self.tally, name) + 1 for name in names})


def read_choice(reply: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    """Read a reply's letter, and the rule: from its last JSON object with an answer, else as for a question."""
    for text in reversed(OBJECT.findall(reply)):
        try:
            value = json.loads(text)
        except ValueError:
            continue
        letter = str(value.get("answer", "")).strip().upper()
        if letter in options:
            return letter, "json"
    return read_letter(reply, options)


def _mean(rows: Sequence[NDArray[np.float64] | None]) -> NDArray[np.float64]:
    answered = [row for row in rows if row is not None]
    return np.mean(answered, axis=0) if answered else np.array(UNANSWERED)


def _judge_entry(model: AnyEntry, judge: LlmJudgeEntry) -> AnyEntry:
    """Return the model's entry for use as a judge: a server gets the schema, unless the judge's entry disables it."""
    if not isinstance(model, ApiEntry):
        return model
    # Its reply is read, in the schema's form: the first token of JSON names no label.
    model = model.model_copy(update={"offers": "none"})
    if not judge.structured:
        return model
    body: dict[str, Any] = {"response_format": SCHEMA} | model.extra_body
    return model.model_copy(update={"extra_body": body})


def _load_manifest(name: str, entry: AnyEntry, root: Path) -> Manifest:
    """Return the model's manifest, which is part of every cache key, so a changed model or schema is asked again."""
    if isinstance(entry, ApiEntry):
        return describe(name, entry, cache.root())
    return find_manifest(name, root)


@contextmanager
def llm_judge(name: str, entry: LlmJudgeEntry, root: Path) -> Iterator[LlmJudge]:
    """Open a language-model judge of the registry, with the cache of responses of this repository."""
    with ResponseCache.open() as responses, ExitStack() as stack:
        yield LlmJudge(name, entry, root, responses, stack)
