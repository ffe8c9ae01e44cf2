"""Bernoulli GLM: infer the filter of a neuron from the sufficient statistics of its spikes.

x = Vᵀy, the spike count and nine spike-triggered sums, of 100 spikes or silences
y_i ~ Bernoulli(logistic((Vθ)_i)); θ is a bias and a filter of nine values with a smoothness prior,
both normal. Source: Lueckmann et al. 2021, task T.5.

Hard: ten parameters that the prior correlates; but one smooth mode.
"""

from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import observations
from sbibench.core.models.bernoulli_glm import (
    DESIGN,
    FILTER,
    PARAMETER_NAMES,
    PRIOR,
    log_likelihood,
    spikes,
)
from sbibench.core.task import Task


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [10] given θ [10]."""
    return spikes(key, theta) @ DESIGN


OBSERVATIONS, THETAS_TRUE = observations.load("bernoulli_glm")

TASK = Task(
    name="bernoulli_glm",
    label="Bernoulli GLM",
    citation="Lueckmann et al. 2021",
    prior=PRIOR,
    simulate=simulate,
    log_likelihood=log_likelihood,
    second_method="nuts",
    parameter_names=PARAMETER_NAMES,
    data_names=("spikes", *(f"sum_{j}" for j in range(FILTER))),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
