"""Negative log density of the true parameters: how probable the posterior found them.

Of one pair (θ*, x) it says little. The true posterior gives a rare θ* a low density, as it should,
and a posterior that is wrong in the right place, or too wide, gives it a higher one. Over many
pairs from prior and simulator the mean is least for the true posterior.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.metric import Estimate, Evidence, present


def nltp(
    key: PRNGKeyArray,  # noqa: ARG001 - all metrics are called alike; nothing is random here
    log_probs: Any,
) -> Estimate:
    """Return the mean of -log q(θ* | x) over pairs of true parameters and data.

    Caution: one pair, or a few, can be lower for a wrong posterior than for the true one (above).
    In the mean over pairs drawn from prior and simulator it is the Kullback-Leibler divergence of q
    from the true posterior, plus the entropy of the latter, which is the same for every q.

    Parameters
    ----------
    log_probs
        log q(θ* | x), one of each pair [n], or one number.

    Returns
    -------
    Estimate
        The mean; `error` is its standard error, and None for one pair, which tells none.

    Raises
    ------
    UsageError
        If log_probs is not a vector, empty, or has entries that are NaN or +∞.
    SbibenchError
        If a density is 0: then the mean is infinite.

    References
    ----------
    Lueckmann et al. 2021 (arXiv:2101.04653), appendix A.4; Talts et al. 2018 (arXiv:1804.06788).
    """
    values = np.atleast_1d(np.asarray(log_probs, np.float64))
    if values.ndim != 1 or not len(values):
        raise UsageError(f"log densities have shape [n] with n ≥ 1, not {np.shape(log_probs)}")
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        raise UsageError(f"{bad.sum()} of {len(values)} log densities are NaN or infinite")
    zero = values == -np.inf
    if zero.any():
        raise SbibenchError(
            f"the density of the true parameters is 0 in {zero.sum()} of {len(values)} pairs, so "
            "that the mean is infinite"
        )
    n = len(values)
    error = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None
    return Estimate(-float(values.mean()), error)


@dataclass(frozen=True, kw_only=True)
class NLTP:
    """The value of `nltp` at one observation: read the caution there."""

    needs: ClassVar[tuple[str, ...]] = ("log_prob_true",)

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return -log q(θ* | x_obs)."""
        (log_prob,) = present(evidence, self.needs)
        return nltp(key, log_prob)


METRIC = NLTP
