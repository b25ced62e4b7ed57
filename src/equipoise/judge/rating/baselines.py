"""Readers that only search for words, as baselines for judges."""

from collections.abc import Callable
from typing import Literal

from equipoise.judge.reading import UNREAD, Feature, has_keyword
from equipoise.materials.judgement import Reading
from equipoise.text.sentences import sentence_spans

Baseline = Literal["keyword", "count"]


def read_by_keyword(text: str, feature: Feature) -> Reading:
    """Read a text as considering a feature if the feature's own word occurs: the published baseline."""
    present = has_keyword(text, feature.words)
    return _reading(mentioned=present, considered=present, keyword=present)


def read_by_count(text: str, feature: Feature) -> Reading:
    """Read a text as considering a feature if more than one of its sentences names it, by the lexicon."""
    named = sum(feature.is_named(text[one.start : one.end]) for one in sentence_spans(text))
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


BASELINES: dict[Baseline, Callable[[str, Feature], Reading]] = {"keyword": read_by_keyword, "count": read_by_count}
