"""The mean of labels that exist for a sample only, estimated with a model's predictions for all replies.

Every reply has a judge's reading; a few, drawn with known probabilities, also have a person's label. With readings f of
n replies, labels Y of a sample, weights w = 1 / (probability of being drawn) there, and W their sum, the estimate is

    mean(f) * lambda + sum_labelled w (Y - lambda f) / W

which is the readings' mean plus a correction by the labels. It is unbiased, however wrong the judge is, and whether or
not its errors differ between groups, because the labels come from the run itself. lambda, between 0 and 1, minimises
the variance: 0 uses the labels only, and a good judge has 1.

With r the weighted mean of Y - lambda f, the estimate is, to first order, the mean over all replies of

    estimate + lambda (f - mean(f)) + n w (Y - lambda f - r) / W        (the last term where there is a label)

so that the error is that of the mean of clustered values (`equipoise.stats.clusters`), and covers the sampling of
stories and of labels. Draws without replacement and of a fixed number vary less than this assumes. The term (1 / k)^2
is added to the variance, where k is the effective number of labels, W^2 / (sum of w^2): as if one more label, in a
story of its own, disagreed with the judge. Without it, a judge with no error among a few labels would count as
infallible, and intervals of few clusters would be too narrow, since lambda is chosen by the same labels; with it they
keep their coverage (docs/validity.md). A cross-fitted lambda gave the same coverage and wider intervals.

Sources: Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453 (the estimate, and lambda); Zrnic & Candes (2024),
Active statistical inference, arXiv:2403.03208 (unequal probabilities). The package ppi-python computes the same
estimate (tests/stats/test_prediction_powered.py), but does not support clusters, and requires numba and a data set
downloader.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.stats.clusters import Mean, clustered_mean, degrees_of_freedom
from equipoise.stats.quantities import Interval, as_share

Array = NDArray[np.float64]


class Labelled(NamedTuple):
    """One reply: the judge's prediction, from 0 to 1, the label if there is one, its weight, and its cluster.

    `weight` is the inverse of the probability with which the reply was drawn for labelling.
    """

    prediction: float
    label: float | None
    weight: float
    cluster: str


class Powered(NamedTuple):
    """An estimate of a mean of labels, as the mean of values of all replies.

    `values` and `clusters` have one element per reply; `unseen` is the variance added for errors that no label shows,
    `df` the degrees of freedom of the labels alone, and `labels` their number.
    """

    values: Array
    clusters: Sequence[str]
    unseen: float
    df: float
    labels: int

    @property
    def value(self) -> float:
        """The estimate, which may lie beyond 0 and 1."""
        return float(self.values.mean())

    def minus(self, other: "Powered") -> "Powered":
        """The difference of two means over equally many replies; replies at the same index share a cluster."""
        return self._replace(
            values=self.values - other.values,
            unseen=self.unseen + other.unseen,
            df=min(self.df, other.df),
            labels=self.labels + other.labels,
        )

    def mean(self) -> Mean | None:
        """The estimate with its error; None with fewer than two clusters."""
        mean = clustered_mean(self.values.tolist(), self.clusters, self.unseen)
        return None if mean is None else mean._replace(df=min(mean.df, self.df))


def powered_mean(replies: Sequence[Labelled], tuning: float | None = None) -> Powered | None:
    """Estimate the mean of the labels of all replies; None if fewer than two clusters have labels.

    `tuning` is lambda; by default it minimises the variance of the clusters' sums.

    Raises:
        EquipoiseError: A weight is below 1, so it cannot be the inverse of a probability.
    """
    labelled = [reply for reply in replies if reply.label is not None]
    if any(reply.weight < 1 for reply in labelled):
        raise EquipoiseError("weights of labels must be at least 1: give the inverse of each probability")
    _, of_labels = np.unique([reply.cluster for reply in labelled], return_inverse=True)
    if not labelled or of_labels.max() == 0:
        return None
    n, _, places = len(replies), *np.unique([reply.cluster for reply in replies], return_inverse=True)
    read = np.array([reply.prediction for reply in replies])
    label = np.array([0.0 if reply.label is None else reply.label for reply in replies])
    weight = np.array([0.0 if reply.label is None else reply.weight for reply in replies])
    total = float(weight.sum())

    def departure(values: Array) -> Array:
        """Contribution of each reply to the weighted mean of the labelled ones, as a share of 1 / n."""
        departed: Array = n * weight * (values - weight @ values / total) / total
        return departed

    # The values are those of the labels minus lambda times these, whose mean is 0.
    control = departure(read) - (read - read.mean())
    if tuning is None:
        ours, theirs = (np.bincount(places, values) for values in (departure(label), control))
        spread = float(theirs @ theirs)
        # Where every reply has its label, the predictions make no difference.
        tuning = min(1.0, max(0.0, float(ours @ theirs) / spread)) if spread > 0 else 0.0
    residual = label - tuning * read
    estimate = tuning * float(read.mean()) + float(weight @ residual) / total
    values = estimate + tuning * (read - read.mean()) + departure(residual)
    of_clusters = np.bincount(of_labels, weight[weight > 0]) / total
    return Powered(
        values=values,
        clusters=[reply.cluster for reply in replies],
        unseen=(float(weight @ weight) / total**2) ** 2,
        df=float(degrees_of_freedom(of_clusters)),
        labels=len(labelled),
    )


def share_interval(mean: Mean, alpha: float = 0.05) -> Interval:
    """The t interval of a share, clipped to [0, 1]."""
    interval = mean.interval(alpha)
    return Interval(as_share(interval.low), as_share(interval.high))
