"""A neuron that spikes in each of 100 time bins with a probability that a stimulus drives.

y_i ~ Bernoulli(sigmoid((Vθ)_i)); θ = (β, f) is an offset and a smooth filter of nine values that is
applied to white noise. Source: Lueckmann et al. 2021; Lueckmann et al. 2017.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

BINS = 100
FILTER = 9
PARAMETER_NAMES = ("beta", *(f"f_{j}" for j in range(FILTER)))


def _design() -> np.ndarray:
    """Return V [100, 10]: ones, then the stimulus delayed by 0, ..., 8 bins."""
    legacy = np.random.RandomState(42)  # the benchmark's own stimulus
    stimulus = legacy.randn(BINS).astype(np.float32).astype(np.float64)
    delayed = [np.concatenate([np.zeros(j), stimulus[: BINS - j]]) for j in range(FILTER)]
    return np.stack([np.ones(BINS), *delayed], axis=1)


def _prior() -> dist.MultivariateNormal:
    """Return β ~ N(0, 2) and f ~ N(0, (FᵀF)⁻¹), where F penalises second differences of f."""
    difference = np.eye(FILTER) - np.eye(FILTER, k=-1)
    roughness = difference @ difference + np.diag(np.sqrt(np.arange(FILTER) / FILTER))
    covariance = np.zeros((FILTER + 1, FILTER + 1))
    covariance[0, 0] = 2.0
    covariance[1:, 1:] = np.linalg.inv(roughness.T @ roughness)
    return dist.MultivariateNormal(np.zeros(FILTER + 1), scale_tril=np.linalg.cholesky(covariance))


DESIGN = _design()
PRIOR = _prior()


def spikes(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " n"]:
    """Draw y [100], each 0 or 1, given θ [10]."""
    return random.bernoulli(key, jax.nn.sigmoid(DESIGN @ theta)).astype(theta.dtype)


def log_likelihood(theta: Float[Array, " d"], summary: Float[Array, " d"]) -> Float[Array, ""]:
    """Return the log probability of any one y [100] whose sufficient statistics Vᵀy [10] these are.

    It is Σ_i y_i (Vθ)_i - log(1 + exp (Vθ)_i), and the first sum is θ · Vᵀy. How many y share their
    statistics does not depend on θ and is left out.
    """
    return theta @ summary - jnp.sum(jax.nn.softplus(DESIGN @ theta))
