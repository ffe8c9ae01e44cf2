"""Gaussian linear: infer the mean of a Gaussian with known covariance, under a Gaussian prior.

x ~ N(θ, 0.1 I), θ ~ N(0, 0.1 I); 0.1 is a variance. Source: Lueckmann et al. 2021, task T.1.

Easy, with a normal posterior: what it shows is how methods scale to ten parameters.
"""

import numpy as np
import numpyro.distributions as dist
from jaxtyping import PRNGKeyArray

from sbibench.core import observations
from sbibench.core.models.gaussian_linear import VARIANCE, D, log_likelihood, simulate
from sbibench.core.task import Task
from sbibench.reference.gaussian import gaussian


def reference(key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
    """Draw n samples [n, 10] of the posterior, N(x/2, 0.05 I)."""
    return gaussian(key, x / 2, np.full(D, np.sqrt(VARIANCE / 2)), n)


OBSERVATIONS, THETAS_TRUE = observations.load("gaussian_linear")

TASK = Task(
    name="gaussian_linear",
    label="Gaussian Linear",
    citation="Lueckmann et al. 2021",
    prior=dist.Normal(np.zeros(D), np.full(D, np.sqrt(VARIANCE))).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    reference=reference,
    parameter_names=tuple(f"theta_{i + 1}" for i in range(D)),
    data_names=tuple(f"x_{i + 1}" for i in range(D)),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
