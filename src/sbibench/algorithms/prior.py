"""The prior, as a baseline: what a table says of an algorithm that has learnt nothing.

As in the suites of Lueckmann et al. 2021. No simulation is run.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.posterior import Info, check_count
from sbibench.core.problem import Problem, checked_x
from sbibench.inference.saving import Portable


@dataclass(frozen=True)
class Prior:
    """The baseline that draws from the prior; it has no settings."""

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "PriorPosterior":
        """Return the prior; nothing is simulated and nothing is random."""
        del key
        return PriorPosterior(problem.prior, problem.x_obs, {})


class PriorPosterior(Portable):
    """The prior in place of a posterior, the same for every observation."""

    amortized = True

    def __init__(self, prior: Distribution, x_obs: np.ndarray, info: Info) -> None:
        self._prior = prior
        self._x_obs = x_obs
        self.info = info

    def _check(self, x: Any) -> None:
        if x is not None:
            checked_x(x, self._x_obs)

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, of the prior, whatever x."""
        self._check(x)
        check_count(n)
        return priors.rows(self._prior).sample(key, n)

    def log_prob(self, thetas: Any, x: Any = None) -> np.ndarray:
        """Return the log prior densities [n] of rows θ [n, d]; -inf outside the support."""
        self._check(x)
        return priors.rows(self._prior).log_prob(np.asarray(thetas, np.float64))


ALGORITHM = Prior
