"""What classifier two-sample tests do before a classifier sees two sets, and after."""

from collections.abc import Sequence

import numpy as np
import scipy.stats
from jaxtyping import Bool, Float, Float32, Float64, PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng

SHARED = 2
"""By how much the variance of a mean over folds exceeds that of independent folds, at most.

Folds share rows to learn from: where nothing can be learned, each pair of rows speaks twice, once
with either of the two held out. For a classifier that is linear in the labels this doubles the
variance, so that is what is assumed of all.
"""

FARTHEST = 1e6
"""Standardised values end here: the squared gradients of farther ones overflow in float32."""


def standardized(
    samples: Float64[np.ndarray, "n d"], reference: Float64[np.ndarray, "m d"]
) -> tuple[Float32[np.ndarray, "n d"], Float32[np.ndarray, "m d"]]:
    """Centre both by the mean and divide both by the standard deviation of the reference.

    Columns in which the reference is constant are centred only.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = reference.mean(0), reference.std(0, ddof=1)
    if not np.isfinite(deviation).all():
        raise UsageError("the reference is too large for its standard deviation to be computed")
    # Rounding leaves the deviation of a constant column a little above zero.
    deviation[np.ptp(reference, axis=0) == 0] = 1
    with np.errstate(over="ignore"):
        a, b = ((x - mean) / deviation for x in (samples, reference))
    return (
        np.clip(a, -FARTHEST, FARTHEST).astype(np.float32),
        np.clip(b, -FARTHEST, FARTHEST).astype(np.float32),
    )


def of_equal_size(
    key: PRNGKeyArray, a: Float32[np.ndarray, "n d"], b: Float32[np.ndarray, "m d"]
) -> tuple[Float32[np.ndarray, "k d"], Float32[np.ndarray, "k d"]]:
    """Take of the larger set a random part, as many rows as the smaller one has."""
    n = min(len(a), len(b))
    rng = numpy_rng(key)
    a, b = (x if len(x) == n else rng.choice(x, n, replace=False) for x in (a, b))
    return a, b


def area(scores: Float[np.ndarray, " n"], labels: Bool[np.ndarray, " n"]) -> float:
    """Return how often a row that is labelled scores higher than one that is not; ties are halves.

    It is the area under the ROC curve; 1/2 where all rows have one label.
    """
    ranks, positive = scipy.stats.rankdata(scores), int(labels.sum())
    if not 0 < positive < len(ranks):
        return 0.5
    above = ranks[labels].sum() - positive * (positive + 1) / 2
    return float(above / positive / (len(ranks) - positive))


def p_value(auc: float, labels: Sequence[Bool[np.ndarray, " n"]]) -> float:
    """Return how probable so large a mean AUC over folds is for sets of one distribution.

    Given the scores, the labels of the rows held out could then be permuted: this is the normal
    limit of the AUC's permutation distribution, of the Mann-Whitney statistic, with the variance
    that folds share.

    Parameters
    ----------
    auc
        The mean over the folds.
    labels
        The labels of the rows held out, fold by fold.

    References
    ----------
    Mann & Whitney 1947 (Annals of Mathematical Statistics 18:50).
    """
    counts = np.array([(own.sum(), (~own).sum()) for own in labels], float)
    counts = np.maximum(counts, 1)
    variance = SHARED * ((counts.sum(1) + 1) / (12 * counts.prod(1))).sum() / len(counts) ** 2
    return float(scipy.stats.norm.sf((auc - 0.5) / variance**0.5))


def fold_error(accuracy: float, rows: int) -> float:
    """Return the standard error of a mean accuracy over all folds, of so many rows in all."""
    return float((SHARED * accuracy * (1 - accuracy) / rows) ** 0.5)
