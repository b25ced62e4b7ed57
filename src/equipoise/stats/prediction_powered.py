"""A mean of labels of which only a sample was collected, estimated with the predictions of a model for all.

A judge's reading is known of every reply, a person's label of a few, drawn with known probabilities. With readings f of
n replies, labels Y of a sample, weights w = 1 / (probability of being drawn) there, and W their sum, the estimate is

    mean(f) * lambda + sum_labelled w (Y - lambda f) / W

the readings' mean, and a correction by what the labels show to be wrong with it. It has no bias, however wrong the
judge is, and whether its errors differ between groups or not: the labels are the run's own. lambda, between 0 and 1,
is chosen so that the variance is smallest: 0 leaves the labels alone, and a good judge has 1.

With r the weighted mean of Y - lambda f, the estimate is, to first order, the mean over all replies of

    estimate + lambda (f - mean(f)) + n w (Y - lambda f - r) / W        (the last term where there is a label)

so that the error is that of the mean of clustered values (`equipoise.stats.clusters`), and covers both samplings, of
stories and of labels. Draws without replacement and of a fixed number vary less than this takes them to. To the
variance is added (1 / k)^2, with k the effective number of labels, W^2 / (sum of w^2): as if one more label, in a
story of its own, disagreed with the judge. Without it a judge of whom a few labels find no error would be taken for
infallible, and intervals of few clusters would be too narrow, since lambda is chosen by the same labels; with it they
keep their coverage (docs/validity.md). A cross-fitted lambda gave the same coverage and wider intervals.

Sources: Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453 (the estimate, and lambda); Zrnic & Candes (2024),
Active statistical inference, arXiv:2403.03208 (unequal probabilities). The package ppi-python computes the same
estimate (tests/stats/test_prediction_powered.py), but knows no clusters, and needs numba and a downloader of data sets.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.stats.clusters import Mean, clustered_mean, degrees_of_freedom
from equipoise.stats.quantities import Interval

Array = NDArray[np.float64]


class Labelled(NamedTuple):
    """One reply: what the judge predicts, from 0 to 1, the label if there is one, its weight, and its cluster.

    `weight` is the inverse of the probability with which the reply was drawn for labelling.
    """

    prediction: float
    label: float | None
    weight: float
    cluster: str


class Powered(NamedTuple):
    """An estimate of a mean of labels, as the mean of values of all replies.

    `values` and `clusters` are of every reply; `unseen` is the variance that is added for errors that no label shows,
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
        """The difference of two means of as many replies, where those at one place are of one cluster."""
        return self._replace(
            values=self.values - other.values,
            unseen=self.unseen + other.unseen,
            df=min(self.df, other.df),
            labels=self.labels + other.labels,
        )

    def mean(self) -> Mean | None:
        """The estimate with its error; None where there are fewer than two clusters."""
        found = clustered_mean(self.values.tolist(), self.clusters, self.unseen)
        return None if found is None else found._replace(df=min(found.df, self.df))


def powered(replies: Sequence[Labelled], tuning: float | None = None) -> Powered | None:
    """Estimate the mean of the labels of all replies; None where fewer than two clusters have labels.

    `tuning` is lambda, by default that of the smallest variance of the clusters' sums.

    Raises:
        EquipoiseError: a weight below 1, which is no inverse of a probability.
    """
    given = [one for one in replies if one.label is not None]
    if any(one.weight < 1 for one in given):
        raise EquipoiseError("weights of labels must be at least 1: give the inverse of each probability")
    _, of_labels = np.unique([one.cluster for one in given], return_inverse=True)
    if not given or of_labels.max() == 0:
        return None
    n, _, places = len(replies), *np.unique([one.cluster for one in replies], return_inverse=True)
    read = np.array([one.prediction for one in replies])
    label = np.array([0.0 if one.label is None else one.label for one in replies])
    weight = np.array([0.0 if one.label is None else one.weight for one in replies])
    total = float(weight.sum())

    def departure(values: Array) -> Array:
        """What each reply adds to the weighted mean of the labelled ones, as a share of 1 / n."""
        departed: Array = n * weight * (values - weight @ values / total) / total
        return departed

    # The values are those of the labels less lambda times these, whose mean is 0.
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
        clusters=[one.cluster for one in replies],
        unseen=(float(weight @ weight) / total**2) ** 2,
        df=float(degrees_of_freedom(of_clusters)),
        labels=len(given),
    )


def share_interval(found: Mean, alpha: float = 0.05) -> Interval:
    """The t interval of a share, cut off at 0 and 1."""
    interval = found.interval(alpha)
    low, high = (min(1.0, max(0.0, end)) for end in (interval.low, interval.high))
    return Interval(low, high)
