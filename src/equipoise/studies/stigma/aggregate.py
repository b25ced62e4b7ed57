"""Attribution of the words that a masked model predicts to a gender.

There are two ways: `legacy`, as published and released by Lin et al. (2022), and `words`, the default. The released
code removes the space from every token before comparing it, so that the token "girl" after "school" counts as a girl;
by default a token counts only if it is a whole word.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from equipoise.studies.stigma.library import Condition, Gender, GenderedWords, Template
from equipoise.studies.stigma.rows import Aggregation, Fill, Scorer

THRESHOLD = 0.01
"""RQ1 sums the probabilities above this; less likely words are left out of all three sums."""


@dataclass(frozen=True, slots=True)
class Token:
    """A prediction for a mask.

    `text` is the decoded token, with or without its space; `whole` says whether it is a whole word: it begins with a
    space or begins the sentence, and the text after the mask does not continue it (`continues`).
    """

    text: str
    probability: float
    whole: bool = True

    @property
    def word(self) -> str:
        """The text without the spaces around it."""
        return self.text.strip()


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Gender by word; `names` (first names) are compared as spelt, `words` in lower case if `fold` is set."""

    words: Mapping[str, Gender]
    names: Mapping[str, Gender]
    fold: bool

    def gender(self, word: str) -> Gender | None:
        """Return the gender of a word, None if it has none; common nouns take precedence over names."""
        return self.words.get(word.lower() if self.fold else word) or self.names.get(word)

    def gender_of(self, token: Token, aggregation: Aggregation = "words") -> Gender | None:
        """Return the gender of a token; by default only whole words have one."""
        return self.gender(token.word) if token.whole or aggregation == "legacy" else None

    def gender_at_end(self, word: str) -> Gender | None:
        """Return the gender of the longest gendered word that a word ends with: "schoolgirl" is female."""
        return next(filter(None, (self.gender(word[start:]) for start in range(len(word)))), None)


@dataclass(frozen=True, slots=True)
class Shares:
    """The probabilities of female, male and other subjects, and of the words behind them, the likeliest first."""

    female: float
    male: float
    unspecified: float
    words: dict[str, float]


def fill(template: Template, condition: Condition, scorer: Scorer, shares: Shares) -> Fill:
    """Make the row of a sentence about one condition."""
    return Fill(
        key=f"{template.name}/{condition.name}",
        template=template.key,
        condition=condition.name,
        condition_set=condition.condition_set,
        scorer=scorer,
        question=template.question,
        group=template.group,
        polarity=template.polarity,
        female=shares.female,
        male=shares.male,
        unspecified=shares.unspecified,
        words=shares.words,
    )


def short_lexicon(words: GenderedWords, names: Mapping[Gender, Iterable[str]] | None = None) -> Lexicon:
    """Build RQ1's lexicon: the short lists, compared in lower case, and first names if given."""
    return Lexicon(
        by_word(words), {name: gender for gender, list_ in (names or {}).items() for name in list_}, fold=True
    )


def noun_lexicon(words: GenderedWords) -> Lexicon:
    """Build RQ2's lexicon: the full noun lists, compared as spelt."""
    return Lexicon(by_word(words), {}, fold=False)


def by_word(words: GenderedWords) -> dict[str, Gender]:
    """Map each word of the two lists to its gender."""
    return {**dict.fromkeys(words.male, "male"), **dict.fromkeys(words.female, "female")}


def continues(after: str) -> bool:
    """Say whether the text after a mask continues its word: a letter or digit does, a space or `'s` does not."""
    return after[:1].isalnum()


def attribute_words(
    tokens: Iterable[Token], lexicon: Lexicon, aggregation: Aggregation = "words", *, threshold: float = THRESHOLD
) -> Shares:
    """Sum the predictions for a sentence of RQ1 by gender; every other word above the threshold is unspecified.

    Sums run in the order of the tokens, like the released ones, so that equal input gives equal figures.
    """
    sums: dict[Gender | None, float] = {"female": 0.0, "male": 0.0, None: 0.0}
    words: dict[str, float] = {}
    for token in tokens:
        if token.probability > threshold:
            sums[lexicon.gender_of(token, aggregation)] += token.probability
            words[token.word] = words.get(token.word, 0.0) + token.probability
    return Shares(sums["female"], sums["male"], sums[None], _likeliest_first(words))


def attribute_paths(paths: Iterable[Sequence[Token]], lexicon: Lexicon, aggregation: Aggregation = "words") -> Shares:
    """Sum the paths of a sentence of RQ2 by the gender of their last word.

    A path has the tokens of one phrase in the order of their prediction: the noun, a word before it, and the word
    between the two ("friend", "close", "female" of "a close female friend"); its probability is their product. Paths
    that do not end in a gendered word add nothing and may be omitted.
    """
    ended = [
        (lexicon.gender_of(path[-1], aggregation), path[-1].word, math.prod(token.probability for token in path))
        for path in paths
    ]
    return attribute_ends(ended)


def attribute_ends(ended: Iterable[tuple[Gender | None, str, float]]) -> Shares:
    """Sum the (gender, last word, probability) of the paths of a sentence, in their order.

    `unspecified` is the rest of 1: the paths without a gender, and all paths that were not followed, since three steps
    over the likeliest words do not reach every phrase.
    """
    sums: dict[Gender, float] = {"female": 0.0, "male": 0.0}
    words: dict[str, float] = {}
    for gender, word, probability in ended:
        if gender is not None:
            sums[gender] += probability
            words[word] = words.get(word, 0.0) + probability
    return Shares(sums["female"], sums["male"], remainder(sums["female"], sums["male"]), _likeliest_first(words))


def remainder(female: float, male: float) -> float:
    """Return the rest of 1 after both genders; at least 0, despite rounding."""
    return max(0.0, 1.0 - female - male)


def _likeliest_first(words: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(words.items(), key=lambda item: (-item[1], item[0])))
