"""x ~ N(θ, 0.1 I) in ten dimensions; 0.1 is a variance."""

import jax.numpy as jnp
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

D = 10
VARIANCE = 0.1


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [10] given θ [10]."""
    return theta + jnp.sqrt(VARIANCE) * random.normal(key, (D,))


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return log N(x; θ, 0.1 I)."""
    return -0.5 * jnp.sum((x - theta) ** 2) / VARIANCE - 0.5 * D * jnp.log(2 * jnp.pi * VARIANCE)
