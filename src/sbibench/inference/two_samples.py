"""What classifier two-sample tests do with two sets before a classifier sees them."""

import numpy as np
from jaxtyping import Float32, Float64, PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng

FARTHEST = 1e6
"""Standardised values end here: the squared gradients of farther ones overflow in float32."""


def standardized(
    samples: Float64[np.ndarray, "n d"], reference: Float64[np.ndarray, "m d"]
) -> tuple[Float32[np.ndarray, "n d"], Float32[np.ndarray, "m d"]]:
    """Centre both by the mean and divide both by the standard deviation of the reference.

    Columns in which the reference is constant are centred only.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = reference.mean(0), reference.std(0, ddof=1)
    if not np.isfinite(deviation).all():
        raise UsageError("the reference is too large for its standard deviation to be computed")
    # Rounding leaves the deviation of a constant column a little above zero.
    deviation[np.ptp(reference, axis=0) == 0] = 1
    with np.errstate(over="ignore"):
        a, b = ((x - mean) / deviation for x in (samples, reference))
    return (
        np.clip(a, -FARTHEST, FARTHEST).astype(np.float32),
        np.clip(b, -FARTHEST, FARTHEST).astype(np.float32),
    )


def of_equal_size(
    key: PRNGKeyArray, a: Float32[np.ndarray, "n d"], b: Float32[np.ndarray, "m d"]
) -> tuple[Float32[np.ndarray, "k d"], Float32[np.ndarray, "k d"]]:
    """Take of the larger set a random part, as many rows as the smaller one has."""
    n = min(len(a), len(b))
    rng = numpy_rng(key)
    a, b = (x if len(x) == n else rng.choice(x, n, replace=False) for x in (a, b))
    return a, b
