"""Sequential Monte Carlo ABC: particles move towards the observation, ever nearer.

The ABC-PMC scheme of Beaumont, Cornuet, Marin & Robert 2009 (Biometrika 96), as in Lueckmann et al.
2021, appendices A.2 and H: each population is drawn around the one before, accepted where the data
are nearer than a quantile of the distances before, and weighted by the prior over the proposal. The
last one is smoothed by a KDE in unconstrained space.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import DeadlineError, SamplingError, UsageError
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.adjustment import Adjustment, adjust
from sbibench.inference.particles import Particles
from sbibench.inference.perturbation import Perturbation, effective_size, silverman
from sbibench.inference.population import Population, Target, from_prior, next_epsilon, perturbed
from sbibench.inference.saving import Portable
from sbibench.inference.standardize import note_constant
from sbibench.inference.summaries import Summaries, pilot


@dataclass(frozen=True)
class SMCABC:
    """Settings of sequential Monte Carlo ABC.

    Attributes
    ----------
    population
        How many particles; by default 100, from a budget of 50 000 on 1000.
    quantile
        Which quantile of a population's distances the next one has to reach.
    kernel
        Covariance of the Gaussian that moves particles: "gaussian" takes that of the particles
        (version A of the paper; with the weights it collapses in ten dimensions, where few
        particles have them all), "kde" takes the weighted one and shrinks it by Silverman's rule,
        so that the proposal is a kernel density estimate of the population (version B).
    kernel_scale
        Factor of this covariance.
    kde
        Whether samples are drawn from a kernel density estimate; if not, the particles are drawn
        by their weights.
    kde_weighted
        Whether the estimate weighs the particles. The published code did not (sbibm's
        `kde_sample_weights`): a bias, but in ten dimensions few particles have all the weight, and
        the estimate of those few is worse (docs/measured.md).
    adjust
        Whether the last particles are corrected by a "linear" regression on their data (Beaumont
        et al. 2002).
    summaries
        Whether the data are compared as they are or by "semi_automatic" summaries (Fearnhead &
        Prangle 2012), on which half of the budget is spent.
    degree
        The highest power of a data value in the summaries.
    invalid
        What to do with simulations that are not finite: "drop" (they are infinitely far away, so
        this adds no bias) or "refuse".
    """

    population: int | None = None
    quantile: float = 0.2
    kernel: Literal["gaussian", "kde"] = "gaussian"
    kernel_scale: float = 0.5
    kde: bool = True
    kde_weighted: bool = False
    adjust: Adjustment = "none"
    summaries: Summaries = "none"
    degree: int = 3
    invalid: InvalidPolicy = "drop"
    amortized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_types(self)
        if self.population is not None and self.population < 2:
            raise UsageError(f"population is 2 or more, not {self.population}")
        if not 0 < self.quantile < 1:
            raise UsageError(f"quantile lies between 0 and 1, not {self.quantile}")
        if not 0 < self.kernel_scale < math.inf:
            raise UsageError(f"kernel_scale is finite and above 0, not {self.kernel_scale}")
        if self.degree < 1:
            raise UsageError(f"degree is 1 or more, not {self.degree}")

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "SMCABCPosterior":
        """Make one population after the other until the budget is used.

        It ends earlier at the deadline, or where no next population is possible; `info` says why
        under `stopped`. The last complete population is used then. One that the budget leaves
        incomplete is filled up with the nearest particles of the one before.

        Raises
        ------
        UsageError
            If the budget is smaller than the first population; nothing is simulated then.
        InvalidSimulationsError
            If too few simulations are finite for a first population, or by the policy `invalid`.
        DeadlineError
            If there is no time for a first population.
        """
        pilot_key, kde_key, key = random.split(key, 3)
        budget = problem.simulator.left
        size = self.population or (100 if budget < 50_000 else 1000)
        half = budget // 2 if self.summaries == "semi_automatic" else 0
        if size > budget - half:
            raise UsageError(
                f"a population has {size} particles, the budget for them is {budget - half}; raise "
                "the budget or lower population"
            )
        problem.simulator.demand()
        summaries = pilot(pilot_key, problem, half, self.degree, self.invalid) if half else None
        target = Target(problem, summaries, self.invalid)
        population, info = self._last(key, target, size)
        thetas, weights = population.thetas, np.exp(population.log_weights)
        if self.adjust == "linear":
            thetas, info["adjusted"] = adjust(
                problem.prior, thetas, population.features, target.features, weights
            )
        particles = Particles(problem.prior, thetas, weights)
        if self.kde:
            particles = particles.smoothed(kde_key, weighted=self.kde_weighted)
            info["bandwidth"] = particles.bandwidth
        return SMCABCPosterior(particles, problem.x_obs, info)

    def _kernel(self, population: Population) -> Perturbation:
        scale, by_kde = self.kernel_scale, self.kernel == "kde"
        if by_kde:
            points = effective_size(population.log_weights)
            scale *= silverman(points, population.thetas.shape[1]) ** 2
        return Perturbation.fit(population.thetas, population.log_weights, scale, weighted=by_kde)

    def _last(self, key: PRNGKeyArray, target: Target, size: int) -> tuple[Population, Info]:
        """Return the last population and what is to be known about it."""
        population = from_prior(random.fold_in(key, 0), target, size)
        generations, stopped = 1, "budget"
        info: Info = {}
        if self.summaries == "none":
            note_constant(info, population.features)
        while target.simulator.left:
            try:
                target.deadline.check("making populations")
                epsilon = next_epsilon(population.distances, self.quantile)
                kernel = self._kernel(population)
                population = perturbed(
                    random.fold_in(key, generations), target, population, kernel, epsilon
                )
            except DeadlineError:
                stopped = "deadline"
                break
            except SamplingError as error:
                stopped = str(error)
                break
            generations += 1
        return population, info | {
            "generations": generations,
            "epsilon": float(population.distances.max()),
            "acceptance_rate": population.acceptance,
            "effective_size": effective_size(population.log_weights),
            "stopped": stopped,
        }


class SMCABCPosterior(Portable):
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


ALGORITHM = SMCABC
