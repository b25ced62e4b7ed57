"""The masked scorer: the gender of the words that a masked model puts in the place of each sentence's subject.

Lin et al. (2022), sections 3.1 and 3.2. rq1 sums the likely words at the mask by gender; rq2 writes noun phrases, see
`recursion`. Every sentence is asked once, and its predictions are kept, so that an interrupted run goes on where it
was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from equipoise.core import cache
from equipoise.core.records import digest
from equipoise.stigma.aggregate import attribute_paths, attribute_words, noun_lexicon, short_lexicon
from equipoise.stigma.masked_export import prepare
from equipoise.stigma.masked_model import Predictions
from equipoise.stigma.recursion import gendered_paths
from equipoise.stigma.rows import Fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from equipoise.stigma.aggregate import Lexicon, Shares, Token
    from equipoise.stigma.library import Condition, Gender, Library, Template
    from equipoise.stigma.masked_export import Ready
    from equipoise.stigma.masked_model import MaskedModel
    from equipoise.stigma.rows import Question
    from equipoise.stigma.settings import Aggregation, Filling


class PredictionCache(cache.ContentCache[Predictions]):
    """Finished predictions."""

    _noun = "prediction"

    @classmethod
    def open(cls) -> Self:
        """Open the cache of this repository."""
        return cls(cache.folder() / "predictions.sqlite", Predictions)


class Asker:
    """Asks a masked model what the cache does not hold; the model is opened when there is something to ask it.

    `progress` is told how many sentences are answered, of all that were asked up to now. `computed` counts those that
    the model had to be asked.
    """

    def __init__(
        self, ready: Ready, kept: PredictionCache, *, batch_size: int, progress: Callable[[int, int], object]
    ) -> None:
        """Take what the model is opened from, the cache, how many sentences go together, and whom to tell."""
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
        missing = [sentence for sentence in keys if sentence not in found]
        self._asked += len(keys)
        self._tell(len(found))
        if missing:
            self._model = self._model or self._ready.open()
            for batch in self._model.predict(missing, top_k=top_k, batch_size=self._batch_size):
                self._kept.keep({keys[sentence]: predictions for sentence, predictions in batch})
                found.update(batch)
                self.computed += len(batch)
                self._tell(len(batch))
        return {sentence: found[sentence].tokens() for sentence in keys}

    def _tell(self, answered: int) -> None:
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
        progress: told how many of how many sentences are answered; each step of rq2 adds its own.
        names: first names that count in rq1 beside its short lists (`names.load_names`).

    Raises:
        EquipoiseError: the model is unknown, out of reach, or not faithful once exported; told before any work.
    """
    probes = [template.told_of(library.conditions[0].name) for template in library.templates]
    ready = prepare(settings.masked, root, cache.folder() / "models", probes)
    with PredictionCache.open() as kept:
        asker = Asker(ready, kept, batch_size=settings.batch_size, progress=progress)
        shares = {
            **likely_words(_sentences(library, "rq1"), asker.ask, settings, short_lexicon(library.words.short, names)),
            **noun_phrases(_sentences(library, "rq2"), asker.ask, settings, noun_lexicon(library.words.nouns)),
        }
    return [
        _fill(template, condition, shares[template.told_of(condition.name)])
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
    """Say whether a token can have words before it: by default whole words; as published, whatever is no empty text."""
    return bool(token.word) and (token.whole or aggregation == "legacy")


def _sentences(library: Library, question: Question) -> list[str]:
    return [
        template.told_of(condition.name)
        for template in library.of_question(question)
        for condition in library.conditions
    ]


def _fill(template: Template, condition: Condition, shares: Shares) -> Fill:
    return Fill(
        key=f"{template.question}/{template.key}/{condition.name}",
        question=template.question,
        template=template.key,
        group=template.group,
        polarity=template.polarity,
        condition=condition.name,
        condition_set=condition.condition_set,
        scorer="masked",
        female=shares.female,
        male=shares.male,
        unspecified=shares.unspecified,
        words=shares.words,
    )
