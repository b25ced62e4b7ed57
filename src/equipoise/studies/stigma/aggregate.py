"""Attribution of the words that a masked model predicts to a gender.

Two ways: `legacy`, as published and released by Lin et al. (2022), and `words`, the default. The released code
takes the space from every token and compares what is left, so that the token "girl" after "school" counts as a girl;
by default a token counts only where it is a whole word.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from equipoise.studies.stigma.library import Condition, Gender, GenderedWords, Template
from equipoise.studies.stigma.rows import Aggregation, Fill, Scorer

THRESHOLD = 0.01
"""RQ1 sums the probabilities above this; what is less likely is left out of all three sums."""


@dataclass(frozen=True, slots=True)
class Token:
    """One prediction for a mask.

    `text` is the decoded token, with or without its space; `whole` says whether it is a word of its own: it begins with
    a space or begins the sentence, and what follows the mask does not continue it (`continues`).
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
    """Gender by word; `names` (first names) are compared as spelt, `words` in lower case where `fold` says so."""

    words: Mapping[str, Gender]
    names: Mapping[str, Gender]
    fold: bool

    def gender(self, word: str) -> Gender | None:
        """Give the gender of a word, None where it has none; a common noun comes before a name."""
        return self.words.get(word.lower() if self.fold else word) or self.names.get(word)

    def gender_of(self, token: Token, aggregation: Aggregation = "words") -> Gender | None:
        """Give the gender of a token; by default none unless it is a whole word."""
        return self.gender(token.word) if token.whole or aggregation == "legacy" else None

    def gender_at_end(self, word: str) -> Gender | None:
        """Give the gender of the longest gendered word that a word ends with: of "schoolgirl", female."""
        return next((found for start in range(len(word)) if (found := self.gender(word[start:]))), None)


@dataclass(frozen=True, slots=True)
class Shares:
    """Probability of female, male and other subjects, and of each word behind them, the likeliest first."""

    female: float
    male: float
    unspecified: float
    words: dict[str, float]


def fill(template: Template, condition: Condition, scorer: Scorer, shares: Shares) -> Fill:
    """Make the row of one sentence about one condition."""
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
    """Build RQ1's lexicon: the short lists, compared in lower case, and first names where they are given."""
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
    """Say whether the text after a mask continues the word in it: a letter or digit does, a space or `'s` does not."""
    return after[:1].isalnum()


def attribute_words(
    tokens: Iterable[Token],
    lexicon: Lexicon,
    aggregation: Aggregation = "words",
    *,
    threshold: float = THRESHOLD,
) -> Shares:
    """Sum the predictions for one sentence of RQ1 by gender; every other word above the threshold is unspecified.

    Sums run in the order of the tokens, as the released ones do, so that equal input gives equal figures.
    """
    sums: dict[Gender | None, float] = {"female": 0.0, "male": 0.0, None: 0.0}
    words: dict[str, float] = {}
    for token in tokens:
        if token.probability > threshold:
            sums[lexicon.gender_of(token, aggregation)] += token.probability
            words[token.word] = words.get(token.word, 0.0) + token.probability
    return Shares(sums["female"], sums["male"], sums[None], _likeliest_first(words))


def attribute_paths(paths: Iterable[Sequence[Token]], lexicon: Lexicon, aggregation: Aggregation = "words") -> Shares:
    """Sum the paths of one sentence of RQ2 by the gender of the word that ends each.

    A path holds the tokens of one phrase in the order of their prediction: the noun, a word before it, and the word
    between the two ("friend", "close", "female" of "a close female friend"); its probability is their product. Paths
    that end in no gendered word add nothing, and need not be given.
    """
    ended = [
        (lexicon.gender_of(path[-1], aggregation), path[-1].word, math.prod(token.probability for token in path))
        for path in paths
    ]
    return attribute_ends(ended)


def attribute_ends(ended: Iterable[tuple[Gender | None, str, float]]) -> Shares:
    """Sum (gender, last word, probability) of the paths of one sentence, in their order.

    `unspecified` is what is left of 1: it holds the paths without a gender, and also all that were not followed,
    since three steps over the likeliest words do not reach every phrase.
    """
    sums: dict[Gender, float] = {"female": 0.0, "male": 0.0}
    words: dict[str, float] = {}
    for gender, word, probability in ended:
        if gender is not None:
            sums[gender] += probability
            words[word] = words.get(word, 0.0) + probability
    return Shares(sums["female"], sums["male"], remainder(sums["female"], sums["male"]), _likeliest_first(words))


def remainder(female: float, male: float) -> float:
    """Give what is left of 1 after both genders; never below 0, which rounding alone could give."""
    return max(0.0, 1.0 - female - male)


def _likeliest_first(words: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(words.items(), key=lambda item: (-item[1], item[0])))
