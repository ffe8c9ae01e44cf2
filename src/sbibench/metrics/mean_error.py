"""Error of the means: how far they lie from the reference's, in its standard deviations."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.metric import Estimate, Evidence
from sbibench.inference.moments import moments
from sbibench.inference.norms import length_error


def mean_error(
    key: PRNGKeyArray,  # noqa: ARG001 - all metrics are called alike; nothing is random here
    samples: Any,
    reference: Any,
) -> Estimate:
    """Return the root mean square, over coordinates, of the errors of the means.

    It is √(1/d Σ_j z_j²) with z_j = (mean of samples - mean of reference) / deviation of reference,
    all of coordinate j. It does not grow with d; for equal distributions it is about √(1/n + 1/m),
    not 0.

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
    z = a.mean - b.mean
    # The deviations in the denominator spread, too.
    of_units = z / 2 * np.diagonal(b.seconds, axis1=1, axis2=2)
    root = np.sqrt(len(z))
    error = length_error(z / root, a.means / root, (b.means + of_units) / root)
    return Estimate(float(np.sqrt(np.mean(z**2))), error)


@dataclass(frozen=True, kw_only=True)
class MeanError:
    """The error of `mean_error`."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the error of the means and its standard error."""
        return mean_error(key, evidence.samples, evidence.reference)


METRIC = MeanError
