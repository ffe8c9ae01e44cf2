"""Exact draws of Gaussians with a diagonal covariance, whole or cut to a box."""

import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.special import log_ndtr, ndtri_exp

from sbibench.core.keys import numpy_rng


def gaussian(key: PRNGKeyArray, mean: np.ndarray, scale: np.ndarray, n: int) -> np.ndarray:
    """Draw n samples [n, d] of a Gaussian with mean [d] and standard deviations [d]."""
    return np.asarray(mean + scale * numpy_rng(key).standard_normal((n, len(mean))))


def truncated_gaussian(
    key: PRNGKeyArray,
    mean: np.ndarray,
    scale: np.ndarray,
    box: tuple[np.ndarray, np.ndarray],
    n: int,
) -> np.ndarray:
    """Draw n samples [n, d] of such a Gaussian cut to the box from box[0] [d] to box[1] [d].

    By inversion, in logarithms and in the lower tail, so that it holds however far off the box is.
    """
    low, high = box
    side, log_a, log_b = _tails(mean, scale, box)
    ratio = np.exp(log_a - log_b)
    u = numpy_rng(key).uniform(size=(n, len(mean)))
    z = ndtri_exp(log_b + np.log(ratio + (1 - ratio) * (1 - u)))
    return np.asarray(np.clip(mean + scale * side * z, low, high))


def log_mass(mean: np.ndarray, scale: np.ndarray, box: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the log of the share of such a Gaussian that lies in the box."""
    _, log_a, log_b = _tails(mean, scale, box)
    return float(np.sum(log_b + np.log1p(-np.exp(log_a - log_b))))


def _tails(
    mean: np.ndarray, scale: np.ndarray, box: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a sign per dimension and log Φ at both ends, mirrored into the lower tail by it."""
    a, b = (box[0] - mean) / scale, (box[1] - mean) / scale
    side = np.where(a + b > 0, -1.0, 1.0)  # mirror what would lie in the upper tail
    a, b = np.where(side > 0, a, -b), np.where(side > 0, b, -a)
    return side, log_ndtr(a), log_ndtr(b)
