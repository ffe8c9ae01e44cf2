"""Bernoulli GLM raw: infer the filter of a neuron from the 100 spikes and silences themselves.

x = y, y_i ~ Bernoulli(logistic((Vθ)_i)), with V and the prior of Bernoulli GLM, and so with its
posterior. Source: Lueckmann et al. 2021, task T.6.

Hard: as Bernoulli GLM, and the sufficient statistics have to be found among 100 binary values.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from sbibench.core import observations
from sbibench.core.models import bernoulli_glm as glm
from sbibench.core.task import Task


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return the log probability of x [100] given θ [10]; -inf unless each value is 0 or 1."""
    possible = jnp.all((x == 0) | (x == 1))
    spikes = jnp.where(possible, x, 0.0)
    return jnp.where(possible, glm.log_likelihood(theta, spikes @ glm.DESIGN), -jnp.inf)


OBSERVATIONS, THETAS_TRUE = observations.load("bernoulli_glm_raw")

TASK = Task(
    name="bernoulli_glm_raw",
    label="Bernoulli GLM Raw",
    citation="Lueckmann et al. 2021",
    prior=glm.PRIOR,
    simulate=glm.spikes,
    log_likelihood=log_likelihood,
    second_method="nuts",
    posterior_of="bernoulli_glm",
    parameter_names=glm.PARAMETER_NAMES,
    data_names=tuple(f"y_{i + 1}" for i in range(glm.BINS)),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
