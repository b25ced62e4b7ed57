"""Attribution of predicted words: whole words by default, parts of words as published."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.studies.stigma.aggregate import (
    Token,
    attribute_ends,
    attribute_paths,
    attribute_words,
    continues,
    noun_lexicon,
    short_lexicon,
)
from equipoise.studies.stigma.library import load_library

WORDS = load_library(Path(__file__).parents[3] / "data/sentences").words
SHORT = short_lexicon(WORDS.short)
NOUNS = noun_lexicon(WORDS.nouns)


def test_words_are_compared_in_lower_case_and_names_as_spelt() -> None:
    """RQ1 takes "She" for a woman and, with names, "Mary" but not "mary"."""
    lexicon = short_lexicon(WORDS.short, {"female": ["Mary"], "male": ["Mark"]})

    assert [lexicon.gender(word) for word in ("She", "MEN", "Mary", "mary", "Mark", "Who")] == [
        "female",
        "male",
        "female",
        None,
        "male",
        None,
    ]
    assert SHORT.gender("Mary") is None


def test_nouns_are_compared_as_spelt() -> None:
    """RQ2 takes "woman" for a woman, but not "Woman", as the released code does."""
    assert [NOUNS.gender(word) for word in ("woman", "Woman", "mr.", "child")] == ["female", None, "male", None]


def test_words_above_the_threshold_are_summed() -> None:
    """Probabilities above 0.01 count: female and male words, and every other as unspecified."""
    tokens = [Token("She", 0.3), Token(" Woman", 0.05), Token("He", 0.2), Token("Who", 0.02), Token("Dad", 0.01)]
    shares = attribute_words(tokens, SHORT)

    assert shares.female == 0.3 + 0.05
    assert shares.male == 0.2  # "Dad" is not above the threshold
    assert shares.unspecified == 0.02
    assert list(shares.words) == ["She", "He", "Woman", "Who"]
    assert attribute_words(tokens, SHORT, threshold=0.0).male == 0.2 + 0.01


def test_a_part_of_a_word_counts_as_published_alone() -> None:
    """The token "girl" that continues "school" is not a word of its own; the released code takes it for a girl."""
    path = [Token(" friend", 0.5), Token(" school", 0.25), Token("girl", 0.5, whole=False)]

    assert attribute_paths([path], NOUNS).female == 0.0
    assert attribute_paths([path], NOUNS, "legacy").female == 0.0625  # 1/2 x 1/4 x 1/2
    assert attribute_words([Token("girl", 0.5, whole=False)], SHORT).unspecified == 0.5
    assert attribute_words([Token("girl", 0.5, whole=False)], SHORT, "legacy").female == 0.5


def test_a_path_counts_with_the_product_of_its_tokens() -> None:
    """A path adds the product of its probabilities to the gender of its last word; the rest of 1 is unspecified."""
    paths = [
        [Token(" man", 0.25)],
        [Token(" friend", 0.5), Token(" female", 0.5)],
        [Token(" friend", 0.5), Token(" close", 0.25), Token(" female", 0.5)],
        [Token(" friend", 0.5), Token(" close", 0.25), Token(" old", 0.25)],
    ]
    shares = attribute_paths(paths, NOUNS)

    assert shares.male == 0.25
    assert shares.female == 0.3125  # 1/4 + 1/16
    assert shares.unspecified == 0.4375  # 1 - 0.25 - 0.3125
    assert shares.words == {"female": 0.3125, "man": 0.25}


def test_without_a_path_nothing_is_attributed() -> None:
    """A sentence whose paths end in no gendered word has no female and no male share."""
    shares = attribute_ends([])

    assert (shares.female, shares.male, shares.unspecified, shares.words) == (0.0, 0.0, 1.0, {})


@pytest.mark.parametrize(
    ("word", "gender"),
    [
        ("schoolgirl", "female"),
        ("stepfather", "male"),  # and not "her", with which it ends too
        ("businesswoman", "female"),  # and not "man"
        ("transmale", "male"),
        ("patient", None),
    ],
)
def test_the_longest_gendered_end_decides(word: str, gender: str | None) -> None:
    """A word that two tokens make has the gender of the longest gendered word at its end."""
    assert NOUNS.gender_at_end(word) == gender


@pytest.mark.parametrize(
    ("after", "expected"), [("s", True), ("2", True), (" with", False), ("'s", False), ("", False)]
)
def test_what_continues_a_word(after: str, *, expected: bool) -> None:
    """A letter or digit after the mask continues its word; a space, an apostrophe or the end does not."""
    assert continues(after) is expected


@given(
    st.lists(
        st.builds(
            Token,
            text=st.sampled_from([" she", "he", " girl", "patient", "Someone"]),
            probability=st.floats(min_value=0, max_value=0.05),
            whole=st.booleans(),
        ),
        max_size=20,
    )
)
def test_no_probability_is_lost(tokens: list[Token]) -> None:
    """The three sums of RQ1 add up to the probabilities above the threshold, and legacy only moves between them."""
    total = sum(token.probability for token in tokens if token.probability > 0.01)
    words, legacy = attribute_words(tokens, SHORT), attribute_words(tokens, SHORT, "legacy")

    for shares in (words, legacy):
        assert shares.female + shares.male + shares.unspecified == pytest.approx(total)
        assert sum(shares.words.values()) == pytest.approx(total)
    assert legacy.female >= words.female
    assert legacy.male >= words.male
