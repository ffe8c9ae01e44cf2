"""What an algorithm may see of a task: no likelihood, no truth."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core.deadline import Deadline
from sbibench.core.errors import UsageError
from sbibench.core.priors import check_prior
from sbibench.core.simulator import Simulations, Simulator

Oracle = Callable[[Any, int], np.ndarray]
"""(key, n) -> n draws [n, d] of the true posterior at x_obs."""

Progress = Callable[[str, int, int | None], None]
"""(stage, done, total or None): called between pieces of work."""


def silent(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Problem:
    """An inference problem: prior, simulator, one observation x_obs [p] (float32).

    The `oracle` is for the baseline `reference` alone, which shows what two sets of exact draws
    score against each other; an algorithm that infers anything has no business with it.
    """

    prior: Distribution
    simulator: Simulator
    x_obs: np.ndarray
    progress: Progress = field(default=silent)
    oracle: Oracle | None = None

    def __post_init__(self) -> None:
        check_prior(self.prior)
        if self.x_obs.ndim != 1:
            raise UsageError(f"x_obs is one vector [p], its shape is {self.x_obs.shape}")
        checked_x(self.x_obs, self.x_obs)

    @property
    def d(self) -> int:
        """The number of parameters."""
        return int(self.prior.event_shape[0])

    @property
    def p(self) -> int:
        """The number of data values."""
        return len(self.x_obs)

    def from_prior(self, prior_key: PRNGKeyArray, key: PRNGKeyArray, n: int) -> Simulations:
        """Draw n parameters from the prior and simulate them, or take stored simulations."""
        return self.simulator.from_prior(self.prior, prior_key, key, n)

    @property
    def deadline(self) -> Deadline:
        """When to stop."""
        return self.simulator.deadline


def checked_x(x: Any, like: np.ndarray) -> np.ndarray:
    """Return x as a finite float32 vector of the same length as `like`, or raise `UsageError`."""
    vector: np.ndarray = np.asarray(x, np.float32)
    if vector.shape != like.shape:
        raise UsageError(f"x has shape {vector.shape}, it must be {like.shape}")
    if not np.isfinite(vector).all():
        where = np.flatnonzero(~np.isfinite(vector)).tolist()
        raise UsageError(f"x is not finite at index {where}; replace or remove these values")
    return vector
