"""Maximum mean discrepancy: how far apart two sets of samples lie for a Gaussian kernel."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, PRNGKeyArray
from scipy.spatial.distance import pdist

import sbibench.core.precision  # noqa: F401 - float64 from the first computation on
from sbibench.core.errors import UsageError
from sbibench.core.metric import Evidence, checked_pair

BLOCK = 500
"""Rows of each set whose kernel matrix is in memory at a time: 2 MB, which fits into the cache."""

MEDIAN_ROWS = 2000
"""Rows whose pairs the median is taken of: two millions, about 1 % off the median of all."""

Block = tuple[Any, Any]
"""Rows [BLOCK, d] and how much each counts [BLOCK]: 1, or 0 where the block is filled up."""


def median_distance(reference: Float64[np.ndarray, "m d"]) -> float:
    """Return the median Euclidean distance between rows, of `MEDIAN_ROWS` evenly spaced ones."""
    rows = np.linspace(0, len(reference) - 1, min(len(reference), MEDIAN_ROWS)).round()
    return float(np.median(pdist(reference[rows.astype(int)])))


@jax.jit
def _kernel_sum(a: Block, b: Block, scale: Array | float) -> Float64[Array, ""]:
    """Sum exp(-scale |x - y|²) over all pairs of rows that count."""

    # Coordinate by coordinate: |x|² + |y|² - 2 x·y would lose the digits of near pairs.
    def add(squares: Array, column: tuple[Array, Array]) -> tuple[Array, None]:
        x, y = column
        return squares + (x[:, None] - y[None, :]) ** 2, None

    (xs, x_counts), (ys, y_counts) = a, b
    squares, _ = jax.lax.scan(add, jnp.zeros((BLOCK, BLOCK)), (xs.T, ys.T))
    total: Array = x_counts @ jnp.exp(-scale * squares) @ y_counts
    return total


def _blocks(xs: Float64[np.ndarray, "n d"]) -> Iterator[Block]:
    for start in range(0, len(xs), BLOCK):
        part = xs[start : start + BLOCK]
        missing = BLOCK - len(part)
        counts = np.pad(np.ones(len(part)), (0, missing))
        yield np.pad(part, ((0, missing), (0, 0))), counts


def _within(xs: Float64[np.ndarray, "n d"], scale: float) -> float:
    """Return the kernel's mean over all pairs of different rows."""
    blocks, n = list(_blocks(xs)), len(xs)
    same = sum(float(_kernel_sum(a, a, scale)) for a in blocks) - n  # k(x, x) = 1
    other = sum(float(_kernel_sum(a, b, scale)) for a, b in itertools.combinations(blocks, 2))
    return (same + 2 * other) / (n * (n - 1))


def _between(xs: Float64[np.ndarray, "n d"], ys: Float64[np.ndarray, "m d"], scale: float) -> float:
    """Return the kernel's mean over all pairs of a row of xs and one of ys."""
    pairs = itertools.product(_blocks(xs), _blocks(ys))
    return sum(float(_kernel_sum(a, b, scale)) for a, b in pairs) / (len(xs) * len(ys))


def mmd(
    key: PRNGKeyArray,  # noqa: ARG001 - all metrics are called alike; nothing is random here
    samples: Any,
    reference: Any,
    *,
    bandwidth: float | None = None,
) -> float:
    """Return the unbiased estimate of the squared maximum mean discrepancy.

    The kernel is exp(-|x - y|² / (2 s²)).

    Parameters
    ----------
    samples, reference
        [n, d] and [m, d]; as they are, not standardised.
    bandwidth
        s, in the units of the samples; by default the median distance between rows of the
        reference, of 2000 evenly spaced ones where there are more.

    Returns
    -------
    float
        Around 0, also below, for equal distributions; at most 2.

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has one row only or another d, or if the bandwidth is not
        positive. Where half of the reference's pairs are duplicates their median is 0, and a
        bandwidth must be given.

    References
    ----------
    Gretton et al. 2012 (JMLR 13:723), equation 3.
    """
    a, b = checked_pair(samples, reference, at_least=2)
    s = median_distance(b) if bandwidth is None else bandwidth
    scale = 0.5 / s / s if s > 0 else math.inf
    if not 0 < scale < math.inf:
        given = "" if bandwidth is not None else ", the median distance in the reference,"
        raise UsageError(f"the bandwidth{given} must be positive and finite, it is {s}")
    return _within(a, scale) + _within(b, scale) - 2 * _between(a, b, scale)


@dataclass(frozen=True, kw_only=True)
class MMD:
    """The squared discrepancy of `mmd`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    bandwidth: float | None = None

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> float:
        """Return the squared discrepancy."""
        return mmd(key, evidence.samples, evidence.reference, bandwidth=self.bandwidth)


METRIC = MMD
