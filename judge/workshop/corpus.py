"""Training pairs about clinical reasoning, composed from sentence banks that we wrote.

SNLI teaches entailment between descriptions of photographs; these pairs teach how clinical reasoning treats a feature
of the patient. A bank has sentences with slots about one dimension (race, housing, …), grouped by their treatment of
it; the generator fills the slots, surrounds the sentences with others, and asks the judge's questions about the
passage. Some sentences are excluded from training, so that accuracy can be measured on sentences whose wording the
judge has never seen.
"""

from __future__ import annotations

import random
import re
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.yamlfile import load_yaml
from equipoise.text.articles import with_article
from workshop.snli import Pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from random import Random
    from typing import Self

    from equipoise.judge.model import Label

Relation = Literal["weighed", "dismissed", "restated", "absent"]
Kind = Literal["weighed", "weighed_indirect", "dismissed", "restated", "beside", "other_person"]

RELATIONS: dict[Kind, Relation] = {
    "weighed": "weighed",
    "weighed_indirect": "weighed",
    "dismissed": "dismissed",
    "restated": "restated",
    "beside": "restated",
    "other_person": "absent",
}
"""How a sentence of each kind treats the feature of its bank."""

CLINICAL_SLOTS = frozenset({"condition", "finding"})
"""Slots that name no feature of the patient."""
PLACEHOLDERS = frozenset({"feature", "subject"})
"""Placeholders of hypotheses: the feature in plain words (black), and its kind (race)."""
KNOWN_SLOTS = CLINICAL_SLOTS | {"age", "a person", "person", "group", "trait", "adjective"}
SLOT = re.compile(r"(?P<article>\b[Aa]n? )?\{(?P<name>[^{}]*)\}")
"""A slot, with the preceding indefinite article, which depends on the slot's value."""
BEGINNING = re.compile(r"(?:^|\n|[.!?][\"')*_]*\s)[^\w.!?\n]*$")
"""Text before the first word of a sentence, including marks of lists and bold type."""

Slots = Annotated[tuple[str, ...], Field(min_length=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Wordings(_Entry):
    """The wordings of a feature in a sentence, by slot; `ages` limits the patient's age in years."""

    person: Slots
    group: Slots
    trait: Slots
    adjective: Slots | None = None
    ages: tuple[int, int] = (19, 88)

    @model_validator(mode="after")
    def _ages_rise(self) -> Self:
        if not 0 <= self.ages[0] <= self.ages[1]:
            message = f"ages {list(self.ages)} must rise, from 0"
            raise ValueError(message)
        return self


class Sentence(_Entry):
    """A sentence with slots, and the features that it fits if it does not fit all features of its bank."""

    text: Annotated[str, Field(min_length=1)]
    features: Slots | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        if isinstance(value, dict) and isinstance(value.get("features"), list):
            # pydantic does not treat a validator's output as JSON, so a list must be converted to a tuple.
            return {**value, "features": tuple(value["features"])}
        return {"text": value} if isinstance(value, str) else value

    def fits(self, name: str, words: Wordings) -> bool:
        """Whether the sentence can be about a feature."""
        has_words = words.adjective is not None or "adjective" not in _slots(self.text)
        return has_words and name in (self.features or (name,))


class Bank(_Entry):
    """The sentences about one dimension, by kind, and the features that they can be about."""

    dimension: str
    features: Annotated[dict[str, Wordings], Field(min_length=1)]
    sentences: dict[Kind, Annotated[tuple[Sentence, ...], Field(min_length=2)]]

    @model_validator(mode="after")
    def _has_sentences(self) -> Self:
        if missing := [kind for kind in RELATIONS if kind not in self.sentences]:
            message = f"there are no sentences of the kind {missing[0]}"
            raise ValueError(message)
        for sentence in (entry for kind in self.sentences.values() for entry in kind):
            _require_slots(sentence.text, KNOWN_SLOTS)
            if strange := sorted(set(sentence.features or ()) - set(self.features)):
                message = f"{sentence.text!r} names the feature {strange[0]!r}, which the bank does not have"
                raise ValueError(message)
            if not any(sentence.fits(name, words) for name, words in self.features.items()):
                message = f"{sentence.text!r} fits no feature: give one an adjective, or write it without"
                raise ValueError(message)
        return self


class Surroundings(_Entry):
    """Sentences that name no feature of the patient, and the values of the clinical slots."""

    sentences: Annotated[Slots, Field(min_length=2)]
    conditions: Slots
    findings: Slots

    @model_validator(mode="after")
    def _names_nothing(self) -> Self:
        for text in self.sentences:
            _require_slots(text, CLINICAL_SLOTS)
        return self


def load_banks(folder: Path) -> tuple[dict[str, Bank], Surroundings]:
    """Read every bank of a folder, by dimension, and the surroundings (`unrelated.yaml`); errors name the entry."""
    banks = {path.stem: load_yaml(path, Bank) for path in sorted(folder.glob("*.yaml")) if path.stem != "unrelated"}
    for name, bank in banks.items():
        if bank.dimension != name:
            message = f"{folder / name}.yaml: dimension is {bank.dimension!r}: name the file after it"
            raise EquipoiseError(message)
    return banks, load_yaml(folder / "unrelated.yaml", Surroundings)


def slot_values(around: Surroundings, words: Wordings | None, rng: Random) -> dict[str, str]:
    """Draw the value of each slot: a condition and a finding and, with `words`, an age and a feature's wordings."""
    values = {"condition": rng.choice(around.conditions), "finding": rng.choice(around.findings)}
    if words:
        values["age"] = str(rng.randint(*words.ages))
        person = rng.choice(words.person)
        values |= {"person": person, "a person": with_article(person)}
        values |= {"group": rng.choice(words.group), "trait": rng.choice(words.trait)}
        values |= {"adjective": rng.choice(words.adjective)} if words.adjective else {}
    return values


def fill(text: str, values: Mapping[str, str]) -> str:
    """Fill the slots of a sentence, with the right articles, and capital letters at the beginning of sentences."""

    def value(slot: re.Match[str]) -> str:
        words = values[slot["name"]]
        if slot["article"]:
            # The article may be capitalised.
            words = slot["article"][0] + with_article(words)[1:]
        return _capital(words) if BEGINNING.search(text, 0, slot.start()) else words

    return _capital(SLOT.sub(value, text))


def _slots(text: str) -> set[str]:
    return {slot["name"] for slot in SLOT.finditer(text)}


def _require_slots(text: str, allowed: frozenset[str]) -> None:
    """Refuse a sentence with a slot that is not allowed, or with a stray brace."""
    if unknown := sorted(_slots(text) - allowed):
        message = f"{text!r} has the slot {unknown[0]!r}; known are {', '.join(sorted(allowed))}"
        raise ValueError(message)
    if set("{}") & set(SLOT.sub("", text)):
        message = f"{text!r} has a brace that opens or closes no slot"
        raise ValueError(message)


def _capital(text: str) -> str:
    """Capitalise the first letter of a text, which marks may precede but no digit or other letter."""
    first = re.search(r"[^\W_]", text)
    at = first.start() if first else 0
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]


GOLD: dict[str, dict[Relation, Label]] = {
    "mentioned": {"weighed": "entailment", "dismissed": "entailment", "restated": "entailment", "absent": "neutral"},
    "weighed": {"weighed": "entailment", "dismissed": "contradiction", "restated": "neutral", "absent": "neutral"},
    "dismissed": {"weighed": "contradiction", "dismissed": "entailment", "restated": "neutral", "absent": "neutral"},
}
"""A passage's label for each question, by its treatment of the feature."""

ALWAYS = "weighed"
"""The question asked about every passage; each of the others is asked about every second one."""


class Hypotheses(_Entry):
    """The questions about a composed passage: a list of wordings for each question."""

    mentioned: Slots
    weighed: Slots
    dismissed: Slots

    @field_validator("*")
    @classmethod
    def _placeholders_known(cls, templates: tuple[str, ...]) -> tuple[str, ...]:
        for template in templates:
            unknown = {name for _, name, _, _ in Formatter().parse(template) if name is not None} - PLACEHOLDERS
            if unknown:
                message = f"{template!r} has the placeholder {min(unknown)!r}; only feature and subject are filled"
                raise ValueError(message)
        return templates


class CorpusSettings(BaseModel):
    """The section `corpus` of judge/params.yaml.

    `passages` is the number of passages composed for training, `test` the number for the test; `held_out` is the share
    of a bank's sentences, by kind, that only the test uses; `kinds` is the share of each kind of sentence, `elsewhere`
    the share of passages with questions about a dimension that they do not mention, `bare` the share that mention no
    dimension; `hypotheses` are the wordings of each question; `snli` is the number of SNLI pairs added.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int
    passages: Annotated[int, Field(ge=1)]
    test: Annotated[int, Field(ge=1)]
    held_out: Annotated[float, Field(gt=0, lt=1)]
    kinds: dict[Kind, Annotated[float, Field(ge=0)]]
    elsewhere: Annotated[float, Field(ge=0, lt=1)]
    bare: Annotated[float, Field(ge=0, lt=1)]
    hypotheses: Hypotheses
    snli: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _shares_known(self) -> Self:
        if missing := [kind for kind in RELATIONS if kind not in self.kinds]:
            message = f"kinds has no share for {missing[0]}: give one, or 0"
            raise ValueError(message)
        if not any(self.kinds.values()):
            message = "kinds are all 0: no sentence could be told"
            raise ValueError(message)
        return self


class _Filled(NamedTuple):
    """A filled sentence of a bank, and the feature that it is about."""

    text: str
    feature: str


def compose(
    banks: Mapping[str, Bank], around: Surroundings, subjects: Mapping[str, str], settings: CorpusSettings
) -> tuple[list[Pair], list[Pair]]:
    """Compose pairs for training and for the test, which share no sentence, not even of the surroundings.

    `subjects` names each dimension in hypotheses (race, body weight). Equal settings give equal pairs.

    Raises:
        EquipoiseError: There is only one bank, or a bank's dimension has no subject.
    """
    if len(banks) < 2:  # noqa: PLR2004  (passages mention two dimensions)
        message = f"there are {len(banks)} banks of sentences: passages need two or more"
        raise EquipoiseError(message)
    if unnamed := sorted(set(banks) - set(subjects)):
        message = f"the bank {unnamed[0]!r} has no subject: add data/features/{unnamed[0]}.yaml"
        raise EquipoiseError(message)
    for_training, for_test = _divide(banks, settings)
    rng = random.Random(settings.seed)  # noqa: S311  (a choice, not a secret)
    order = rng.sample(around.sentences, len(around.sentences))
    n = _n_held(order, settings)
    near, far = (around.model_copy(update={"sentences": tuple(part)}) for part in (order[n:], order[:n]))
    training = _Composer(for_training, near, subjects, settings, random.Random(settings.seed))  # noqa: S311
    testing = _Composer(for_test, far, subjects, settings, random.Random(settings.seed + 1))  # noqa: S311
    return training.pairs(settings.passages), testing.pairs(settings.test)


def _divide(banks: Mapping[str, Bank], settings: CorpusSettings) -> tuple[dict[str, Bank], dict[str, Bank]]:
    """Split each bank in two; no sentence occurs in the training half of one bank and the test half of another."""
    rng = random.Random(settings.seed)  # noqa: S311
    for_training: dict[str, dict[Kind, tuple[Sentence, ...]]] = {}
    for_test: dict[str, dict[Kind, tuple[Sentence, ...]]] = {}
    # A sentence that fits every dimension may occur in several banks, and goes to the same half in all.
    is_held: dict[str, bool] = {}
    for name, bank in banks.items():
        for_training[name], for_test[name] = {}, {}
        for kind, sentences in bank.sentences.items():
            order = rng.sample(sentences, len(sentences))
            n = _n_held(order, settings) - sum(is_held.get(sentence.text, False) for sentence in order)
            undecided = list(dict.fromkeys(sentence.text for sentence in order if sentence.text not in is_held))
            is_held |= {text: place < n for place, text in enumerate(undecided)}
            for_test[name][kind] = tuple(sentence for sentence in order if is_held[sentence.text])
            for_training[name][kind] = tuple(sentence for sentence in order if not is_held[sentence.text])
            if not for_test[name][kind] or not for_training[name][kind]:
                message = f"{name}.yaml: too few {kind} sentences that no other bank has: add some"
                raise EquipoiseError(message)
    return (
        {name: bank.model_copy(update={"sentences": for_training[name]}) for name, bank in banks.items()},
        {name: bank.model_copy(update={"sentences": for_test[name]}) for name, bank in banks.items()},
    )


def _n_held(sentences: Sequence[object], settings: CorpusSettings) -> int:
    """Return the number of sentences for the test: the requested share, but neither none nor all."""
    return min(max(1, round(settings.held_out * len(sentences))), len(sentences) - 1)


class _Composer:
    """Composes passages from banks, with questions about them."""

    def __init__(
        self,
        banks: Mapping[str, Bank],
        around: Surroundings,
        subjects: Mapping[str, str],
        settings: CorpusSettings,
        rng: random.Random,
    ) -> None:
        self._banks, self._around, self._subjects, self._settings, self._rng = banks, around, subjects, settings, rng

    def pairs(self, passages: int) -> list[Pair]:
        """Return the pairs of so many passages, each distinct pair once."""
        pairs_by_text: dict[tuple[str, str], Pair] = {}
        for _ in range(passages):
            for pair in self._passage():
                pairs_by_text.setdefault((pair.premise, pair.hypothesis), pair)
        return list(pairs_by_text.values())

    def _passage(self) -> list[Pair]:
        """Compose a passage, with questions about a feature that it mentions, or about one that it does not."""
        rng, settings = self._rng, self._settings
        dimension = rng.choice(list(self._banks))
        if rng.random() < settings.bare:
            n = min(rng.randint(1, 3), len(self._around.sentences))
            bare = " ".join(self._fill(sentence) for sentence in rng.sample(self._around.sentences, n))
            return self._questions(bare, dimension, rng.choice(list(self._banks[dimension].features)), "absent")
        kinds = self._banks[dimension].sentences
        kind = rng.choices(list(kinds), [settings.kinds[name] for name in kinds])[0]
        filled = self._sentence(dimension, kind)
        others = [name for name in self._banks if name != dimension]
        besides = rng.choice(others)
        text, second = self._surround(filled, dimension, kind, besides)
        untold = [name for name in others if not (second and name == besides)]
        if rng.random() >= settings.elsewhere or not untold:
            return self._questions(text, dimension, filled.feature, RELATIONS[kind])
        absent = rng.choice(untold)
        # A summary, or a sentence beside it, may name age or sex in passing. In other passages they are surely absent.
        feature = rng.choice(list(self._banks[absent].features))
        if kind in ("weighed", "weighed_indirect", "dismissed", "other_person") and absent not in ("age", "gender"):
            return self._questions(text, absent, feature, "absent")
        return self._questions(text, dimension, filled.feature, RELATIONS[kind])

    def _surround(self, filled: _Filled, dimension: str, kind: Kind, besides: str) -> tuple[str, bool]:
        """Add sentences before and after; return whether one of them is about the dimension `besides`."""
        rng = self._rng
        before: list[str] = []
        after: list[str] = []
        second = False
        for _ in range(rng.choices((0, 1, 2), (6, 3, 1))[0]):
            side = before if rng.random() < 0.5 else after  # noqa: PLR2004
            draw = rng.random()
            if draw < 0.15 and RELATIONS[kind] != "absent":  # noqa: PLR2004  (the feature restated beside)
                side.append(self._sentence(dimension, "restated", filled.feature).text)
            elif draw < 0.35 and not second:  # noqa: PLR2004  (another feature weighed beside)
                second = True
                side.append(self._sentence(besides, rng.choice(("weighed", "restated"))).text)
            else:
                side.append(self._fill(rng.choice(self._around.sentences)))
        join = rng.choices((" ", "\n"), (4, 1))[0]
        return join.join([*before, filled.text, *after]), second

    def _questions(self, text: str, dimension: str, feature: str, relation: Relation) -> list[Pair]:
        """Return the questions about one feature, with the passage's labels."""
        rng = self._rng
        pairs = []
        for question, templates in self._settings.hypotheses:
            if question == ALWAYS or rng.random() < 0.5:  # noqa: PLR2004
                hypothesis = rng.choice(templates).format(feature=feature, subject=self._subjects[dimension])
                pairs.append(Pair(text, hypothesis, GOLD[question][relation]))
        return pairs

    def _sentence(self, dimension: str, kind: Kind, feature: str | None = None) -> _Filled:
        """Draw a sentence of a kind, filled for a feature that it fits."""
        bank, rng = self._banks[dimension], self._rng
        for sentence in rng.sample(bank.sentences[kind], len(bank.sentences[kind])):
            fitting = [
                name for name, words in bank.features.items() if sentence.fits(name, words) and feature in (None, name)
            ]
            if fitting:
                name = rng.choice(fitting)
                return _Filled(self._fill(sentence.text, bank.features[name]), name)
        # Every sentence of this kind belongs to other features: use one of them.
        return self._sentence(dimension, kind)

    def _fill(self, text: str, words: Wordings | None = None) -> str:
        """Fill the slots of a sentence."""
        return fill(text, slot_values(self._around, words, self._rng))
