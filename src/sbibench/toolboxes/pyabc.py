"""What pyABC is given: our prior, our simulator one row at a time, and a sampler with a budget.

pyABC 0.13; Schälte, Klinger, Alamoudi & Hasenauer 2022.
"""

from typing import Any

import numpy as np
import pyabc
from jax import random
from jaxtyping import PRNGKeyArray
from pyabc.random_variables import DistributionBase
from pyabc.sampler import Sampler

from sbibench.core import priors
from sbibench.core.deadline import Deadline
from sbibench.core.errors import BudgetExceededError, DeadlineError, InvalidSimulationsError
from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.nearest import l2

DRAWS = 1000
"""Draws of the prior that are made at once."""


def names(d: int) -> list[str]:
    """Return what pyABC calls d parameters; sorted by name they are in order."""
    return [f"p{i:04d}" for i in range(d)]


def distance(x: dict[str, Any], x0: dict[str, Any]) -> float:
    """Return the l2 distance of two data vectors, infinite where one is not finite."""
    return float(l2(x["x"][None], x0["x"])[0]) if np.isfinite(x["x"]).all() else np.inf


class Prior(DistributionBase):  # type: ignore[misc]  # pyabc is untyped
    """Our prior as pyABC wants it: one draw, one density."""

    def __init__(self, key: PRNGKeyArray, prior: Any, deadline: Deadline) -> None:
        self._key = key
        self._rows = priors.rows(prior)
        self._names = names(prior.event_shape[0])
        self._deadline = deadline
        self._drawn = 0
        self._thetas = np.empty((0, len(self._names)))

    def rvs(self, *_: Any, **__: Any) -> Any:
        """Return one draw."""
        at = self._drawn % DRAWS
        if at == 0:
            self._thetas = self._rows.sample(random.fold_in(self._key, self._drawn), DRAWS)
        self._drawn += 1
        return pyabc.Parameter(dict(zip(self._names, map(float, self._thetas[at]), strict=True)))

    def pdf(self, x: Any) -> float:
        """Return the density at a parameter; pyABC asks until it is above 0, hence the time."""
        self._deadline.check("proposing parameters")
        theta = np.array([[x[name] for name in self._names]])
        return float(np.exp(self._rows.log_prob(theta)[0]))


class Model:
    """Our simulator as pyABC wants it: one parameter, one dictionary of data."""

    def __init__(self, key: PRNGKeyArray, problem: Problem, invalid: InvalidPolicy) -> None:
        self._key = key
        self._problem = problem
        self._invalid = invalid
        self._names = names(problem.d)
        self.xs: list[np.ndarray] = []

    def __call__(self, parameter: Any) -> dict[str, Any]:
        """Simulate once; it costs one of the budget.

        Raises
        ------
        BudgetExceededError
            If the budget is used.
        InvalidSimulationsError
            By the policy `invalid`.
        """
        simulator = self._problem.simulator
        simulator.deadline.check("simulating")
        theta = np.array([[parameter[name] for name in self._names]])
        simulation = simulator(random.fold_in(self._key, simulator.calls), theta)
        if self._invalid == "refuse" and not simulation.valid[0]:
            raise InvalidSimulationsError(
                f"simulation {simulator.calls} is not finite; mend the simulator or set "
                "invalid='drop'"
            )
        self.xs.append(simulation.xs[0])
        self._problem.progress("simulating", simulator.calls, simulator.budget)
        return {"x": simulation.xs[0]}


class BudgetedSampler(Sampler):  # type: ignore[misc]  # pyabc is untyped
    """Samples one particle after the other until the budget or the time is used.

    `partial` is then what it had accepted for a population that did not become complete, and
    `stopped` why.
    """

    def __init__(self) -> None:
        super().__init__()
        self.partial: list[Any] = []
        self.stopped = "budget"

    def sample_until_n_accepted(self, n: int, simulate_one: Any, *_: Any, **__: Any) -> Any:
        """Return a sample with n accepted particles, or one that is not ok."""
        sample = self._create_empty_sample()
        self.nr_evaluations_ = 0
        try:
            while sample.n_accepted < n:
                sample.append(simulate_one())
                self.nr_evaluations_ += 1
        except (BudgetExceededError, DeadlineError) as error:
            if isinstance(error, DeadlineError):
                self.stopped = "deadline"
            self.partial = sample.accepted_particles
            sample.ok = False
        return sample
