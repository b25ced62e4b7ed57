"""Sizes of a study: how many stories and items are asked, and how many stories of each group."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Size(NamedTuple):
    """A size of a study: its clusters (stories, questions), its items, and how often each is sampled.

    `groups` has the clusters of each group by family. `settings` are those of params.yaml, by `section.field`, with
    which the study has this size; empty for a size that no setting gives. `effort` is what an item costs then, as a
    multiple of what it costs with the settings as they are.
    """

    clusters: int
    items: int
    samples: int = 1
    groups: Mapping[str, Mapping[str, int]] = {}
    settings: Mapping[str, Any] = {}
    effort: float = 1.0

    @property
    def per_cluster(self) -> float:
        """Items of a cluster, on average."""
        return self.items / self.clusters
