"""Means and covariances in units of the deviations of a reference."""

import numpy as np
from jaxtyping import Float64

from sbibench.core.errors import UsageError


def deviations(reference: Float64[np.ndarray, "m d"]) -> Float64[np.ndarray, " d"]:
    """Return the standard deviation of each column.

    Raises
    ------
    UsageError
        If a column is constant and so no unit, or so large that the deviation is not a number.
    """
    constant = np.flatnonzero(np.ptp(reference, axis=0) == 0)
    if len(constant):
        raise UsageError(
            f"the reference is constant in column {constant[0]} (of {reference.shape[1]}, from 0): "
            "its deviation is no unit; leave the column out"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        found = reference.std(0, ddof=1)
    if not (np.isfinite(found) & (found > 0)).all():
        raise UsageError("the reference's deviation is not a number of float64; rescale it")
    return np.asarray(found)


def standardized_pair(
    a: Float64[np.ndarray, "n d"],
    b: Float64[np.ndarray, "m d"],
    fallback: Float64[np.ndarray, " d"],
) -> tuple[Float64[np.ndarray, "n d"], Float64[np.ndarray, "m d"]]:
    """Return both over the deviations of b, in columns where b is constant over the fallback.

    Both are centred at the mean of b.
    """
    unit = np.where(np.ptp(b, axis=0) == 0, fallback, b.std(0, ddof=1))
    centre = b.mean(0)
    return (a - centre) / unit, (b - centre) / unit
