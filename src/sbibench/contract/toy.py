"""A Gaussian model with a closed-form posterior, on which algorithms are examined."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import PRNGKeyArray

from sbibench.core.keys import numpy_rng
from sbibench.core.task import Task

SD = 0.5
"""The deviation of the noise."""


def _simulate(key: PRNGKeyArray, theta: Any) -> Any:
    return theta + SD * jax.random.normal(key, theta.shape)


def _log_likelihood(theta: Any, x: Any) -> Any:
    return jnp.sum(-0.5 * ((x - theta) / SD) ** 2 - np.log(SD * np.sqrt(2 * np.pi)))


def posterior(key: PRNGKeyArray, x: Any, n: int) -> np.ndarray:
    """Draw [n, 2] from the posterior at x: N(x / (1 + SD²), SD² / (1 + SD²))."""
    variance = SD**2 / (1 + SD**2)
    noise = numpy_rng(key).standard_normal((n, 2))
    drawn: np.ndarray = variance / SD**2 * x + np.sqrt(variance) * noise
    return drawn


TOY = Task(
    name="toy",
    label="Toy",
    citation="none",
    prior=dist.Normal(np.zeros(2), np.ones(2)).to_event(1),
    simulate=_simulate,
    log_likelihood=_log_likelihood,
    reference=posterior,
    parameter_names=("a", "b"),
    data_names=("u", "v"),
    observations=np.array([[0.5, -0.2], [2.0, 1.0]]),
    thetas_true=np.array([[0.4, 0.0], [1.5, 1.0]]),
)
