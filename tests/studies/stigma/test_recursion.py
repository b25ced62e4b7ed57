from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from equipoise.studies.stigma.aggregate import Token
from equipoise.studies.stigma.masked import extended, gendered_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROMPT = "I feel scared of a {mask} with cancer."
GENDERED = {"man", "male", "woman", "female"}
WORDS = ["man", "male", "woman", "female", "friend", "person", "close", "old", "school", "tall", "child", "kind"]


def gendered(token: Token) -> bool:
    """Whole words alone tell a gender."""
    return token.whole and token.word in GENDERED


def follows(token: Token) -> bool:
    """Whole words alone have others before them."""
    return token.whole


class Table:
    """Answers sentences from a table, or from their hash, and remembers what it was asked."""

    def __init__(self, answers: Mapping[str, Sequence[Token]] | None = None, *, beam: int = 10, seed: int = 0) -> None:
        """Take the table, or how many tokens an answer has and a seed."""
        self.answers = answers
        self.beam = beam
        self.seed = seed
        self.calls: list[list[str]] = []

    def answer(self, sentence: str) -> Sequence[Token]:
        """Give the tokens at the mask of one sentence."""
        if self.answers is not None:
            return self.answers.get(sentence, ())
        # The words in an order, with shares and word boundaries, that the sentence alone decides.
        code = hashlib.sha256(f"{self.seed}{sentence}".encode()).digest()
        words = sorted(WORDS, key=lambda word: hashlib.sha256(code + word.encode()).digest())[: self.beam]
        return [
            Token(f" {word}" if code[place] % 4 else word, code[place + 8] / 4096, bool(code[place] % 4))
            for place, word in enumerate(words)
        ]

    def __call__(self, sentences: list[str]) -> dict[str, Sequence[Token]]:
        """Give the tokens of several sentences."""
        self.calls.append(list(sentences))
        return {sentence: self.answer(sentence) for sentence in sentences}


def one_by_one(prompt: str, table: Table, steps: int) -> list[tuple[Token, ...]]:
    """Walk the paths of one prompt as the method describes it: one sentence at a time, each word before the next."""
    paths: list[tuple[Token, ...]] = []

    def walk(path: tuple[Token, ...]) -> None:
        # "a {mask}", "a {mask} t1", "a t2 {mask} t1", "a t2 t3 {mask} t1": the noun last, the others in their order.
        noun, *others = [token.word for token in path] or [""]
        phrase = " ".join([*others, "{mask}", *([noun] if noun else [])])
        for token in table.answer(prompt.replace("{mask}", phrase)):
            if gendered(token):
                paths.append((*path, token))
            elif follows(token) and len(path) + 1 < steps:
                walk((*path, token))

    walk(())
    return paths


def test_paths_by_hand() -> None:
    """A path ends at the first gendered word; the second word precedes the noun, the third between them."""
    at, man, close, male = (
        "I feel scared of a {} with cancer.".format,
        Token(" man", 0.5),
        Token(" close", 0.25),
        Token(" male", 0.125),
    )
    friend, tall = Token(" friend", 0.25), Token(" tall", 0.5)
    table = Table(
        {
            at("{mask}"): [man, friend],
            at("{mask} friend"): [close, male],
            at("close {mask} friend"): [tall, male],
        }
    )

    paths = gendered_paths([PROMPT], table, gendered=gendered, follows=follows, steps=3)
    # "man"; "close male friend"; "male friend". "close tall friend" ends after three words and tells no gender.
    assert paths == {PROMPT: [(man,), (friend, close, male), (friend, male)]}
    assert table.calls == [[at("{mask}")], [at("{mask} friend")], [at("close {mask} friend")]]


def test_part_of_a_word_is_no_word() -> None:
    """A token that is written together with its neighbour neither tells a gender nor has a mask set before it."""
    glued = [Token("man", 0.5, whole=False), Token("ish", 0.25, whole=False), Token(" female", 0.125)]
    table = Table({PROMPT: glued})

    paths = gendered_paths([PROMPT], table, gendered=gendered, follows=follows, steps=3)
    assert paths == {PROMPT: [(Token(" female", 0.125),)]}
    assert table.calls == [[PROMPT]]


def test_a_prompt_costs_at_most_111_sentences() -> None:
    """Three steps of ten words ask 1 + 10 + 100 sentences."""

    class Endless(Table):
        def answer(self, sentence: str) -> Sequence[Token]:
            return [Token(f" word{len(sentence)}{place}", 0.1) for place in range(10)]

    table = Endless()
    paths = gendered_paths([PROMPT], table, gendered=gendered, follows=follows, steps=3)

    assert [len(call) for call in table.calls] == [1, 10, 100]
    assert paths == {PROMPT: []}


def test_equal_sentences_are_asked_once() -> None:
    """Prompts of the same words, and tokens of the same word, lead to one sentence; each keeps its own paths."""
    noun, same, ends = Token(" friend", 0.5), Token("friend", 0.25), Token(" male", 0.125)
    table = Table({PROMPT: [noun, same], PROMPT.replace("{mask}", "{mask} friend"): [ends]})

    paths = gendered_paths([PROMPT, PROMPT], table, gendered=gendered, follows=follows, steps=3)
    assert [len(call) for call in table.calls] == [1, 1]
    assert paths == {PROMPT: [(noun, ends), (same, ends)]}


@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True),
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(0, 5),
)
def test_all_prompts_together_find_what_each_finds_alone(names: list[str], steps: int, beam: int, seed: int) -> None:
    """Breadth first over all prompts gives the paths, in the order, that one sentence at a time gives."""
    prompts = [f"{name}: a {{mask}} with cancer." for name in names]
    table = Table(beam=beam, seed=seed)

    paths = gendered_paths(prompts, table, gendered=gendered, follows=follows, steps=steps)
    assert paths == {prompt: one_by_one(prompt, table, steps) for prompt in prompts}


@given(st.integers(1, 6), st.integers(0, 20))
def test_no_sentence_is_asked_twice(beam: int, seed: int) -> None:
    """Over all steps and prompts every sentence is asked once."""
    table = Table(beam=beam, seed=seed)
    gendered_paths([PROMPT, "A {mask} is here."], table, gendered=gendered, follows=follows, steps=3)
    asked = [sentence for call in table.calls for sentence in call]

    assert len(set(asked)) == len(asked)


def test_the_noun_comes_last() -> None:
    """The first word found goes after the mask, every further one before it."""
    assert extended("a {mask} here", "friend", 0) == "a {mask} friend here"
    assert extended("a {mask} friend here", "close", 1) == "a close {mask} friend here"
    assert extended("a close {mask} friend here", "old", 2) == "a close old {mask} friend here"
