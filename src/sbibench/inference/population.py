"""Populations of ABC-PMC: accepted particles, their distances and their weights.

Beaumont, Cornuet, Marin & Robert 2009 (Biometrika 96).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution
from scipy.special import logsumexp

from sbibench.core import priors
from sbibench.core.deadline import Deadline
from sbibench.core.errors import InvalidSimulationsError, SamplingError
from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy, Simulator
from sbibench.inference.nearest import l2
from sbibench.inference.perturbation import Perturbation
from sbibench.inference.summaries import SemiAutomatic, features

Propose = Callable[[PRNGKeyArray, int], np.ndarray]
"""(key, n) -> θ [n, d]."""


class Target:
    """What particles are simulated with, and what their data are compared with."""

    def __init__(
        self, problem: Problem, summaries: SemiAutomatic | None, invalid: InvalidPolicy
    ) -> None:
        self.prior = problem.prior
        self.simulator: Simulator = problem.simulator
        self.deadline: Deadline = problem.deadline
        self.features = features(summaries, problem.x_obs[None])[0]
        self._progress = problem.progress
        self._summaries = summaries
        self._invalid = invalid

    def accepted(
        self, key: PRNGKeyArray, thetas: np.ndarray, epsilon: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Simulate θ [n, d]; return θ, features and distance of those at most epsilon away."""
        simulations = self.simulator(key, thetas)
        self._progress("simulating", self.simulator.calls, self.simulator.budget)
        if self._invalid == "refuse":
            simulations.accept("refuse")
        valid = simulations.valid
        compared = features(self._summaries, simulations.xs[valid])
        distances = l2(compared, self.features)
        near = distances <= epsilon
        return simulations.thetas[valid][near], compared[near], distances[near]


class Population(NamedTuple):
    """Particles θ [m, d], features of their data [m, k], distances [m], normalised log weights [m].

    `acceptance` is the share of its simulations that were near enough.
    """

    thetas: np.ndarray
    features: np.ndarray
    distances: np.ndarray
    log_weights: np.ndarray
    acceptance: float


def next_epsilon(distances: np.ndarray, quantile: float) -> float:
    """Return a quantile of the distances [m], or the largest one below the maximum if it is that.

    Raises
    ------
    SamplingError
        If all distances are the same, so that nothing can be nearer.
    """
    nearer = np.sort(distances[distances < distances.max()])
    if not len(nearer):
        raise SamplingError("all particles are at the same distance")
    return float(nearer[min(math.ceil(quantile * len(distances)), len(nearer)) - 1])


def _collect(
    key: PRNGKeyArray, target: Target, propose: Propose, epsilon: float, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return up to `size` accepted particles and the acceptance rate; ends with the budget.

    Of what a batch accepts beyond `size` the last are left out, which favours none.
    """
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    found = tried = 0
    while found < size and target.simulator.left:
        if tried:
            target.deadline.check("making a population")
        wanted = math.ceil((size - found) * tried / max(found, 1)) if tried else size
        batch = min(wanted, 2 * tried or size, target.simulator.left)
        propose_key, simulator_key = random.split(random.fold_in(key, tried))
        parts.append(target.accepted(simulator_key, propose(propose_key, batch), epsilon))
        found += len(parts[-1][0])
        tried += batch
    thetas, compared, distances = (np.concatenate(c)[:size] for c in zip(*parts, strict=True))
    return thetas, compared, distances, found / tried


def from_prior(key: PRNGKeyArray, target: Target, size: int) -> Population:
    """Return the first population: finite simulations from the prior, equal weights.

    Raises
    ------
    InvalidSimulationsError
        If there are too few.
    """
    thetas, compared, distances, acceptance = _collect(
        key, target, priors.rows(target.prior).sample, math.inf, size
    )
    found = len(thetas)
    if found < size:
        raise InvalidSimulationsError(
            f"{found} simulations are finite, a population has {size} particles; raise the budget "
            "or lower population"
        )
    equal = np.full(size, -math.log(size))
    return Population(thetas, compared, distances, equal, acceptance)


def perturbed(
    key: PRNGKeyArray, target: Target, last: Population, kernel: Perturbation, epsilon: float
) -> Population:
    """Return a population around the last one with weights prior / kernel mixture.

    Where the budget ends too early, the nearest of the last population fill it up, and all weights
    are computed alike (Lueckmann et al. 2021, appendix A.2).
    """
    size = len(last.thetas)

    def propose(key: PRNGKeyArray, n: int) -> np.ndarray:
        return kernel.propose(key, target.prior, n, target.deadline)

    *new, acceptance = _collect(key, target, propose, epsilon, size)
    missing = size - len(new[0])
    nearest = np.argsort(last.distances, kind="stable")[:missing]
    thetas, compared, distances = (
        np.concatenate([rows, old[nearest]]) for rows, old in zip(new, last[:3], strict=True)
    )
    log_weights = log_importance(target.prior, thetas, kernel)
    return Population(thetas, compared, distances, log_weights, acceptance)


def log_importance(prior: Distribution, thetas: np.ndarray, kernel: Perturbation) -> np.ndarray:
    """Return the normalised log weights [m]: log prior(θ) - log Σ_j w_j K(θ | θ_j)."""
    log_weights = priors.rows(prior).log_prob(thetas.astype(np.float64))
    log_weights = log_weights - kernel.log_density(thetas)
    return np.asarray(log_weights - logsumexp(log_weights))
