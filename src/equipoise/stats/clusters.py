"""Values that come in clusters: one mean a cluster, so that a test counts what is independent.

Sentences about one diagnosis share what a model holds of that diagnosis. A test over sentences takes them as if each
were new, and rejects true null hypotheses far too often (a test simulates it). Here each cluster gives one value, its
mean, and the tests and intervals of `paired` and `groups` are taken over those: with G clusters, t with G - 1 degrees
of freedom for one sample, and with two samples of G and H clusters G + H - 2.

Chosen over ordinary least squares with cluster-robust errors. Where all clusters are of one size the two agree: for one
sample exactly (statsmodels' correction G / (G - 1) and G - 1 degrees of freedom), while for two the sandwich's error is
a few percent smaller. Where sizes differ and clusters are few (here 11) the sandwich is biased downwards and its test
rejects too often; the t test of cluster means keeps near its size.

Where sizes differ every cluster still counts once: the estimate is the mean of the cluster means, which is not the mean
of the values, and the answer to another question ("the average diagnosis", not "the average sentence").
Source: Donner & Klar (2000), Design and Analysis of Cluster Randomization Trials, chapter 7; Cameron & Miller (2015),
J Human Resources 50:317-372, on few clusters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def cluster_means(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """Mean of each cluster's values, clusters in order of their names; `clusters` names the cluster of each value."""
    members: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    return [sum(members[cluster]) / len(members[cluster]) for cluster in sorted(members)]
