"""The standard error of a distance that is the length of a mean vector: errors of moments, W2.

The length |v| of a vector v that is known up to noise w spreads like |v + w|: less, and not around
|v|, where v is no longer than the noise. Linear propagation of errors fails there, and so does the
bootstrap, which starts from the v that was found and so counts the noise twice.
"""

import numpy as np
from jaxtyping import Float64
from scipy.special import gammaln

from sbibench.inference.pairs import exponent

GROUPS = 50
"""Groups that rows are put into at most: the spread over so many is known to a tenth."""

FEWEST = 5
"""Groups at least, if there are as many rows."""

ROWS = 20
"""Rows of a group, if that leaves as many groups as are needed."""


def number_of_groups(n: int) -> int:
    """Return how many groups n rows are put into."""
    return min(GROUPS, max(n // ROWS, min(FEWEST, n)))


def length_error(
    v: Float64[np.ndarray, " k"], a: Float64[np.ndarray, "g k"], b: Float64[np.ndarray, "h k"]
) -> float:
    """Return the standard error of |v|, for v that is the mean of a minus that of b.

    With C for the covariance of v, by the spread over groups, the variance of |v|² is
    4 vᵀCv + 2 tr C² for the v without noise, which is 4 vᵀCv - 2 tr C² in the mean for the v that
    was found. Taking |v|² for a Gamma variable gives that of |v|: exact for noise alone of one
    variance in any number of dimensions, and the usual quotient where v is long.

    Parameters
    ----------
    v
        The vector [k].
    a, b
        Of each set its groups' contributions [groups, k], two groups or more; what is common to all
        groups does not matter.
    """
    e = exponent(v, a, b)  # fourth powers are to come
    v = np.ldexp(v, -e)
    one, other = (np.ldexp(x - x.mean(0), -e) / np.sqrt(len(x) * (len(x) - 1)) for x in (a, b))
    along = np.sum((one @ v) ** 2) + np.sum((other @ v) ** 2)
    noise = float(np.sum(one**2) + np.sum(other**2))
    both = 2 * np.sum((one @ other.T) ** 2)
    squares = max(_trace_of_square(one) + both + _trace_of_square(other), noise**2 / len(v))
    variance = float(max(4 * along - 2 * squares, 2 * squares))
    mean = max(float(v @ v), noise)
    if not variance > 0:
        return 0.0
    shape = mean**2 / variance
    # 1 - (E √q)² / E q of a Gamma variable q; for large shapes it is 1 / (4 shape).
    share = -np.expm1(2 * (gammaln(shape + 0.5) - gammaln(shape)) - np.log(shape))
    error = float(np.sqrt(mean * (share if shape < 1e5 else 0.25 / shape)))
    return float(np.ldexp(error, e))


def _trace_of_square(rows: Float64[np.ndarray, "g k"]) -> float:
    """Return tr C² for C = rowsᵀ rows, without what chance adds to it.

    So few normal vectors are far from orthogonal: in the mean the square of a covariance matrix
    with f degrees of freedom has the trace (1 + 1/f) tr C² + (tr C)² / f.
    """
    found, trace, f = float(np.sum((rows @ rows.T) ** 2)), float(np.sum(rows**2)), len(rows) - 1
    if f < 2:
        return found
    return max(0.0, f**2 / ((f - 1) * (f + 2)) * (found - trace**2 / f))
