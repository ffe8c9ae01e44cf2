"""Mixtures of Gaussians with full precision matrices: density, draws, division by a Gaussian."""

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

WIDEST = 10.0
"""A division makes no variance more than so many times as large."""


class Gaussian(NamedTuple):
    """Mean [d] and precision [d, d]; precision 0 is a constant density."""

    mean: np.ndarray
    precision: np.ndarray


class Mixture(NamedTuple):
    """Log weights [k], means [k, d] and precisions [k, d, d] of k Gaussians."""

    log_weights: Any
    means: Any
    precisions: Any


def log_density(mixture: Mixture, u: Float[Array, " d"]) -> Float[Array, ""]:
    """Return the log density at u [d]; pure JAX."""
    factors = jnp.linalg.cholesky(mixture.precisions)
    z = jnp.einsum("kij,ki->kj", factors, u[None] - mixture.means)
    log_dets = jnp.log(jnp.diagonal(factors, axis1=1, axis2=2)).sum(1)
    parts = log_dets - 0.5 * (z**2).sum(1) - 0.5 * len(u) * math.log(2 * math.pi)
    value: Array = jax.nn.logsumexp(parts + jax.nn.log_softmax(mixture.log_weights))
    return value


def draw(mixture: Mixture, key: PRNGKeyArray) -> Float[Array, " d"]:
    """Return one draw u [d]; pure JAX."""
    component_key, noise_key = jax.random.split(key)
    k = jax.random.categorical(component_key, mixture.log_weights)
    mean = mixture.means[k]
    factor = jnp.linalg.cholesky(mixture.precisions[k])
    noise = jax.random.normal(noise_key, mean.shape)
    u: Array = mean + jax.scipy.linalg.solve_triangular(factor.T, noise, lower=False)
    return u


class MixtureDraws(NamedTuple):
    """Draws and density of θ where u, θ or log θ, is a mixture that does not depend on x.

    Attributes
    ----------
    sample
        (mixture, x [p], key) -> θ [d].
    log_prob
        (mixture, x [p], θ [d]) -> log density.
    made
        What to say of it in a file: which function returns it, and for which arguments.
    """

    sample: Callable[..., Any]
    log_prob: Callable[..., Any]
    made: tuple[str, tuple[Any, ...]]


@functools.lru_cache(maxsize=2)
def mixture_over(what: Literal["theta", "log_theta"]) -> MixtureDraws:
    """Return draws and density of a mixture over θ, or over log θ; one object each."""

    def sample(mixture: Mixture, x: Float[Array, " p"], key: PRNGKeyArray) -> Float[Array, " d"]:
        del x
        u = draw(mixture, key)
        return jnp.exp(u) if what == "log_theta" else u

    def log_prob(
        mixture: Mixture, x: Float[Array, " p"], theta: Float[Array, " d"]
    ) -> Float[Array, ""]:
        del x
        theta = theta.astype(float)
        if what == "theta":
            return log_density(mixture, theta)
        positive = jnp.where(theta > 0, theta, 1.0)  # outside the support, where it doesn't count
        return log_density(mixture, jnp.log(positive)) - jnp.log(positive).sum()

    return MixtureDraws(sample, log_prob, ("mixture", (what,)))


def divide(mixture: Mixture, proposal: Gaussian, prior: Gaussian) -> tuple[Mixture, int]:
    """Return the mixture times prior over proposal, and how many components had to be mended.

    Papamakarios & Murray 2016, appendix C: precisions add and subtract, and so do means weighted by
    them. A component that is wider than the proposal in some direction has no such quotient: what
    was simulated says nothing there. It then keeps its centre in that direction, and its variance
    is multiplied by `WIDEST`, as is that of any direction in which the quotient would be wider.
    """
    log_weights, means, precisions, mended = [], [], [], 0
    for log_weight, mean, precision in zip(*map(np.asarray, mixture), strict=True):
        # In coordinates y where the component is N(0, I) and the quotient has no correlations:
        # N(y; 0, 1) exp(tilt y - (values - 1) y² / 2) and a constant.
        factor = np.linalg.cholesky(precision)
        inverse = np.linalg.inv(factor)
        values, vectors = np.linalg.eigh(
            inverse @ (precision - proposal.precision + prior.precision) @ inverse.T
        )
        tilt = (vectors.T @ inverse) @ (
            proposal.precision @ (mean - proposal.mean) - prior.precision @ (mean - prior.mean)
        )
        wide = values < 1 / WIDEST
        mended += bool(wide.any())
        values, tilt = np.where(wide, 1 / WIDEST, values), np.where(wide, 0.0, tilt)
        to_y = vectors.T @ factor.T
        constant = 0.5 * _square(mean, proposal) - 0.5 * _square(mean, prior)
        log_weights.append(
            log_weight + constant + 0.5 * (tilt**2 / values).sum() - 0.5 * np.log(values).sum()
        )
        means.append(mean + np.linalg.solve(to_y, tilt / values))
        precisions.append(to_y.T @ (values[:, None] * to_y))
    return Mixture(np.array(log_weights), np.array(means), np.array(precisions)), mended


def _square(u: np.ndarray, gaussian: Gaussian) -> float:
    offset = u - gaussian.mean
    return float(offset @ gaussian.precision @ offset)
