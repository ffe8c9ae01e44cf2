"""SLCP: a Gaussian likelihood whose posterior has four symmetric modes and sharp edges.

Four points in the plane, see `sbibench.core.models.slcp`; θ ~ U(-3, 3)^5. Source: Lueckmann et al.
2021, task T.3; Papamakarios et al. 2019.
"""

import numpy as np
import numpyro.distributions as dist

from sbibench.core import observations
from sbibench.core.models.slcp import POINTS, log_likelihood, simulate
from sbibench.core.task import Task

OBSERVATIONS, THETAS_TRUE = observations.load("slcp")

TASK = Task(
    name="slcp",
    label="SLCP",
    citation="Papamakarios et al. 2019; Lueckmann et al. 2021",
    prior=dist.Uniform(np.full(5, -3.0), np.full(5, 3.0)).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    parameter_names=tuple(f"theta_{i + 1}" for i in range(5)),
    data_names=tuple(f"z_{j + 1}_{axis}" for j in range(POINTS) for axis in (1, 2)),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
