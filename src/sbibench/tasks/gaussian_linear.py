"""Gaussian linear: infer the mean of a Gaussian with known covariance, under a Gaussian prior.

x ~ N(θ, 0.1 I), θ ~ N(0, 0.1 I); 0.1 is a variance. Source: Lueckmann et al. 2021, task T.1.
"""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import observations
from sbibench.core.task import Task

D = 10
VARIANCE = 0.1


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [10] given θ [10]."""
    return theta + np.sqrt(VARIANCE) * random.normal(key, (D,))


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return log N(x; θ, 0.1 I)."""
    return -0.5 * jnp.sum((x - theta) ** 2) / VARIANCE - 0.5 * D * np.log(2 * np.pi * VARIANCE)


OBSERVATIONS, THETAS_TRUE = observations.load("gaussian_linear")

TASK = Task(
    name="gaussian_linear",
    label="Gaussian Linear",
    citation="Lueckmann et al. 2021",
    prior=dist.Normal(np.zeros(D), np.full(D, np.sqrt(VARIANCE))).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    parameter_names=tuple(f"theta_{i + 1}" for i in range(D)),
    data_names=tuple(f"x_{i + 1}" for i in range(D)),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
