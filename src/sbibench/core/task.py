"""A task: a model with a prior, observations, and what is known of its posterior. A value."""

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import jax
import numpy as np
from numpyro.distributions import Distribution

from sbibench.core import references, registry
from sbibench.core.blocks import map_rows
from sbibench.core.deadline import Deadline
from sbibench.core.errors import NoReferenceError, UsageError
from sbibench.core.priors import check_prior, rows
from sbibench.core.problem import Problem, Progress, silent
from sbibench.core.simulator import Simulator

REFERENCE_SIZE = 10_000
"""How many samples of the true posterior a comparison uses (as in Lueckmann et al. 2021)."""

ATTEMPTS = 1000
"""Simulations of which the first finite one becomes an observation."""


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
        (key, x [p], n) -> n exact draws [n, d] of the posterior, or None: then the general scheme
        draws them, where there is a likelihood.
    second_method
        What reference samples are compared with: "grid" (d of 1 or 2), "slices", "nuts" (a smooth
        posterior with one mode on R^d); None for grid where d permits it, else slices.
    posterior_of
        Name of the task with the same posteriors for its observations, whose samples serve both.
    parameter_names, data_names
        d and p names, for tables and charts.
    observations, thetas_true
        The canonical observations [m, p] and the parameters [m, d] that generated them. Those of
        higher numbers are drawn from the prior predictive, with the number as seed.
    """

    name: str
    label: str
    citation: str
    version: int = 1
    prior: Distribution
    simulate: Callable[[Any, Any], Any]
    log_likelihood: Callable[[Any, Any], Any] | None = None
    reference: Callable[[Any, Any, int], np.ndarray] | None = None
    second_method: Literal["grid", "slices", "nuts"] | None = None
    posterior_of: str | None = None
    parameter_names: tuple[str, ...]
    data_names: tuple[str, ...]
    observations: np.ndarray
    thetas_true: np.ndarray

    def __post_init__(self) -> None:
        check_prior(self.prior)
        if not re.fullmatch(r"\w[\w .+-]*", self.name):
            raise UsageError(f"a task's name is letters, digits, _ . + -, not {self.name!r}")
        if self.second_method not in {None, "grid", "slices", "nuts"}:
            raise UsageError(
                f"{self.name}: second_method is grid, slices, nuts or None, "
                f"not {self.second_method!r}"
            )
        if self.second_method == "grid" and self.prior.event_shape[0] > 2:
            raise UsageError(f"{self.name}: a grid is for 1 or 2 parameters; use slices")
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

    def observation(self, observation: int) -> np.ndarray:
        """Return observation number `observation`, counted from 1: x [p], float64.

        Numbers beyond the canonical observations are as good: the first finite simulation from the
        prior, with the number as seed.
        """
        return np.array(_pair(self, observation)[1])

    def true_parameters(self, observation: int) -> np.ndarray:
        """Return the parameters θ [d] that generated this observation, float64."""
        return np.array(_pair(self, observation)[0])

    def reference_samples(self, observation: int, n: int = REFERENCE_SIZE) -> np.ndarray:
        """Return n certified draws [n, d], float32, of the true posterior, the same ones always.

        Those of the canonical observations come with the package. Others are made when they are
        first asked for, which can take minutes, and kept on disk.

        Raises
        ------
        NoReferenceError
            If there is no way to sample the posterior, or if the samples fail a check.
        UsageError
            If n is more than there are.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise UsageError(f"the number of samples is 1 or more, not {n!r}")
        number = int(observation)
        _pair(self, observation)  # says at once if there is none
        ours = self.name in registry.TASKS.names() and registry.TASKS.get(self.name) is self
        found = references.certificate(references.SHIPPED, self.name, number) if ours else None
        if found:
            samples = references.samples(references.SHIPPED, found)
        else:  # by name, since the samplers lie above this layer
            library = importlib.import_module("sbibench.reference.library")
            samples = library.obtain(self, number)[1]
        if n > len(samples):
            raise UsageError(
                f"a reference has {len(samples)} samples, not {n}; sb.reference.sample draws more"
            )
        return np.array(samples[:n])

    def problem(
        self,
        observation: int,
        budget: int,
        time_limit: float | None = None,
        progress: Progress = silent,
    ) -> Problem:
        """Return what an algorithm may see: prior, counted simulator, x_obs.

        Parameters
        ----------
        observation
            Its number, counted from 1.
        budget, time_limit, progress
            As for `problem_at`.
        """
        return self.problem_at(self.observation(observation), budget, time_limit, progress)

    def problem_at(
        self,
        x: np.ndarray,
        budget: int,
        time_limit: float | None = None,
        progress: Progress = silent,
    ) -> Problem:
        """Return the problem of any data x [p], canonical observation or not.

        Parameters
        ----------
        x
            The data that the posterior is wanted for.
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

        def oracle(key: Any, n: int) -> np.ndarray:  # by name, since the samplers lie above
            drawn: np.ndarray = importlib.import_module("sbibench.reference").sample(
                self, key, x, n
            )
            return drawn

        return Problem(self.prior, simulator, x.astype(np.float32), progress, oracle)


def _pair(task: Task, observation: int) -> tuple[np.ndarray, np.ndarray]:
    """Return θ [d] and x [p] of an observation."""
    if isinstance(observation, bool) or not isinstance(observation, int | np.integer):
        raise UsageError(f"an observation is a whole number, not {observation!r}")
    if not 1 <= observation < 2**31:
        raise UsageError(f"observations are numbered from 1, up to 2147483647: {observation}")
    if observation <= len(task.observations):
        return task.thetas_true[observation - 1], task.observations[observation - 1]
    return _simulated(task, int(observation))


@lru_cache(maxsize=128)
def _simulated(task: Task, observation: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first finite simulation from the prior, with the number as seed."""
    prior_key, key = jax.random.split(jax.random.key(observation))
    thetas = rows(task.prior).sample(prior_key, ATTEMPTS).astype(np.float64)
    xs = map_rows(task.simulate, thetas, key=key).astype(np.float32).astype(np.float64)
    valid = np.flatnonzero(np.isfinite(xs).all(1))
    if not len(valid):
        raise NoReferenceError(
            f"{task.name}, observation {observation}: none of {ATTEMPTS} simulations is finite"
        )
    return thetas[valid[0]], xs[valid[0]]
