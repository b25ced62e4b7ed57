"""What figures need of a response: its counts, and digests by which equal results are found.

The texts themselves are most of a run's bytes, and no figure is made from them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from equipoise.text.reasoning import untagged

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from equipoise.core.records import Response, Study

LONG = 50
"""Words from which two replies are never the same by chance."""
FREE = frozenset({"vignettes", "openr1", "cases"})
"""Studies answered in sentences of the model's own. Elsewhere a reply is a letter, and many are rightly the same."""


class Noted(NamedTuple):
    """One response without its texts.

    `finished`, `prompt_tokens` and `generated_tokens` are the response's. `empty` says whether a reply has no words
    outside its tags. `said` is a digest of the replies where a model has many ways to word them, `sure` holds one of
    each thing that two prompts never share by chance: likelihoods, long replies.
    """

    key: str
    study: Study
    finished: tuple[bool, ...]
    prompt_tokens: int
    generated_tokens: int
    empty: bool
    said: bytes | None
    sure: tuple[bytes, ...]


def note(response: Response) -> Noted:
    """Note a response."""
    words = sum(len(reply.split()) for reply in response.replies)
    return Noted(
        key=response.key,
        study=response.study,
        finished=response.finished,
        prompt_tokens=response.prompt_tokens,
        generated_tokens=response.generated_tokens,
        empty=not all(untagged(reply).strip() for reply in response.replies),
        said=_digest(response.replies) if response.study in FREE and words else None,
        sure=tuple(_sure(response, words)),
    )


def _sure(response: Response, words: int) -> Iterator[bytes]:
    if len(response.log_likelihood) > 1:
        yield _digest(tuple(sorted(response.log_likelihood.items())))
    if words >= LONG:
        yield _digest(response.replies)


def _digest(content: Hashable) -> bytes:
    return hashlib.sha256(repr(content).encode(errors="surrogatepass")).digest()
