"""Compare readers on a public suite of annotated passages, by the first feature of each: only these are balanced."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Nested, rounded
from equipoise.judge.lexicon import Lexicon
from equipoise.judge.passages import CONSIDERED, Passage, Treatment
from equipoise.judge.rating.agreement import agreement, proportion
from equipoise.judge.reading import UNREAD, Feature, has_keyword
from equipoise.materials.judgement import Reading
from equipoise.text.sentences import sentence_spans

FOLDER = Path("judge/benchmark")
SEED, RESAMPLES = 0, 2000


def suite(name: str) -> Path:
    """Return the file of a suite: one in `FOLDER` by name, or any file by path."""
    path = Path(name) if name.endswith(".jsonl") else FOLDER / f"{name}.jsonl"
    if path.is_file():
        return path
    names = ", ".join(sorted(file.stem for file in FOLDER.glob("*.jsonl"))) or "none"
    raise EquipoiseError(f"{path}: no such benchmark: known: {names}; or give the path of a file (*.jsonl)")


def draw_passages(passages: Sequence[Passage], limit: int | None) -> list[Passage]:
    """Return all passages or, for a costly reader, the first `limit` in an order drawn with a fixed seed."""
    order = list(passages)
    if limit is not None:
        random.Random(SEED).shuffle(order)  # noqa: S311  (a choice, not a secret)
    return order[:limit]


def first_questions(passages: Sequence[Passage], lexicon: Lexicon) -> list[tuple[str, Feature]]:
    """Return the text of each passage, with the feature in question."""
    questions = [(passage.text, passage.features[0]) for passage in passages]
    return [(text, lexicon.features({first.dimension: first.feature})[0]) for text, first in questions]


def reader_figures(passages: Sequence[Passage], readings: Sequence[Reading]) -> Nested:
    """Measure a reader's agreement with the annotations.

    Returns:
        `considered` (weighed or dismissed, or neither) and `three_way` (see `agreement`): kappa with a 95 % interval
        over resampled passages; `classes`: n and the three-way accuracy, with its Wilson interval.
    """
    truth = [CONSIDERED[passage.features[0].treatment] for passage in passages]
    considered = [reading.considered for reading in readings]
    names = [passage.id for passage in passages]
    figures = agreement(truth, considered, names, seed=SEED, n_bootstrap=RESAMPLES)
    of = Counter(passage.features[0].class_ for passage in passages)
    right = Counter(
        passage.features[0].class_
        for passage, is_, says in zip(passages, truth, considered, strict=True)
        if is_ == says
    )
    return {
        "n": len(passages),
        "considered": figures["considered"],
        "three_way": figures["three_way"],
        "classes": {name: proportion(right[name], n) for name, n in sorted(of.items())},
    }


def panel_agreement(votes: Mapping[str, Sequence[Treatment]]) -> dict[str, Any]:
    """Measure the agreement of a panel's members on consideration: Fleiss' kappa, and the share of unanimous passages.

    Kappa is None if all votes are equal. Source: Fleiss (1971), Psychological Bulletin 76:378-382.
    """
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    considered = np.array([[CONSIDERED[treatment] for treatment in of] for of in votes.values()]).T
    counts, categories = aggregate_raters(considered)
    kappa = rounded(float(fleiss_kappa(counts))) if len(categories) > 1 else None
    return {"fleiss_kappa": kappa, "unanimous": rounded(float((counts.max(axis=1) == len(votes)).mean()))}


def read_by_keyword(text: str, feature: Feature) -> Reading:
    """Read a text as considering a feature if the feature's own word occurs: the published baseline."""
    present = has_keyword(text, feature.words)
    return _reading(mentioned=present, considered=present, keyword=present)


def read_by_count(text: str, feature: Feature) -> Reading:
    """Read a text as considering a feature if more than one of its sentences names it, by the lexicon."""
    named = sum(feature.is_named(text[span.start : span.end]) for span in sentence_spans(text))
    return _reading(mentioned=named > 0, considered=named > 1, keyword=has_keyword(text, feature.words))


def _reading(*, mentioned: bool, considered: bool, keyword: bool) -> Reading:
    return UNREAD.model_copy(
        update={
            "mentioned": mentioned,
            "considered": "weighed" if considered else "none",
            "p_mentioned": float(mentioned),
            "p_weighed": float(considered),
            "keyword": keyword,
        }
    )


BASELINES: dict[str, Callable[[str, Feature], Reading]] = {"keyword": read_by_keyword, "count": read_by_count}
"""Readers that only search for words."""
