"""SLCP: a Gaussian likelihood whose posterior has four symmetric modes and sharp edges.

Four points z_j ~ N((θ1, θ2), S) in the plane, S = [[s1², ρ s1 s2], [ρ s1 s2, s2²]] + 1e-6 I,
s1 = θ3², s2 = θ4², ρ = tanh θ5; θ ~ U(-3, 3)^5. Source: Lueckmann et al. 2021, task T.3;
Papamakarios et al. 2019.

Hard: the data do not tell the signs of θ3 and θ4, so there are four modes of equal weight, and the
box of the prior cuts them.
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
