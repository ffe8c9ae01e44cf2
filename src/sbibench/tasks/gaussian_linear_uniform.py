"""Gaussian linear uniform: infer the mean of a Gaussian with known covariance, under a box prior.

x ~ N(θ, 0.1 I), θ ~ U(-1, 1)^10; 0.1 is a variance. Source: Lueckmann et al. 2021, task T.2.

Hard: the box cuts the posterior, and a density estimator leaks over its edges.
"""

import numpy as np
import numpyro.distributions as dist
from jaxtyping import PRNGKeyArray

from sbibench.core import observations
from sbibench.core.models.gaussian_linear import VARIANCE, D, log_likelihood, simulate
from sbibench.core.task import Task
from sbibench.reference.gaussian import truncated_gaussian

LOW, HIGH = np.full(D, -1.0), np.full(D, 1.0)


def reference(key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
    """Draw n samples [n, 10] of the posterior, N(x, 0.1 I) cut to the box."""
    return truncated_gaussian(key, x, np.full(D, np.sqrt(VARIANCE)), (LOW, HIGH), n)


OBSERVATIONS, THETAS_TRUE = observations.load("gaussian_linear_uniform")

TASK = Task(
    name="gaussian_linear_uniform",
    label="Gaussian Linear Uniform",
    citation="Lueckmann et al. 2021",
    prior=dist.Uniform(LOW, HIGH).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    reference=reference,
    parameter_names=tuple(f"theta_{i + 1}" for i in range(D)),
    data_names=tuple(f"x_{i + 1}" for i in range(D)),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
