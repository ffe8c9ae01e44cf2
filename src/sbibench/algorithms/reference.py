"""The true posterior drawn once more, as a baseline: what exact draws score against a reference.

As in Lueckmann et al. 2021, appendix B. The sampler is that of the references, with another key; no
simulation is run.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import NoReferenceError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.task import REFERENCE_SIZE
from sbibench.inference.saving import Portable


@dataclass(frozen=True)
class Reference:
    """Settings of the baseline.

    Attributes
    ----------
    draws
        How many exact draws are made; samples are taken from them without replacement.
    """

    draws: int = REFERENCE_SIZE
    amortized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_types(self)
        if self.draws < 1:
            raise UsageError(f"draws is 1 or more, not {self.draws}")

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "ReferencePosterior":
        """Draw from the true posterior; nothing is simulated.

        Raises
        ------
        NoReferenceError
            If the problem does not come from a task, or its task has neither a likelihood nor a
            sampler of its posterior.
        SamplingError
            If the sampler reaches its cap.
        """
        if problem.oracle is None:
            raise NoReferenceError(
                "this problem has no oracle for its posterior: get it from a task by task.problem"
            )
        # A key of its own: with the key of a certificate it would repeat that certificate's draws.
        thetas = problem.oracle(random.fold_in(key, 0), self.draws)
        return ReferencePosterior(thetas, problem.x_obs, {"draws": len(thetas)})


class ReferencePosterior(Portable):
    """Exact draws of the posterior at one observation."""

    amortized = False

    def __init__(self, thetas: np.ndarray, x_obs: np.ndarray, info: Info) -> None:
        self._thetas = thetas
        self._x_obs = x_obs
        self.info = info

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Return n of the draws [n, d], float32, in random order, none twice.

        Raises
        ------
        UsageError
            If n is less than 1 or more than the draws there are, or x is another observation.
        """
        check_same_x(x, self._x_obs)
        check_count(n)
        if n > len(self._thetas):
            raise UsageError(f"there are {len(self._thetas)} exact draws, not {n}; raise draws")
        return self._thetas[numpy_rng(key).permutation(len(self._thetas))[:n]]


ALGORITHM = Reference
