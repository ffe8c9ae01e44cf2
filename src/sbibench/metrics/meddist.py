"""Median distance: how far simulations from the posterior lie from the observation.

A check rather than a metric: many posteriors have the same, and the true one not the least.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import InvalidSimulationsError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import Estimate, Evidence, checked, present
from sbibench.inference.pairs import exponent, times_power


def meddist(
    key: PRNGKeyArray,  # noqa: ARG001 - all metrics are called alike; nothing is random here
    predictions: Any,
    x_obs: Any,
) -> Estimate:
    """Return the median Euclidean distance of posterior predictive draws from the observation.

    Draws that are not finite are left out: a posterior whose simulations fail looks better for it,
    so look at `invalid`.

    Parameters
    ----------
    predictions
        Draws of the posterior predictive distribution, [n, p]; as they are, not standardised.
    x_obs
        The observation [p].

    Returns
    -------
    Estimate
        The median. `error` is from the distances half a standard deviation of the rank, √n / 2, to
        either side of it, for independent draws, and None for one draw, which tells none;
        `invalid` is the number of draws left out.

    Raises
    ------
    UsageError
        If predictions is not a matrix with a row or more, or x_obs not a finite vector as long.
    InvalidSimulationsError
        If no draw is finite.
    SbibenchError
        If the value is too large for float64.

    References
    ----------
    Lueckmann et al. 2021 (arXiv:2101.04653), appendix A.4.
    """
    xs = np.asarray(predictions, np.float64)
    if xs.ndim != 2 or not xs.size:
        raise UsageError(f"predictions have shape [n, p] with n, p ≥ 1, not {xs.shape}")
    x = checked(np.asarray(x_obs, np.float64)[None], "x_obs")[0]
    if xs.shape[1:] != x.shape:
        raise UsageError(f"predictions have {xs.shape[1]} columns, x_obs has {len(x)} numbers")
    valid = xs[np.isfinite(xs).all(1)]
    n, invalid = len(valid), len(xs) - len(valid)
    if not n:
        raise InvalidSimulationsError(f"none of {len(xs)} posterior predictive draws is finite")
    e = exponent(valid, x)
    near = np.sort(np.linalg.norm(np.ldexp(valid, -e) - np.ldexp(x, -e), axis=1))
    half = math.sqrt(n) / 2
    low, high = max(0, math.floor(n / 2 - half)), min(n - 1, math.ceil(n / 2 + half))
    error = times_power((near[high] - near[low]) / (high - low) * half, e) if n > 1 else None
    return Estimate(times_power(float(np.median(near)), e), error, invalid=invalid)


@dataclass(frozen=True, kw_only=True)
class Meddist:
    """The median distance of `meddist`.

    Attributes
    ----------
    draws
        Posterior predictive draws. Of more samples a random part is used; of fewer each is used
        equally often, but for what is left, and then the error is too small.
    """

    needs: ClassVar[tuple[str, ...]] = ("samples", "simulate", "x_obs")

    draws: int = 10_000

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the median distance, its standard error and the number of invalid simulations."""
        if self.draws < 1:
            raise UsageError(f"meddist needs one draw or more, not {self.draws}")
        samples, simulate, x_obs = present(evidence, self.needs)
        thetas = checked(samples, "samples")
        key_rows, key_xs = jax.random.split(key)
        times, rest = divmod(self.draws, len(thetas))
        some = numpy_rng(key_rows).choice(len(thetas), rest, replace=False)
        rows = np.concatenate([np.tile(np.arange(len(thetas)), times), some])
        return meddist(key_xs, simulate(key_xs, thetas[rows]), x_obs)


METRIC = Meddist
