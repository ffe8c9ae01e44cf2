"""Energy distance: twice the mean distance between two sets, less those within each."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from sbibench.core.metric import Estimate, Evidence, checked_pair
from sbibench.inference.discrepancy import two_sample
from sbibench.inference.pairs import exponent, squares, times_power


def _kernel(_: Any, xs: Array, ys: Array) -> Array:
    return -jnp.sqrt(squares(xs, ys))


def energy_distance(key: PRNGKeyArray, samples: Any, reference: Any) -> Estimate:
    """Return the unbiased estimate of 2 E|x - y| - E|x - x'| - E|y - y'|.

    x and x' are of the one distribution, y and y' of the other. It is 0 for equal distributions
    alone, and has no bandwidth that could be wrong. Other authors take the root of it, which an
    unbiased estimate has none of, as it can be below 0.

    Parameters
    ----------
    key
        For the p-value; the value does not depend on it.
    samples, reference
        [n, d] and [m, d]; as they are, not standardised.

    Returns
    -------
    Estimate
        In the units of the samples; around 0, also below, for equal distributions. `error` holds
        for independent rows, and `p_value` for equal distributions is uniform, by permutation of
        up to 100 groups of rows a set.

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has one row only or another d.
    SbibenchError
        If the value is too large for float64.

    References
    ----------
    Székely & Rizzo 2013 (J. Stat. Plan. Inference 143:1249).
    """
    a, b = checked_pair(samples, reference, at_least=2)
    e = exponent(a, b)  # squares of the largest numbers would be infinite
    found = two_sample(key, _kernel, None, np.ldexp(a, -e), np.ldexp(b, -e))
    return Estimate(times_power(found, e), times_power(found.error or 0.0, e), **found.also)


@dataclass(frozen=True, kw_only=True)
class EnergyDistance:
    """The distance of `energy_distance`."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the distance, its standard error and its p-value."""
        return energy_distance(key, evidence.samples, evidence.reference)


METRIC = EnergyDistance
