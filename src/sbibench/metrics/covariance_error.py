"""Error of the covariances: how much they differ from the reference's, in its deviations."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.metric import Estimate, Evidence
from sbibench.inference.moments import moments
from sbibench.inference.norms import length_error


def covariance_error(
    key: PRNGKeyArray,  # noqa: ARG001 - all metrics are called alike; nothing is random here
    samples: Any,
    reference: Any,
) -> Estimate:
    """Return the Frobenius norm of the error of the covariance matrix, over √d.

    The error is E_jk = (covariance of samples - covariance of reference) / (σ_j σ_k), with the
    standard deviations σ of the reference. So variances that are all too large by a share r, of
    coordinates without correlation, give r, whatever d. For equal Gaussian distributions without
    correlation it is about √((d + 1) (1/n + 1/m)), not 0.

    Parameters
    ----------
    samples, reference
        [n, d] and [m, d].

    Returns
    -------
    Estimate
        0 or more; `error` is from the spread over groups of rows, see `length_error`.

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has fewer than two rows or another d; if the reference is
        constant in a column; if a number is too large.
    """
    a, b = moments(samples, reference)
    wrong = a.covariance - b.covariance
    # The deviations in the denominator spread, too.
    variances = np.diagonal(b.seconds, axis1=1, axis2=2)
    of_units = wrong / 2 * (variances[:, :, None] + variances[:, None, :])
    root = np.sqrt(len(wrong))
    ours, theirs = (x.reshape(len(x), -1) / root for x in (a.seconds, b.seconds + of_units))
    error = length_error(wrong.ravel() / root, ours, theirs)
    return Estimate(float(np.sqrt(np.sum(wrong**2))) / float(root), error)


@dataclass(frozen=True, kw_only=True)
class CovarianceError:
    """The error of `covariance_error`."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the error of the covariances and its standard error."""
        return covariance_error(key, evidence.samples, evidence.reference)


METRIC = CovarianceError
