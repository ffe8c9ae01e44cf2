"""A task: a model with a prior, observations, and what is known of its posterior. A value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpyro.distributions import Distribution

from sbibench.core.deadline import Deadline
from sbibench.core.errors import NoReferenceError, UsageError
from sbibench.core.priors import check_prior
from sbibench.core.problem import Problem, Progress, _silent
from sbibench.core.simulator import Simulator

REFERENCE_SIZE = 10_000
"""How many samples of the true posterior a comparison uses (as in Lueckmann et al. 2021)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A model to be inferred.

    Attributes
    ----------
    name, label, citation, version
        For machines, for people, where it comes from; the version rises when results change.
    prior
        A numpyro distribution over one vector θ [d].
    simulate
        (key, θ [d]) -> x [p]: one draw, pure JAX; batching and counting are not its concern.
    log_likelihood
        (θ [d], x [p]) -> log p(x | θ), or None where it is intractable.
    reference
        (key, x [p], n) -> n exact draws [n, d] of the posterior, or None where there is no sampler.
    parameter_names, data_names
        d and p names, for tables and charts.
    observations, thetas_true
        The canonical observations [m, p] and the parameters [m, d] that generated them.
    """

    name: str
    label: str
    citation: str
    version: int = 1
    prior: Distribution
    simulate: Callable[[Any, Any], Any]
    log_likelihood: Callable[[Any, Any], Any] | None = None
    reference: Callable[[Any, Any, int], np.ndarray] | None = None
    parameter_names: tuple[str, ...]
    data_names: tuple[str, ...]
    observations: np.ndarray
    thetas_true: np.ndarray

    def __post_init__(self) -> None:
        check_prior(self.prior)
        for what, got, names in (
            ("observations", self.observations, self.data_names),
            ("thetas_true", self.thetas_true, self.parameter_names),
        ):
            if got.ndim != 2 or got.shape[1] != len(names):
                raise UsageError(
                    f"{self.name}: {what} has shape {got.shape}, not [m, {len(names)}]"
                )

    @property
    def d(self) -> int:
        """The number of parameters."""
        return len(self.parameter_names)

    @property
    def p(self) -> int:
        """The number of data values."""
        return len(self.data_names)

    def _row(self, observation: int) -> int:
        m = len(self.observations)
        if isinstance(observation, bool) or not isinstance(observation, int | np.integer):
            raise UsageError(f"an observation is a whole number, not {observation!r}")
        if not 1 <= observation <= m:
            raise UsageError(f"{self.name} has observations 1 to {m}, not {observation}")
        return int(observation) - 1

    def observation(self, observation: int) -> np.ndarray:
        """Return observation number `observation`, counted from 1: x [p], float64."""
        return np.array(self.observations[self._row(observation)])

    def true_parameters(self, observation: int) -> np.ndarray:
        """Return the parameters θ [d] that generated this observation, float64."""
        return np.array(self.thetas_true[self._row(observation)])

    def reference_samples(self, observation: int, n: int = REFERENCE_SIZE) -> np.ndarray:
        """Return n draws [n, d], float32, of the true posterior, the same ones every time.

        Raises
        ------
        NoReferenceError
            If this task has no sampler of its true posterior.
        """
        x = self.observation(observation)
        if self.reference is None:
            raise NoReferenceError(f"{self.name} has no reference posterior yet")
        samples = self.reference(jax.random.key(observation), x, n)
        return np.asarray(samples, np.float32)

    def problem(
        self,
        observation: int,
        budget: int,
        time_limit: float | None = None,
        progress: Progress = _silent,
    ) -> Problem:
        """Return what an algorithm may see: prior, counted simulator, x_obs.

        Parameters
        ----------
        observation
            Its number, counted from 1.
        budget
            The number of simulations allowed, at least 1.
        time_limit
            Seconds from now until the algorithm must stop; None for no limit.
        progress
            Called as (stage, done, total) while the algorithm works.
        """
        if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
            raise UsageError(
                f"a budget is a whole number of simulations, 1 or more, not {budget!r}"
            )
        if time_limit is not None and not time_limit > 0:
            raise UsageError(f"a time limit is a positive number of seconds, not {time_limit!r}")
        simulator = Simulator(
            self.simulate, (self.d, self.p), int(budget), Deadline.after(time_limit)
        )
        x_obs = self.observation(observation).astype(np.float32)
        return Problem(self.prior, simulator, x_obs, progress)
