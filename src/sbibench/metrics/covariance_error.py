"""Error of the covariances: how much they differ from the reference's, in its deviations."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.metric import Estimate, Evidence, checked_pair
from sbibench.inference.moments import deviations, standardized_pair
from sbibench.inference.parts import error_by_parts


def covariance_error(key: PRNGKeyArray, samples: Any, reference: Any) -> Estimate:
    """Return the Frobenius norm of the error of the covariance matrix, over √d.

    The error is E_jk = (covariance of samples - covariance of reference) / (σ_j σ_k), with the
    standard deviations σ of the reference. So variances that are all too large by a share r, of
    coordinates without correlation, give r, whatever d. For equal Gaussian distributions without
    correlation it is about √((d + 1) (1/n + 1/m)), not 0.

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
        one, other = (np.cov(z, rowvar=False) for z in standardized_pair(x, y, unit))
        return float(np.sqrt(np.sum((one - other) ** 2) / x.shape[1]))

    with np.errstate(over="ignore", invalid="ignore"):
        value, error = distance(a, b), error_by_parts(key, distance, a, b)
    if not np.isfinite([value, error]).all():
        raise UsageError("samples are too far from the reference for float64")
    return Estimate(value, error)


@dataclass(frozen=True, kw_only=True)
class CovarianceError:
    """The error of `covariance_error`."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the error of the covariances and its standard error."""
        return covariance_error(key, evidence.samples, evidence.reference)


METRIC = CovarianceError
