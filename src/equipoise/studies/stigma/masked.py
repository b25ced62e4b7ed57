"""The masked scorer: the gender of the words that a masked model puts in the place of each sentence's subject.

Lin et al. (2022), sections 3.1 and 3.2. rq1 sums the likely words at the mask by gender; rq2 writes noun phrases
(`gendered_paths`). Every sentence is asked once, and its predictions are cached, so that an interrupted run resumes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Self

from equipoise.backends.base import Keeping
from equipoise.core import cache
from equipoise.core.jsonl import digest
from equipoise.studies.stigma.aggregate import (
    Lexicon,
    Shares,
    Token,
    attribute_paths,
    attribute_words,
    fill,
    noun_lexicon,
    short_lexicon,
)
from equipoise.studies.stigma.library import MASK, Gender, Library
from equipoise.studies.stigma.masked_model import MaskedModel, Predictions, Ready, prepare
from equipoise.studies.stigma.rows import Aggregation, Fill, Filling, Question

Phrase = tuple["Token", ...]
"""The words of one phrase in the order of their prediction."""
Ranks = tuple[int, ...]
_End = tuple[Ranks, Phrase, str]


class PredictionCache(cache.ContentCache[Predictions]):
    """Finished predictions."""

    _noun = "prediction"

    @classmethod
    def open(cls) -> Self:
        """Open the cache of this repository."""
        return cls(cache.folder() / "predictions.sqlite", Predictions)


class Asker:
    """Asks a masked model what the cache does not hold; the model is opened when there is something to ask it.

    `progress` gets how many sentences are answered, of all that were asked up to now. `computed` counts those that
    the model had to be asked.
    """

    def __init__(
        self, ready: Ready, kept: PredictionCache, *, batch_size: int, progress: Callable[[int, int], object]
    ) -> None:
        """Take what the model is opened from, the cache, the batch size, and what reports progress."""
        self._ready = ready
        self._kept = kept
        self._batch_size = batch_size
        self._progress = progress
        self._model: MaskedModel | None = None
        self._answered = self._asked = 0
        self.computed = 0

    def ask(self, sentences: Iterable[str], top_k: int) -> dict[str, list[Token]]:
        """Give the `top_k` likeliest tokens at the mask of each sentence; equal sentences are asked once."""
        keys = {sentence: digest([sentence, self._ready.manifest.identity, top_k]) for sentence in sentences}
        found = {sentence: kept for sentence, key in keys.items() if (kept := self._kept.find(key)) is not None}
        missing = {key: sentence for sentence, key in keys.items() if sentence not in found}
        self._asked += len(keys)
        self._report(len(found))
        with Keeping(self._kept, lambda: nullcontext(partial(self._predicted, top_k))) as model:
            for batch in model.process(missing):
                found.update({missing[key]: predictions for key, predictions in batch.items()})
                self._report(len(batch))
            self.computed += model.computed
        return {sentence: found[sentence].tokens() for sentence in keys}

    def _predicted(self, top_k: int, items: Mapping[str, str]) -> Iterator[dict[str, Predictions]]:
        self._model = self._model or self._ready.open()
        keys = {sentence: key for key, sentence in items.items()}
        for batch in self._model.predict(list(keys), top_k=top_k, batch_size=self._batch_size):
            yield {keys[sentence]: predictions for sentence, predictions in batch}

    def _report(self, answered: int) -> None:
        self._answered += answered
        self._progress(self._answered, self._asked)


def masked_fills(
    library: Library,
    settings: Filling,
    root: Path,
    *,
    progress: Callable[[int, int], object],
    names: Mapping[Gender, Sequence[str]] | None = None,
) -> list[Fill]:
    """Fill in the subject of every template about every condition, with the masked model that `settings.masked` names.

    Args:
        library: templates, conditions and gendered words.
        settings: the section `fill` of params.yaml.
        root: the project's root, where the registry is.
        progress: called with how many of how many sentences are answered; each step of rq2 adds its own.
        names: first names that count in rq1 beside its short lists (`equipoise.studies.stigma.names.load_names`).

    Raises:
        EquipoiseError: the model is unknown, out of reach, or not faithful once exported; raised before any work.
    """
    probes = [template.about(library.conditions[0].name) for template in library.templates]
    ready = prepare(settings.masked, root, cache.folder() / "models", probes)
    with PredictionCache.open() as kept:
        asker = Asker(ready, kept, batch_size=settings.batch_size, progress=progress)
        shares = {
            **likely_words(_sentences(library, "rq1"), asker.ask, settings, short_lexicon(library.words.short, names)),
            **noun_phrases(_sentences(library, "rq2"), asker.ask, settings, noun_lexicon(library.words.nouns)),
        }
    return [
        fill(template, condition, "masked", shares[template.about(condition.name)])
        for template in library.templates
        for condition in library.conditions
    ]


def likely_words(
    sentences: Sequence[str],
    ask: Callable[[Iterable[str], int], Mapping[str, Sequence[Token]]],
    settings: Filling,
    lexicon: Lexicon,
) -> dict[str, Shares]:
    """Sum the likely words at the mask of each sentence of rq1 by gender."""
    return {
        sentence: attribute_words(tokens, lexicon, settings.aggregation, threshold=settings.threshold)
        for sentence, tokens in ask(sentences, settings.top_k).items()
    }


def noun_phrases(
    sentences: Sequence[str],
    ask: Callable[[Iterable[str], int], Mapping[str, Sequence[Token]]],
    settings: Filling,
    lexicon: Lexicon,
) -> dict[str, Shares]:
    """Sum the noun phrases at the mask of each sentence of rq2 by the gender of the word that ends them."""
    paths = gendered_paths(
        sentences,
        lambda asked: ask(asked, settings.beam),
        gendered=lambda token: lexicon.gender_of(token, settings.aggregation) is not None,
        follows=lambda token: is_noun(token, settings.aggregation),
        steps=settings.steps,
    )
    return {sentence: attribute_paths(found, lexicon, settings.aggregation) for sentence, found in paths.items()}


def is_noun(token: Token, aggregation: Aggregation) -> bool:
    """Say whether a token can have words before it: by default whole words; as published, whatever is not empty."""
    return bool(token.word) and (token.whole or aggregation == "legacy")


def _sentences(library: Library, question: Question) -> list[str]:
    return [
        template.about(condition.name) for template in library.of_question(question) for condition in library.conditions
    ]


def gendered_paths(
    prompts: Sequence[str],
    ask: Callable[[list[str]], Mapping[str, Sequence[Token]]],
    *,
    gendered: Callable[[Token], bool],
    follows: Callable[[Token], bool],
    steps: int,
) -> dict[str, list[Phrase]]:
    """Find, for every prompt, the paths that end in a gendered word, depth first as the published code lists them.

    All prompts take a step together, and `ask` is given each sentence of that step once: with a beam of 10 and three
    steps at most 1 + 10 + 100 sentences a prompt.

    Args:
        prompts: sentences with one mask; equal ones are one.
        ask: gives the likeliest tokens at the mask of every sentence that it is given.
        gendered: whether a token has a gender, which ends its path.
        follows: whether a token without one is a word that others can precede; else its path ends unused.
        steps: how many masks a path has at most.
    """
    # A path's place among the others (its tokens' ranks), the path, and the sentence that it leads to. Tokens of
    # different text can lead to one sentence ("man", " man").
    reached: dict[str, list[_End]] = {prompt: [((), (), prompt)] for prompt in prompts}
    found: dict[str, list[tuple[Ranks, Phrase]]] = {prompt: [] for prompt in prompts}
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
