"""Noun phrases that a masked model writes in place of one mask, word by word, until one tells a gender.

RQ2 of Lin et al. (2022), section 3.2 and the released code. The likeliest words at "a {mask} with D" are nouns; before
each that tells no gender a mask is set ("a {mask} friend with D"), and between the two words another ("a close {mask}
friend with D"). A path ends at the first word that tells a gender; its probability is the product along it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.stigma.library import MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from equipoise.stigma.aggregate import Token

Path = tuple["Token", ...]
"""The words of one phrase in the order of their prediction."""
Ranks = tuple[int, ...]
_End = tuple[Ranks, Path, str]


def gendered_paths(
    prompts: Sequence[str],
    ask: Callable[[list[str]], Mapping[str, Sequence[Token]]],
    *,
    gendered: Callable[[Token], bool],
    follows: Callable[[Token], bool],
    steps: int,
) -> dict[str, list[Path]]:
    """Find, for every prompt, the paths that end in a gendered word, depth first as the published code lists them.

    All prompts take a step together, and `ask` is given each sentence of that step once: with a beam of 10 and three
    steps at most 1 + 10 + 100 sentences a prompt.

    Args:
        prompts: sentences with one mask; equal ones are one.
        ask: gives the likeliest tokens at the mask of every sentence that it is given.
        gendered: whether a token tells a gender, which ends its path.
        follows: whether a token that tells none is a word that others can stand before; else its path ends unused.
        steps: how many masks a path has at most.
    """
    # Where a path stands among the others (its tokens' ranks), the path, and the sentence that it leads to. Tokens of
    # different text can lead to one sentence ("man", " man").
    reached: dict[str, list[_End]] = {prompt: [((), (), prompt)] for prompt in prompts}
    found: dict[str, list[tuple[Ranks, Path]]] = {prompt: [] for prompt in prompts}
    for step in range(steps):
        sentences = dict.fromkeys(sentence for ends in reached.values() for _, _, sentence in ends)
        if not sentences:
            break
        answers = ask(list(sentences))
        for prompt, ends in reached.items():
            further: list[_End] = []
            for ranks, path, sentence in ends:
                for rank, token in enumerate(answers[sentence]):
                    if gendered(token):
                        found[prompt].append(((*ranks, rank), (*path, token)))
                    elif follows(token):
                        further.append(((*ranks, rank), (*path, token), extended(sentence, token.word, step)))
            reached[prompt] = further
    return {prompt: [path for _, path in sorted(ended, key=lambda end: end[0])] for prompt, ended in found.items()}


def extended(sentence: str, word: str, step: int) -> str:
    """Give the sentence that asks for one more word: before the noun at first, then between it and the words so far."""
    return sentence.replace(MASK, f"{MASK} {word}" if step == 0 else f"{word} {MASK}")
