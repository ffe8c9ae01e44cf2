"""Means and second moments in units of the deviations of a reference."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from sbibench.core.errors import UsageError
from sbibench.core.metric import checked_pair
from sbibench.inference.norms import number_of_groups


class Moments(NamedTuple):
    """Of a set in units of the reference's deviations, seen from the reference's mean.

    Attributes
    ----------
    mean, covariance
        [d] and [d, d].
    means, seconds
        Of groups of rows, mean [groups, d] and mean of (x - mean) (x - mean)ᵀ [groups, d, d].
    """

    mean: np.ndarray
    covariance: np.ndarray
    means: np.ndarray
    seconds: np.ndarray


def moments(samples: object, reference: object) -> tuple[Moments, Moments]:
    """Return the moments of samples [n, d] and of the reference [m, d].

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has fewer than two rows or another d; if the reference is
        constant in a column, so that its deviation is no unit; if a number is too large.
    """
    a, b = checked_pair(samples, reference, at_least=2)
    constant = np.flatnonzero(np.ptp(b, axis=0) == 0)
    if len(constant):
        raise UsageError(
            f"the reference is constant in column {constant[0]} (counted from 0), so that its "
            "deviation there is no unit; leave the column out"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        _, e = np.frexp(np.abs(b).max(0))  # so that no square of the reference is infinite
        a, b = np.ldexp(a, -e), np.ldexp(b, -e)
        centre, unit = b.mean(0), b.std(0, ddof=1)
        both = _moments((a - centre) / unit), _moments((b - centre) / unit)
        # The squares of all that is computed from them must be numbers, too.
        finite = all(np.isfinite(m**2).all() for set_ in both for m in set_)
    if not finite:
        raise UsageError("samples are too far from the reference for float64")
    return both


def _moments(xs: Float64[np.ndarray, "n d"]) -> Moments:
    mean = xs.mean(0)
    groups = np.array_split(xs - mean, number_of_groups(len(xs)))
    seconds = np.stack([x.T @ x / len(x) for x in groups])
    covariance = np.atleast_2d(np.cov(xs, rowvar=False))
    return Moments(mean, covariance, np.stack([x.mean(0) for x in groups]), seconds)
