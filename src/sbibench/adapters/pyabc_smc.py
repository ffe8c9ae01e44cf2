"""ABC-SMC of the toolbox pyABC, version B of the 2021 paper: ever nearer populations.

Lueckmann et al. 2021, appendices A.2 and H: the l2 distance, thresholds that are quantiles of the
distances before, a Gaussian kernel density estimate as proposal. The first threshold comes from a
population of the prior, as pyABC does by itself.
"""

from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pyabc
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.particles import Particles
from sbibench.inference.standardize import note_constant
from sbibench.toolboxes.guest import guest
from sbibench.toolboxes.pyabc import BudgetedSampler, Model, Prior, distance, names


@dataclass(frozen=True)
class PyabcSMC:
    """Settings of pyABC's ABC-SMC.

    Attributes
    ----------
    population
        How many particles; by default 100, from a budget of 50 000 on 1000.
    quantile
        Which quantile of a population's distances the next one has to reach.
    kernel_scale
        Factor of the covariance of the proposal's kernel.
    kde
        Whether samples are drawn from a kernel density estimate, ours; if not, the particles are
        drawn by their weights.
    kde_weighted
        Whether the estimate weighs the particles; the published one did not.
    invalid
        What to do with simulations that are not finite: "drop" (they are infinitely far away, so
        this adds no bias) or "refuse".
    """

    population: int | None = None
    quantile: float = 0.5
    kernel_scale: float = 0.5
    kde: bool = True
    kde_weighted: bool = False
    invalid: InvalidPolicy = "drop"
    amortized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.population is not None and self.population < 2:
            raise UsageError(f"population is 2 or more, not {self.population}")
        if not 0 < self.quantile < 1:
            raise UsageError(f"quantile lies between 0 and 1, not {self.quantile}")
        if not self.kernel_scale > 0:
            raise UsageError(f"kernel_scale is above 0, not {self.kernel_scale}")

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "PyabcPosterior":
        """Let pyABC make populations until the budget or the time is used.

        One that does not become complete is filled up with draws of the one before.

        Raises
        ------
        UsageError
            If the budget is smaller than two populations; nothing is simulated then.
        SamplingError
            If fewer than two particles were accepted in all.
        InvalidSimulationsError
            By the policy `invalid`.
        """
        prior_key, model_key, guest_key, kde_key = random.split(key, 4)
        budget = problem.simulator.left
        size = self.population or (100 if budget < 50_000 else 1000)
        if budget < 2 * size:
            raise UsageError(
                f"a population has {size} particles, and two are needed, but the budget is "
                f"{budget}; raise the budget or lower population"
            )
        sampler = BudgetedSampler()
        model = Model(model_key, problem, self.invalid)
        abc = pyabc.ABCSMC(
            model,
            Prior(prior_key, problem.prior, problem.deadline),
            distance,
            population_size=size,
            transitions=pyabc.MultivariateNormalTransition(scaling=self.kernel_scale),
            eps=pyabc.QuantileEpsilon(alpha=self.quantile),
            sampler=sampler,
        )
        info: Info = {}
        # Not in memory: pyABC never closes such a database.
        with TemporaryDirectory() as folder, guest(guest_key, info):
            abc.new(f"sqlite:///{folder}/populations.db", {"x": problem.x_obs})
            history = abc.run()
            thetas, weights = _particles(history, sampler, problem.d, size)
            info |= {"generations": history.n_populations, "stopped": sampler.stopped}
        note_constant(info, np.array(model.xs))
        particles = Particles(problem.prior, priors.rows(problem.prior).single(thetas), weights)
        if self.kde:
            particles = particles.smoothed(kde_key, weighted=self.kde_weighted)
            info["bandwidth"] = particles.bandwidth
        return PyabcPosterior(particles, problem.x_obs, info)


def _particles(
    history: Any, sampler: BudgetedSampler, d: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return θ [m, d] and weights [m] of the last population, filled up by the one before."""
    thetas, weights = np.empty((0, d)), np.empty(0)
    if history.max_t >= 0:
        frame, weights = history.get_distribution(0, history.max_t)
        thetas, weights = frame[names(d)].to_numpy(), np.asarray(weights)
    new = np.array([[p.parameter[n] for n in names(d)] for p in sampler.partial]).reshape(-1, d)
    fresh = np.array([p.weight for p in sampler.partial])
    if len(thetas) + len(new) < 2:
        raise SamplingError("pyABC accepted fewer than two particles; raise budget or quantile")
    share = len(new) / size if len(thetas) else 1.0
    if len(new):
        fresh = share * fresh / fresh.sum()
        thetas = np.concatenate([thetas, new])
        weights = np.concatenate([(1 - share) * weights, fresh])
    return thetas, weights / weights.sum()


class PyabcPosterior:
    """The last population, smoothed or not; it is for the observation it was made for."""

    amortized = False

    def __init__(self, particles: Particles, x_obs: np.ndarray, info: Info) -> None:
        self._particles = particles
        self._x_obs = x_obs
        self.info = info

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d]; x [p] may only be the observation that it was fitted for."""
        check_count(n)
        check_same_x(x, self._x_obs)
        return self._particles.sample(key, n)


ALGORITHM = PyabcSMC
