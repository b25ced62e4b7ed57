"""Clustered values: one mean per cluster, so that a test counts independent observations.

Sentences about one diagnosis share the model's associations with that diagnosis. A test over sentences treats them as
independent and rejects true null hypotheses far too often (a test simulates this). Here each cluster contributes one
value, its mean, and the tests and intervals of `paired` and `groups` are applied to those: with G clusters, t with
G - 1 degrees of freedom for one sample, and G + H - 2 for two samples of G and H clusters.

Chosen over ordinary least squares with cluster-robust standard errors. With equal cluster sizes the two agree: exactly
for one sample (statsmodels' correction G / (G - 1) and G - 1 degrees of freedom), while for two samples the sandwich
estimator's error is a few per cent smaller. With unequal sizes and few clusters (here 11) the sandwich estimator is
biased downwards and its test rejects too often; the t test of cluster means stays close to its nominal size.

With unequal sizes every cluster still has the same weight: the estimate is the mean of the cluster means, not the mean
of the values, and so answers a different question ("the average diagnosis", not "the average sentence").
Source: Donner & Klar (2000), Design and Analysis of Cluster Randomization Trials, chapter 7; Cameron & Miller (2015),
J Human Resources 50:317-372, on few clusters.
"""

from collections.abc import Sequence


def cluster_means(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """Mean of each cluster's values, sorted by cluster name; `clusters` names the cluster of each value."""
    members: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    return [sum(members[cluster]) / len(members[cluster]) for cluster in sorted(members)]
