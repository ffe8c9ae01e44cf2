"""U-statistics of one or two sets of samples, with their standard errors and p-values.

All that is needed are sums over pairs of rows, see `pairs`.

The standard error. By Hoeffding's decomposition the variance of a U-statistic of degree two is
V1 + V2: V1 of what single rows contribute, V2 of what is left of pairs. At equal distributions V1
is 0, and V2 is all there is. The jackknife's variance is V1 + 2 V2 in the mean (Efron & Stein
1981), so V2, which the squares give, is taken off once, and what is left is V2 at least.

The p-value. Rows are put into groups, and groups take the place of rows in the permutation test or
the wild bootstrap: the statistic of any reordering of groups follows from the sums of groups.
"""

from typing import Any

import jax
import numpy as np
from jaxtyping import Float64, PRNGKeyArray

from sbibench.core.errors import SbibenchError
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import Estimate
from sbibench.inference.pairs import Kernel, Sums, pair_sums

RESAMPLES = 999
"""Random reorderings that the statistic is compared with: p-values are multiples of 1/1000."""

GROUPS = 100
"""About how many groups there are, and how many of one set at most are reordered."""

FEW = 20
"""Groups that the smaller of two sets is cut into, if it has as many rows."""

TIE = 1e-9
"""Statistics nearer than this, in root mean squares of h, are equal but for rounding."""


def one_sample(key: PRNGKeyArray, kernel: Kernel, fixed: object, rows: object) -> Estimate:
    """Return the mean of h over all pairs of different rows, which is 0 in the mean if all is well.

    Parameters
    ----------
    key
        For the p-value alone.
    kernel, fixed
        h(fixed, ·, ·), see `pairs`. Degenerate where all is well: its mean over one row is 0 for
        every other.
    rows
        A pytree of arrays [n, ...], n ≥ 2.

    Returns
    -------
    Estimate
        The mean and its standard error; `p_value` of a mean above 0, by the wild bootstrap with
        one sign for each group of rows (Chwialkowski et al. 2016, arXiv:1602.02964).
    """
    n = len(jax.tree.leaves(rows)[0])
    labels = np.arange(n) * min(n, GROUPS) // n
    sums = pair_sums(kernel, fixed, [rows], [labels])
    pairs = n * (n - 1)
    mean = _finite(sums.groups.sum() / pairs)
    means = sums.rows[0][:, 0] / (n - 1)
    rest = 2 * _spread(means, means, sums.squares[0, 0] / pairs) / pairs
    signs = numpy_rng(key).choice([-1.0, 1.0], (RESAMPLES, len(sums.groups)))
    others = np.sum(signs @ sums.groups * signs, axis=1) / pairs
    return Estimate(
        mean,
        _error(4 * float(means.var(ddof=1)) / n, rest),
        p_value=_p_value(mean, others, sums, pairs),
    )


def two_sample(
    key: PRNGKeyArray,
    kernel: Kernel,
    fixed: object,
    a: Float64[np.ndarray, "n d"],
    b: Float64[np.ndarray, "m d"],
) -> Estimate:
    """Return the mean of h within a and within b, over different rows, less twice that between.

    Parameters
    ----------
    key
        For the p-value alone.
    kernel, fixed
        h(fixed, ·, ·), see `pairs`.
    a, b
        The two sets, two rows each or more.

    Returns
    -------
    Estimate
        The statistic, 0 in the mean for equal distributions, and its standard error; `p_value` of
        a greater one, by permutation of groups of equal size. It is exact for equal distributions
        if h does not depend on which rows are in a and which in b.
    """
    n, m = len(a), len(b)
    size = max(1, min((n + m) // GROUPS, min(n, m) // FEW))
    free = [min(GROUPS, n // size), min(GROUPS, m // size)]
    # What doesn't fill a group, or is one too many, stays where it is: one group more of each set.
    labels = [np.minimum(np.arange(len(x)) // size, k) for x, k in zip((a, b), free, strict=True)]
    ids = [int(x[-1]) + 1 for x in labels]
    sums = pair_sums(kernel, fixed, [a, b], [labels[0], labels[1] + ids[0]])
    in_a = np.repeat([1.0, 0.0], ids)
    loose = np.concatenate([np.arange(free[0]), ids[0] + np.arange(free[1])])
    shuffled = np.tile(in_a, (1 + RESAMPLES, 1))
    shuffled[1:, loose] = numpy_rng(key).permuted(shuffled[1:, loose], axis=1)
    this, *others = _contrast(shuffled, sums.groups, n, m)

    def means(x: int, y: int) -> np.ndarray:
        return np.asarray(sums.rows[x][:, y] / ((n, m)[y] - (x == y)))

    aa, ab, ba, bb = (means(x, y) for x in (0, 1) for y in (0, 1))
    jackknife = 4 * (aa - ab).var(ddof=1) / n + 4 * (bb - ba).var(ddof=1) / m
    square = sums.squares
    rest = (
        2 * _spread(aa, aa, square[0, 0] / (n * (n - 1))) / (n * (n - 1))
        + 2 * _spread(bb, bb, square[1, 1] / (m * (m - 1))) / (m * (m - 1))
        + 4 * _spread(ab, ba, square[0, 1] / (n * m)) / (n * m)
    )
    return Estimate(
        _finite(aa.mean() + bb.mean() - 2 * ab.mean()),
        _error(float(jackknife), rest),
        p_value=_p_value(this, others, sums, (n + m) * (n + m - 1)),
    )


def _contrast(
    in_a: Float64[np.ndarray, "r k"], groups: Float64[np.ndarray, "k k"], n: int, m: int
) -> Float64[np.ndarray, " r"]:
    """Return the statistic for each choice (0 or 1) of which groups are in the first set."""
    with_a, with_b = in_a @ groups, (1 - in_a) @ groups
    within_a, within_b = np.sum(with_a * in_a, axis=1), np.sum(with_b * (1 - in_a), axis=1)
    between = np.sum(with_b * in_a, axis=1)
    return np.asarray(within_a / (n * (n - 1)) + within_b / (m * (m - 1)) - 2 * between / (n * m))


def _spread(a: np.ndarray, b: np.ndarray, square: float) -> float:
    """Return the variance of h that neither row of a pair has a part in, from means over rows."""
    alone = float(a.var() + b.var())
    return max(0.0, float(square) - float(a.mean()) * float(b.mean()) - alone)


def _error(jackknife: float, rest: float) -> float:
    return float(np.sqrt(max(jackknife - rest, rest)))


def _finite(value: float) -> float:
    if not np.isfinite(value):
        raise SbibenchError("the numbers are too large for float64; bring them to a smaller scale")
    return float(value)


def _p_value(value: float, others: Any, sums: Sums, pairs: int) -> float:
    """Return the share of statistics, this one among them, that are as great."""
    tie = TIE * np.sqrt(sums.squares.sum() / pairs)
    return float((1 + np.sum(np.asarray(others) >= value - tie)) / (1 + len(others)))
