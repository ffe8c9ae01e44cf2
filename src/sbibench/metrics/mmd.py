"""Maximum mean discrepancy: how far apart two sets of samples lie for a Gaussian kernel."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from sbibench.core.metric import Estimate, Evidence, checked_pair
from sbibench.inference.discrepancy import two_sample
from sbibench.inference.pairs import gaussian_scale, squares


def _kernel(scale: Any, xs: Array, ys: Array) -> Array:
    return jnp.exp(-scale * squares(xs, ys))


def mmd(
    key: PRNGKeyArray, samples: Any, reference: Any, *, bandwidth: float | None = None
) -> Estimate:
    """Return the unbiased estimate of the squared maximum mean discrepancy.

    The kernel is exp(-|x - y|² / (2 s²)).

    Parameters
    ----------
    key
        For the p-value; the value does not depend on it.
    samples, reference
        [n, d] and [m, d]; as they are, not standardised.
    bandwidth
        s, in the units of the samples; by default the median distance between rows of the
        reference, of 2000 evenly spaced ones where there are more.

    Returns
    -------
    Estimate
        Around 0, also below, for equal distributions; at most 2. `error` holds for independent
        rows and a given bandwidth, and `p_value` for equal distributions is uniform, by permutation
        of up to 100 groups of rows a set.

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
    return two_sample(key, _kernel, gaussian_scale(bandwidth, b, "reference"), a, b)


@dataclass(frozen=True, kw_only=True)
class MMD:
    """The squared discrepancy of `mmd`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    bandwidth: float | None = None

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the squared discrepancy, its standard error and its p-value."""
        return mmd(key, evidence.samples, evidence.reference, bandwidth=self.bandwidth)


METRIC = MMD
