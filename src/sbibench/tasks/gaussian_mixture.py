"""Gaussian mixture: infer the common mean of a wide and a narrow Gaussian.

x ~ ½ N(θ, I) + ½ N(θ, 0.01 I), θ ~ U(-10, 10)²; each θ of a batch draws its own component. Source:
Lueckmann et al. 2021, task T.7; Sisson et al. 2007.
"""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import observations
from sbibench.core.task import Task
from sbibench.reference.rejection import Draws, rejection

SCALES = np.array([1.0, 0.1])
BOUND = 10.0


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [2] given θ [2]."""
    key_scale, key_noise = random.split(key)
    return theta + random.choice(key_scale, SCALES) * random.normal(key_noise, (2,))


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return the log density of x [2] given θ [2]."""
    square = jnp.sum((x - theta) ** 2)
    wide, narrow = -0.5 * square / SCALES**2 - 2 * jnp.log(SCALES) - jnp.log(4 * jnp.pi)
    return jnp.logaddexp(wide, narrow)


def reference(key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
    """Draw n samples [n, 2] of the posterior: ½ N(x, I) + ½ N(x, 0.01 I), cut to the box.

    Whole draws are rejected, since the box cuts more off the wide component than off the narrow.
    """

    def propose(rng: np.random.Generator, m: int) -> Draws:
        thetas = x + rng.choice(SCALES, size=(m, 1)) * rng.standard_normal((m, 2))
        inside: np.ndarray = np.all(np.abs(thetas) <= BOUND, axis=1)
        return thetas, inside

    return rejection(key, propose, n)


OBSERVATIONS, THETAS_TRUE = observations.load("gaussian_mixture")

TASK = Task(
    name="gaussian_mixture",
    label="Gaussian Mixture",
    citation="Sisson et al. 2007; Lueckmann et al. 2021",
    prior=dist.Uniform(np.full(2, -BOUND), np.full(2, BOUND)).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    reference=reference,
    parameter_names=("theta_1", "theta_2"),
    data_names=("x_1", "x_2"),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
