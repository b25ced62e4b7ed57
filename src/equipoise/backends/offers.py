"""The likelihoods that a server gives: as its entry says, or as it answers a request of one token, which is remembered.

`check` and `export` need it before the first prompt: prompts that ask only for likelihoods cannot be sent to a server
without any, and a verdict on such a server's model rests on another endpoint. The manifest says what was found.
"""

from pathlib import Path

from equipoise.backends.served import Offer
from equipoise.core import cache
from equipoise.core.cache import ContentCache
from equipoise.core.jsonl import digest, sha256
from equipoise.models.registry import ApiEntry

VERSION = "one token in each form"
"""Version of what is asked. Another question requires a new name here, so that servers are asked again."""


class _Offers(ContentCache[Offer]):
    """Cache of what servers give."""

    _noun = "offer"
    _kind = Offer


def offered(name: str, entry: ApiEntry, memory: Path | None = None) -> Offer:
    """Find the likelihoods that a server gives; it is asked unless it was before, or the entry says that it gives none.

    `memory` is the file in which findings are remembered, that of the repository unless given.

    Raises:
        EquipoiseError: The server cannot be asked, or does not give what the entry says.
    """
    if entry.offers == "none":
        return Offer(likelihoods="none", found="as the entry says")
    template = sha256(cache.root() / entry.template) if entry.template else None
    key = digest([VERSION, entry.base_url, entry.model, entry.settings, entry.offers, template])
    with _Offers(memory) if memory else _Offers.open() as offers:
        if (known := offers.find(key)) is not None:
            return known
        from equipoise.backends.openai import ApiBackend

        with ApiBackend(name, entry) as backend:
            offer = backend.offer()
        offers.keep({key: offer})
        return offer
