"""The masked scorer: the gender of the words that a masked model predicts as each sentence's subject.

Lin et al. (2022), sections 3.1 and 3.2. rq1 sums the likely words at the mask by gender; rq2 builds noun phrases
(`gendered_paths`). Every sentence is asked once, and its predictions are cached, so that an interrupted run resumes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

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
from equipoise.studies.stigma.library import MASK, Library
from equipoise.studies.stigma.masked_model import MaskedModel, Predictions, Ready, prepare
from equipoise.studies.stigma.rows import Aggregation, Fill, Filling, Question

Phrase = tuple["Token", ...]
"""The words of one phrase in the order of their prediction."""
Ranks = tuple[int, ...]
_End = tuple[Ranks, Phrase, str]


class PredictionCache(cache.ContentCache[Predictions]):
    """Finished predictions."""

    _noun = "prediction"
    _kind = Predictions


class Asker:
    """Asks a masked model for the predictions that are not in the cache; opens the model only if there are any.

    `progress` is called with the number of answered sentences and of all sentences so far. `computed` counts the
    sentences that the model had to answer.
    """

    def __init__(
        self, ready: Ready, kept: PredictionCache, *, batch_size: int, progress: Callable[[int, int], object]
    ) -> None:
        """Initialise with the model to open, the cache, the batch size, and a function that reports progress."""
        self._ready = ready
        self._kept = kept
        self._batch_size = batch_size
        self._progress = progress
        self._model: MaskedModel | None = None
        self._answered = self._total = 0
        self.computed = 0

    def ask(self, sentences: Iterable[str], top_k: int) -> dict[str, list[Token]]:
        """Return the `top_k` likeliest tokens at the mask of each sentence; equal sentences are asked once."""
        keys = {sentence: digest([sentence, self._ready.manifest.identity, top_k]) for sentence in sentences}
        kept = self._kept.find_all(keys.values())
        answers = {sentence: kept[key] for sentence, key in keys.items() if key in kept}
        missing = {key: sentence for sentence, key in keys.items() if sentence not in answers}
        self._total += len(keys)
        self._report(len(answers))
        with Keeping(self._kept, lambda: nullcontext(partial(self._predicted, top_k))) as model:
            for batch in model.process(missing.items()):
                answers.update({missing[key]: predictions for key, predictions in batch.items()})
                self._report(len(batch))
            self.computed += model.computed
        return {sentence: answers[sentence].tokens() for sentence in keys}

    def _predicted(self, top_k: int, items: Mapping[str, str]) -> Iterator[dict[str, Predictions]]:
        self._model = self._model or self._ready.open()
        keys = {sentence: key for key, sentence in items.items()}
        for batch in self._model.predict(list(keys), top_k=top_k, batch_size=self._batch_size):
            yield {keys[sentence]: predictions for sentence, predictions in batch}

    def _report(self, answered: int) -> None:
        self._answered += answered
        self._progress(self._answered, self._total)


def masked_fills(
    library: Library, settings: Filling, root: Path, *, progress: Callable[[int, int], object]
) -> list[Fill]:
    """Fill in the subject of every template about every condition, with the masked model that `settings.masked` names.

    Args:
        library: templates, conditions and gendered words.
        settings: the section `fill` of params.yaml.
        root: the project's root, which contains the registry.
        progress: called with the numbers of answered and of all sentences; each step of rq2 adds its own.

    Raises:
        EquipoiseError: the model is unknown, not available, or not faithful once exported; raised before any work.
    """
    probes = [template.about(library.conditions[0].name) for template in library.templates]
    ready = prepare(settings.masked, root, cache.folder() / "models", probes)
    with PredictionCache.open() as kept:
        asker = Asker(ready, kept, batch_size=settings.batch_size, progress=progress)
        shares = {
            **likely_words(_sentences(library, "rq1"), asker.ask, settings, short_lexicon(library.words.short)),
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
    """Sum the noun phrases at the mask of each sentence of rq2 by the gender of their last word."""
    paths = gendered_paths(
        sentences,
        lambda step: ask(step, settings.beam),
        gendered=lambda token: lexicon.gender_of(token, settings.aggregation) is not None,
        follows=lambda token: is_noun(token, settings.aggregation),
        steps=settings.steps,
    )
    return {sentence: attribute_paths(phrases, lexicon, settings.aggregation) for sentence, phrases in paths.items()}


def is_noun(token: Token, aggregation: Aggregation) -> bool:
    """Say whether words can precede a token: by default if it is a whole word; as published, if it is not empty."""
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
        prompts: sentences with one mask; equal sentences count once.
        ask: returns the likeliest tokens at the mask of every sentence.
        gendered: whether a token has a gender, which ends its path.
        follows: whether other words can precede a token without a gender; else its path ends unused.
        steps: the most masks of a path.
    """
    # The ranks of a path's tokens, the path, and the sentence that it leads to. Tokens with different text can lead to
    # the same sentence ("man", " man").
    reached: dict[str, list[_End]] = {prompt: [((), (), prompt)] for prompt in prompts}
    ended: dict[str, list[tuple[Ranks, Phrase]]] = {prompt: [] for prompt in prompts}
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
                        ended[prompt].append(((*ranks, rank), (*path, token)))
                    elif follows(token):
                        further.append(((*ranks, rank), (*path, token), extended(sentence, token.word, step)))
            reached[prompt] = further
    return {prompt: [path for _, path in sorted(paths, key=lambda end: end[0])] for prompt, paths in ended.items()}


def extended(sentence: str, word: str, step: int) -> str:
    """Return the sentence that asks for another word: first before the noun, then between it and the words so far."""
    return sentence.replace(MASK, f"{MASK} {word}" if step == 0 else f"{word} {MASK}")
