"""Ranks of the truth among draws, and whether they are uniform.

A rank is told as the share of the draws below the truth, spread at random over the step that the
rank is wide. So it is uniform on [0, 1] exactly if truth and draws come from one distribution,
whatever their number and however many are tied, and tests for continuous variables are exact.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, kstest, poisson

GRID = 100
"""The distribution function of the shares is looked at in this many equal steps, at most."""

SMALLEST = 1e-12
"""P-values below it can't be told from it: they are one minus a sum."""


def shares(rng: np.random.Generator, truth: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the share [n, k] of draws [n, L, k] below the truth [n, k]; ties broken at random."""
    below = (draws < truth[:, None]).sum(1)
    ties = (draws == truth[:, None]).sum(1)
    ranks = below + rng.uniform(size=ties.shape) * (ties + 1)
    among: np.ndarray = ranks / (draws.shape[1] + 1)
    return among


class Uniformity(NamedTuple):
    """How k columns of n shares compare with the uniform distribution.

    Attributes
    ----------
    ks, ks_p_values
        Kolmogorov-Smirnov distance of each column, and the exact p-value.
    band_p_values
        P-value of the simultaneous band that a column's distribution function only just leaves.
    at
        Where distribution functions were looked at [g].
    above
        How far those of the columns lie above the diagonal there [g, k].
    low, high
        The band [g] around 0 for `level`: the share of uniform samples that leave it somewhere.
    """

    ks: np.ndarray
    ks_p_values: np.ndarray
    band_p_values: np.ndarray
    at: np.ndarray
    above: np.ndarray
    low: np.ndarray
    high: np.ndarray


def uniformity(columns: np.ndarray, level: float) -> Uniformity:
    """Compare columns of shares [n, k] with the uniform distribution.

    The band is that of Säilynoja et al. 2022 (arXiv:2103.10522): the same tail
    probability of the binomial distribution at every point, adjusted so that a uniform sample stays
    inside everywhere with probability 1 - level. That probability is computed exactly, by a
    recursion over the points for a Poisson process given its number of events.
    """
    n = len(columns)
    steps = min(GRID, n + 1)
    at = np.arange(1, steps) / steps
    counts = (columns[:, None] <= at[None, :, None]).sum(0)
    tests = [kstest(column, "uniform") for column in columns.T]
    tails = _tails(n, steps)
    rarest = tails[np.arange(steps - 1)[:, None], counts].min(0)
    low, high = _band(n, steps, level)
    return Uniformity(
        ks=np.array([float(t.statistic) for t in tests]),
        ks_p_values=np.array([float(t.pvalue) for t in tests]),
        band_p_values=np.array([max(_outside(n, steps, float(r)), SMALLEST) for r in rarest]),
        at=at,
        above=counts / n - at[:, None],
        low=low / n - at,
        high=high / n - at,
    )


def direction(column: np.ndarray) -> tuple[float, float]:
    """Return how far mean and spread of shares [n] lie from uniform ones, in standard errors."""
    n, centred = len(column), column - 0.5
    return (
        float(centred.mean() * math.sqrt(12 * n)),
        float((np.mean(centred**2) - 1 / 12) * math.sqrt(180 * n)),
    )


@functools.lru_cache(maxsize=16)
def _tails(n: int, steps: int) -> np.ndarray:
    """Return twice the smaller tail probability of each count 0..n at each inner point."""
    at = (np.arange(1, steps) / steps)[:, None]
    counts = np.arange(n + 1)[None]
    below, above = binom.cdf(counts, n, at), binom.sf(counts - 1, n, at)
    smaller: np.ndarray = np.minimum(below, above)
    return 2 * smaller


def _limits(n: int, steps: int, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest count at each point whose tails are above `tail`."""
    inside = _tails(n, steps) > tail * (1 + 1e-9)
    return inside.argmax(1), n - inside[:, ::-1].argmax(1)


def _outside(n: int, steps: int, tail: float) -> float:
    """Return the probability that n uniform numbers have a count whose tail is `tail` or less."""
    low, high = _limits(n, steps, tail)
    if (_tails(n, steps).max(1) <= tail * (1 + 1e-9)).any():
        return 1.0
    # Numbers in equal cells are Poisson variables, given that they sum to n.
    mean = n / steps
    increments = poisson.pmf(np.arange(math.ceil(mean + 10 * math.sqrt(mean) + 20)), mean)
    chance, first = np.ones(1), 0  # of the counts first, first + 1, ... so far
    for least, most in zip(low, high, strict=True):
        moved = np.convolve(chance, increments)
        start, stop = max(least, first), min(most, first + len(moved) - 1)
        if start > stop:
            return 1.0
        chance, first = moved[start - first : stop - first + 1], int(start)
    rest = n - first - np.arange(len(chance))
    inside = float(chance @ poisson.pmf(rest, mean)) / float(poisson.pmf(n, n))
    return min(1.0, max(0.0, 1 - inside))


@functools.lru_cache(maxsize=64)
def _band(n: int, steps: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest counts of the band that samples leave at most this often."""
    least, most = math.log(SMALLEST), 0.0
    for _ in range(40):
        middle = (least + most) / 2
        if _outside(n, steps, math.exp(middle)) <= level:
            least = middle
        else:
            most = middle
    return _limits(n, steps, math.exp(least))
