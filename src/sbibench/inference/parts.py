"""The standard error of a distance between two sets of samples, from disjoint parts of both."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64, PRNGKeyArray

from sbibench.core.keys import numpy_rng

PARTS = 20
"""Parts at most: the spread over so many is known to about a sixth."""

FEWEST = 5
"""Parts at least, if there are two rows for each: the spread over so few is known to a third."""

ROWS = 20
"""Rows of the smaller set in a part, if that leaves as many parts as are needed."""


def error_by_parts(
    key: PRNGKeyArray,
    distance: Callable[[np.ndarray, np.ndarray], float],
    a: Float64[np.ndarray, "n d"],
    b: Float64[np.ndarray, "m d"],
) -> float:
    """Return the standard error of distance(a, b), for independent rows.

    Both sets are cut at random into k parts; the error is the standard deviation of the distance
    of a part of a from a part of b, over √k. That is right for a distance whose spread falls as one
    over the root of the number of rows: so does that of a root of a sum of squares, both where the
    distributions are equal and it is all noise and where they differ. (In between it can be a third
    too small if d is 1.) The bootstrap fails in the first case: it adds the noise of the samples to
    that of resampling.

    Parameters
    ----------
    key
        For the parts.
    distance
        Of two sets.
    a, b
        Four rows each or more.

    References
    ----------
    Politis, Romano & Wolf 1999, Subsampling, chapter 2.
    """
    least = min(len(a), len(b))
    k = min(PARTS, max(least // ROWS, min(FEWEST, least // 2)))
    rng = numpy_rng(key)
    parts = zip(*(np.array_split(rng.permutation(x), k) for x in (a, b)), strict=True)
    return float(np.std([distance(x, y) for x, y in parts], ddof=1) / np.sqrt(k))
