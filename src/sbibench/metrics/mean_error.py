"""Error of the means: how far they lie from the reference's, in its standard deviations."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.metric import Estimate, Evidence, checked_pair
from sbibench.inference.moments import deviations, standardized_pair
from sbibench.inference.parts import error_by_parts


def mean_error(key: PRNGKeyArray, samples: Any, reference: Any) -> Estimate:
    """Return the root mean square, over coordinates, of the errors of the means.

    It is √(1/d Σ_j z_j²) with z_j = (mean of samples - mean of reference) / deviation of reference,
    all of coordinate j. It does not grow with d; for equal distributions it is about √(1/n + 1/m),
    not 0.

    Parameters
    ----------
    key
        For the standard error; the value does not depend on it.
    samples, reference
        [n, d] and [m, d].

    Returns
    -------
    Estimate
        0 or more; `error` is from the spread over parts of both sets, for independent rows.

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has fewer than four rows or another d, or if the reference
        is constant in a column, or a number too large.
    """
    a, b = checked_pair(samples, reference, at_least=4)
    unit = deviations(b)

    def distance(x: np.ndarray, y: np.ndarray) -> float:
        shifted, _ = standardized_pair(x, y, unit)
        return float(np.sqrt(np.mean(shifted.mean(0) ** 2)))

    with np.errstate(over="ignore", invalid="ignore"):
        value, error = distance(a, b), error_by_parts(key, distance, a, b)
    if not np.isfinite([value, error]).all():
        raise UsageError("samples are too far from the reference for float64")
    return Estimate(value, error)


@dataclass(frozen=True, kw_only=True)
class MeanError:
    """The error of `mean_error`."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the error of the means and its standard error."""
        return mean_error(key, evidence.samples, evidence.reference)


METRIC = MeanError
