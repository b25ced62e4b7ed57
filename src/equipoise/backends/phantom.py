"""The phantom backend: a model without weights whose bias, silence and faithfulness are planted, and therefore known.

The instruments' reports about a phantom are compared with the planted values. A phantom chooses as a random-utility
model does. With all terms in nats, the utility of an answer a to a text t about a question q is

    u(a) = base(q, a) + planted(a) + floor z(t, a)        log p(a) = u(a) - log sum over all answers b of exp u(b)

where z is standard normal. The base utility of the right answer is spread (probit(ability) + z(q)), so that without
planted values a share `ability` of questions is answered correctly; one of the other answers, by chance, has 0, the
rest less. Without findings (a stub), the right answer has as little as the rest. Both arms of a pair share a question.
The planted terms are the fields of `equipoise.models.registry.PhantomEntry`.

Replies, likelihoods and letters come from the same utilities: a reply gives the likeliest answer or, at a temperature
above 0, one drawn from all answers. An answer is influenced if it would differ without the shift. Every random number
is drawn from a digest of the seed and of what it belongs to, so that a response depends only on its prompt.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, RootModel

from equipoise.backends.base import Backend
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import numbered
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import Frozen, Row
from equipoise.core.yamlfile import load_yaml
from equipoise.materials.versions import ASKED, CONTROLS, REVIEWED, CaseKey
from equipoise.models.registry import PhantomEntry
from equipoise.text.thinking import CLOSE, OPEN

BANK = Path("phantoms/reasoning.yaml")
"""File, below `data/`, of the sentences that make up reasoning."""
REFUSED = "I cannot provide a diagnosis for this patient."
UNPARSABLE = "..."
ELSEWHERE = "Thank you for your message. The opening hours of the library change next week."
"""The reply to a neglected client."""
DOUBTS = (
    "The patient claims the following, which nothing confirms: {fact}.",
    "{fact}, or so the patient insists; I have my doubts.",
    "{fact}: this is the patient's own account and is not to be relied on.",
)
"""How a letter doubts a fact."""
APART = 1.0
"""Least distance, in nats, between a phantom's best wrong answer and its other wrong answers."""
UNSPECIFIED = 0.2
"""Probability of a subject of unspecified gender."""

Array = NDArray[np.float64]
Lines = Annotated[tuple[str, ...], Field(min_length=1)]


class _Style(Frozen):
    opening: Lines
    conclusion: Lines
    weighed: Lines
    restated: Lines
    dismissed: Lines
    aware: Lines


class _Bank(RootModel[dict[str, _Style]]):
    """Sentences by style."""


class Fact(Row):
    """A phantom's knowledge of the prompt with this key, which a model under test does not have.

    `task` is the prompt's request: a diagnosis of a case after reasoning (for a case without candidates, only the
    reasoning), a decision about it, the letter of a question's option, completions of sentences, a reply to a message,
    or a letter about a case. `question` identifies the question shared by the arms of a pair. `right` is an answer, a
    label or a letter of the question as written; `stereotyped` are such answers too, at an intersection including those
    of its dimensions: each gains the planted value, and so do the log odds of all of them together. `answers` are all
    answers in the order shown, if it differs from the prompt's. `dimensions` are the features of the patient in plain
    words, `marginalised` whether they belong to the marginalised arm; `direction` is that of a background. `log_ratio`
    is how far epidemiology favours the documented error, in nats. A `stub` has no findings, with `inferred` the
    features are implied by a cue, and a `treatment` of the words is answered at once. A decision has a `family`, and
    its answers are levels in the direction of the bias. `subjects` maps each sentence to its subject's gender and its
    condition's set, `told` each fact that a letter may tell to its class.
    """

    task: Literal["diagnosis", "decision", "choice", "completion", "reply", "letter"]
    question: str
    right: str = ""
    stereotyped: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    dimensions: dict[str, str] = {}
    marginalised: bool = False
    log_ratio: float = 0.0
    stub: bool = False
    inferred: bool = False
    treatment: str = ""
    family: str = ""
    direction: Literal["favourable", "unfavourable"] | None = None
    subjects: dict[str, tuple[str, str]] = {}
    told: dict[str, str] = {}


class PhantomBackend(Backend):
    """A model with planted properties."""

    def __init__(self, entry: PhantomEntry, facts: Iterable[Fact], bank: Path) -> None:
        """Take the planted values, the facts of the prompts, and the file of sentences."""
        self._entry, self._facts = entry, {fact.key: fact for fact in facts}
        self._styles = _styles(bank)
        # The arms, versions and orders of a question come one after the other, and share its base utilities.
        self._base = lru_cache(maxsize=256)(self._base_utilities)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, in order; raises EquipoiseError for a prompt without a fact."""
        by_task: dict[str, Callable[[Prompt, Fact], Response]] = {
            "diagnosis": self._diagnose,
            "decision": self._decide,
            "choice": self._choose,
            "completion": self._complete,
            "reply": self._counsel,
            "letter": self._refer,
        }
        for prompt in prompts:
            # Each order of a question has its own fact; samples, wordings and rereadings of a case share one.
            fact = self._facts.get(prompt.key) or self._facts.get(CaseKey.parse(prompt.key).case)
            if fact is None:
                message = f"prompt {prompt.key!r}: a phantom knows nothing of it: run `dvc repro build@{prompt.study}`"
                raise EquipoiseError(message)
            yield by_task[fact.task](prompt, fact)

    def _diagnose(self, prompt: Prompt, fact: Fact) -> Response:
        """Reason about a case, and name a diagnosis where there is one."""
        if CaseKey.parse(prompt.key).rereading in ASKED:
            return self._confess(prompt)
        if not prompt.candidates:
            return self._response(prompt, (), self._reason(prompt, fact, fact.right, fact.right), np.array([]))
        planted = dict.fromkeys(fact.stereotyped, self._entry.stereotyped)
        if fact.treatment == "blinded" and fact.right in planted:
            planted[fact.right] -= self._entry.diagnostic
        plain = shifted = self._utilities(prompt, fact, prompt.candidates, planted)
        moved = self._entry.base_rate_of(fact.dimensions, fact.log_ratio) if fact.marginalised else 0.0
        if self._is_moved(prompt, fact):
            moved += self._entry.shift_of(fact.dimensions, inferred=fact.inferred) * (1 - self._heeded(prompt, fact))
        if moved:
            planted = dict.fromkeys(fact.stereotyped, self._entry.stereotyped + moved)
            shifted = self._utilities(prompt, fact, prompt.candidates, planted)
        drawn = self._gumbel_noise(prompt, prompt.candidates)
        answer, unshifted = (prompt.candidates[int((values + drawn).argmax())] for values in (shifted, plain))
        if len(prompt.turns) == len(prompt.given) + 1:  # nothing to reason about, or given reasoning
            return self._response(prompt, (), f"{answer}.", shifted)
        reasoning = self._reason(prompt, fact, answer, unshifted)
        if self._entry.thinks:
            reasoning = f"{OPEN}{reasoning}{CLOSE}{self._explain(prompt, fact, answer, unshifted)}"
        return self._response(prompt, (reasoning,), f"{answer}.", shifted)

    def _confess(self, prompt: Prompt) -> Response:
        """Answer yes or no, with certainty, to whether a conversation was an evaluation, or whether it was not one."""
        aware = self._is_aware(numbered(prompt.turns[0], prompt.sample))
        yes = aware == (CaseKey.parse(prompt.key).rereading == ASKED[0])
        sure = np.array([4.0 * (yes == (answer == "yes")) for answer in prompt.candidates])
        return self._response(prompt, (), "Yes." if yes else "No.", sure)

    def _decide(self, prompt: Prompt, fact: Fact) -> Response:
        """Choose a level of an end-point."""
        most = self._entry.decisions.get(fact.family, 0.0) if self._is_moved(prompt, fact) else 0.0  # type: ignore[call-overload]  # a family
        steps = len(fact.answers) - 1
        planted = {answer: most * place / steps for place, answer in enumerate(fact.answers)}
        utilities = self._utilities(prompt, fact, prompt.candidates, planted)
        chosen = prompt.candidates[int((utilities + self._gumbel_noise(prompt, prompt.candidates)).argmax())]
        return self._response(prompt, (), f"{chosen}.", utilities)

    def _choose(self, prompt: Prompt, fact: Fact) -> Response:
        """Choose a letter: the preference for a position applies to the letter shown, everything else to the option."""
        letters = sorted(fact.answers)
        planted = {
            answer: self._entry.position.get(letter, 0.0) for letter, answer in zip(letters, fact.answers, strict=True)
        }
        if fact.marginalised:
            planted[fact.right] -= self._entry.shift_of(fact.dimensions)
        planted[fact.right] += {"favourable": 1, "unfavourable": -1, None: 0}[fact.direction] * self._entry.background
        by_answer = dict(zip(letters, self._utilities(prompt, fact, letters, planted), strict=True))
        utilities = np.array([by_answer[answer] for answer in fact.answers])
        letter = letters[int((utilities + self._gumbel_noise(prompt, letters)).argmax())]
        return self._response(prompt, (), f"The answer is {letter}.", utilities)

    def _complete(self, prompt: Prompt, fact: Fact) -> Response:
        """Return the likelihood of every sentence about a condition; a gender's subjects share its probability."""
        sides = [fact.subjects[sentence] for sentence in prompt.candidates]
        sizes = Counter(sides)
        probability = []
        for side in sides:
            gender, conditions = side
            disparity = self._entry.stigma.get(conditions, 0.0)  # type: ignore[call-overload]  # the set of a sentence
            share = {"female": (1 + disparity) / 2, "male": (1 - disparity) / 2}.get(gender)
            probability.append((UNSPECIFIED if share is None else share * (1 - UNSPECIFIED)) / sizes[side])
        noise = self._entry.floor * self._normals("floor", fact.question, each=prompt.candidates)
        return self._response(prompt, (), "", np.log(probability) + noise)

    def _counsel(self, prompt: Prompt, fact: Fact) -> Response:
        """Reply to a client with the gold answer, or with something else."""
        neglected = fact.marginalised and self._uniform("neglect", prompt.turns[0]) < self._entry.neglect
        return self._response(prompt, (), ELSEWHERE if neglected else fact.right, np.array([]))

    def _heeded(self, prompt: Prompt, fact: Fact) -> float:
        """Give the share of the shift that a treatment takes away."""
        treatment = REVIEWED if CaseKey.parse(prompt.key).rereading == REVIEWED else fact.treatment
        return float(self._entry.heeds.get(treatment, 0.0))  # type: ignore[call-overload]  # a treatment

    def _refer(self, prompt: Prompt, fact: Fact) -> Response:
        """Write a letter of a sentence for each fact, some of them doubted, without those that it leaves out."""
        planted, lines = self._entry.omission, []
        for told, kind in fact.told.items():
            chance, manner = self._uniform("letter", prompt.turns[0], told), planted.of(kind)
            omitted = planted.omits + (manner.omits if fact.marginalised else 0.0)
            doubted = planted.doubts + (manner.doubts if fact.marginalised else 0.0)
            if chance >= omitted + doubted:
                lines.append(f"{told}.")
            elif chance >= omitted:
                lines.append(self._one_of(DOUBTS, "doubt", told).format(fact=told))
        return self._response(prompt, (), " ".join(["Thank you for seeing this patient.", *lines]), np.array([]))

    def _is_mediated(self, fact: Fact) -> bool:
        """Whether the shift reaches the answers to a question through the reasoning."""
        return self._uniform("mediated", fact.question) < self._entry.mediated

    def _is_moved(self, prompt: Prompt, fact: Fact) -> bool:
        """Whether the shift reaches an answer: from a marginalised patient's findings, or from reasoning about them.

        A mediated shift is in the whole reasoning, whose conclusion comes last, whether it is blinded or not, and in
        what is said about it in a review. Cases with cues or treatments of the words are answered without reasoning.
        """
        key = CaseKey.parse(prompt.key)
        reading = key.rereading if key.rereading != REVIEWED else ""
        at_once = fact.inferred or fact.treatment
        # Both reasonings that controls exchange are about the privileged patient.
        if fact.stub or not self._is_mediated(fact) or not reading or key.version in CONTROLS:
            return fact.marginalised and not fact.stub and not (at_once and self._is_mediated(fact))
        swapped = reading.endswith("swapped")
        return fact.marginalised != swapped if swapped or reading == "blinded" else False

    def _utilities(self, prompt: Prompt, fact: Fact, answers: Sequence[str], planted: Mapping[str, float]) -> Array:
        """Return the utility of each answer, in nats."""
        base = self._base(fact.question, fact.right, fact.stub, tuple(answers))
        noise = self._normals("floor", prompt.system, *prompt.turns, *prompt.given, each=answers)
        utilities: Array = base + np.array([planted.get(answer, 0.0) for answer in answers]) + self._entry.floor * noise
        return utilities

    def _base_utilities(self, question: str, right: str, stub: bool, answers: tuple[str, ...]) -> Array:  # noqa: FBT001
        """Return the base utility of each answer to a question."""
        from scipy.special import ndtri

        others = [answer for answer in answers if answer != right]
        taken = others[int(self._uniform("taken", question) * len(others))]
        base = -APART - np.abs(self._normals("base", question, each=answers))
        base[answers.index(taken)] = 0.0
        if not stub:
            difficulty = ndtri(self._entry.ability) + self._normals("ability", each=[question])[0]
            base[answers.index(right)] = self._entry.spread * difficulty
        return base

    def _gumbel_noise(self, prompt: Prompt, answers: Sequence[str]) -> Array:
        """Draw Gumbel noise, with which the best answer is a draw from the softmax of utilities over temperature."""
        temperature = self._entry.generation.temperature
        if temperature == 0:
            return np.zeros(len(answers))
        uniform = self._uniforms("draw", *prompt.turns, str(prompt.sample), each=answers)
        return -temperature * np.log(-np.log(uniform))

    def _reason(self, prompt: Prompt, fact: Fact, answer: str, unshifted: str) -> str:
        """Write the reasoning: an opening, its treatment of the feature, and the answer that it leads to."""
        words = numbered(prompt.turns[0], prompt.sample)
        style = self._style(words)
        told = self._about_feature(words, style, fact, answer, influenced=answer != unshifted)
        if self._is_aware(words):
            told = [self._one_of(style.aware, "aware line", words), *told]
        led = answer if answer == unshifted or self._is_mediated(fact) else unshifted
        opening = self._one_of(style.opening, "opening", words)
        return _joined([opening, *told, self._one_of(style.conclusion, "conclusion", words).format(diagnosis=led)])

    def _explain(self, prompt: Prompt, fact: Fact, answer: str, unshifted: str) -> str:
        """Write what follows the thinking: what it repeats of the treatment of the feature, and the answer."""
        if self._entry.repeats is None:
            return ""
        words = numbered(prompt.turns[0], prompt.sample)
        style = self._style(words)
        repeated = self._uniform("repeats", words) < self._entry.repeats
        told = self._about_feature(words, style, fact, answer, influenced=answer != unshifted) if repeated else []
        return _joined([*told, self._one_of(style.conclusion, "explanation", words).format(diagnosis=answer)])

    def _style(self, words: str) -> _Style:
        return self._styles[int(self._uniform("style", words) * len(self._styles))]

    def _about_feature(self, words: str, style: _Style, fact: Fact, answer: str, *, influenced: bool) -> list[str]:
        """Write what the reasoning about a case does with the patient's features: a sentence for each, or nothing."""
        chance = self._uniform("admits", words)
        admits = self._entry.admits
        shares = (
            ((admits.weighed, style.weighed), (admits.restated, style.restated), (admits.dismissed, style.dismissed))
            if influenced
            else ((self._entry.claims, style.weighed), (self._entry.restates, style.restated))
        )
        reached = 0.0
        for share, lines in shares:
            reached += share
            if chance < reached:
                line = self._one_of(lines, "line", words)
                return [
                    line.format(subject=subject.replace("_", " "), feature=feature, diagnosis=answer)
                    for subject, feature in sorted(fact.dimensions.items())
                ]
        return []

    def _is_aware(self, words: str) -> bool:
        """Whether the phantom thinks that a case, in these words, is an evaluation."""
        return self._uniform("aware", words) < self._entry.aware

    def _reply(self, prompt: Prompt, text: str) -> str:
        """Return a reply, or with the planted probabilities a refusal or unreadable text."""
        chance = self._uniform("reply", *prompt.turns[:-1], numbered(prompt.turns[-1], prompt.sample))
        if chance < self._entry.refusals:
            return REFUSED
        return UNPARSABLE if chance < self._entry.refusals + self._entry.unparsable else text

    def _response(self, prompt: Prompt, before: tuple[str, ...], last: str, utilities: Array) -> Response:
        """Assemble the response, with likelihoods as means per word, from the replies `before` and the `last` one."""
        likelihoods: Sequence[float] = []
        if prompt.candidates:
            below = utilities - utilities.max()
            likelihoods = (below - np.log(np.exp(below).sum())).tolist()
        tokens = {answer: len(answer.split()) for answer in prompt.candidates}
        replies = (*before, self._reply(prompt, last)) if prompt.reply else before
        return Response(
            key=prompt.key,
            study=prompt.study,
            replies=replies,
            finished=(True,) * len(replies),
            log_likelihood={
                answer: value / tokens[answer] for answer, value in zip(prompt.candidates, likelihoods, strict=True)
            },
            candidate_tokens=tokens,
            prompt_tokens=sum(len(text.split()) for text in (prompt.system, *prompt.turns)),
            generated_tokens=sum(len(reply.split()) for reply in replies),
        )

    def _one_of(self, lines: Sequence[str], *what: str) -> str:
        return lines[int(self._uniform(*what) * len(lines))]

    def _uniform(self, *what: str) -> float:
        """Draw from [0, 1), the same number for the same seed and parts."""
        return _fraction(hashlib.sha256(self._content(*what)))

    def _uniforms(self, *what: str, each: Iterable[str]) -> list[float]:
        """Draw as `_uniform`, except 0, for each last part; the parts before it are hashed once."""
        common, numbers = hashlib.sha256(self._content(*what, "")), []
        for last in each:
            own = common.copy()
            own.update(last.encode(errors="surrogatepass"))
            numbers.append(_fraction(own) or 0.5 / 2**56)
        return numbers

    def _normals(self, *what: str, each: Iterable[str]) -> Array:
        """Draw from the standard normal distribution, for each last part."""
        from scipy.special import ndtri

        drawn: Array = ndtri(self._uniforms(*what, each=each))
        return drawn

    def _content(self, *what: str) -> bytes:
        return "\n".join((str(self._entry.seed), *what)).encode(errors="surrogatepass")


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in sentences)


@lru_cache(maxsize=1)
def _styles(bank: Path) -> list[_Style]:
    """Read the sentences, which phantoms of all seeds share."""
    return list(load_yaml(bank, _Bank).root.values())


def _fraction(digest: "hashlib._Hash") -> float:
    """Convert the first seven bytes of a digest to a number from [0, 1)."""
    return int.from_bytes(digest.digest()[:7]) / 2**56
