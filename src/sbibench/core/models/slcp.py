"""Simple likelihood, complex posterior: four points from a Gaussian that θ gives in a crooked way.

z_j ~ N((θ1, θ2), S) with S = [[s1², ρ s1 s2], [ρ s1 s2, s2²]] + 1e-6 I, s1 = θ3², s2 = θ4²,
ρ = tanh θ5. Source: Papamakarios et al. 2019.
"""

import jax.numpy as jnp
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

POINTS = 4
P = 2 * POINTS
JITTER = 1e-6


def covariance(theta: Float[Array, " d"]) -> tuple[Array, Array, Array, Array]:
    """Return the entries S11, S22, S12 and the determinant of S."""
    s1, s2, rho = theta[2] ** 2, theta[3] ** 2, jnp.tanh(theta[4])
    # Expanded, so that nothing cancels when ρ is near 1 or a scale is near 0.
    determinant = (s1 * s2 / jnp.cosh(theta[4])) ** 2 + JITTER * (s1**2 + s2**2) + JITTER**2
    return s1**2 + JITTER, s2**2 + JITTER, rho * s1 * s2, determinant


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [8], four points of two coordinates each, given θ [5]."""
    s11, _, s12, determinant = covariance(theta)
    a, b = random.normal(key, (2, POINTS))
    first = theta[0] + jnp.sqrt(s11) * a
    second = theta[1] + (s12 * a + jnp.sqrt(determinant) * b) / jnp.sqrt(s11)  # Cholesky of S
    return jnp.stack([first, second], axis=1).ravel()


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return the log density of x [8] given θ [5]."""
    s11, s22, s12, determinant = covariance(theta)
    a, b = (x.reshape(POINTS, 2) - theta[None, :2]).T
    squares = jnp.sum(s22 * a**2 - 2 * s12 * a * b + s11 * b**2) / determinant
    return -0.5 * squares - POINTS * (jnp.log(2 * jnp.pi) + 0.5 * jnp.log(determinant))
