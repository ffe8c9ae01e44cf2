"""Rejection ABC: keep the simulations nearest to the observation, smooth them by a KDE.

Tavaré et al. 1997; Pritchard et al. 1999; as in Lueckmann et al. 2021, appendices A.1 and H: the
100 nearest by the l2 norm, whatever the budget, then a kernel density estimate with cross-validated
bandwidth. The estimate is made in unconstrained space, so no sample leaves the prior's support.
Their variants +LRA and +SASS are `adjust` = "linear" and `summaries` = "semi_automatic".
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core.errors import InvalidSimulationsError, UsageError
from sbibench.core.posterior import Info, check_count
from sbibench.core.problem import Problem, checked_x
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.adjustment import Adjustment, adjust
from sbibench.inference.nearest import nearest
from sbibench.inference.particles import Particles
from sbibench.inference.saving import Portable
from sbibench.inference.standardize import note_constant
from sbibench.inference.summaries import SemiAutomatic, Summaries, features, pilot


@dataclass(frozen=True)
class RejABC:
    """Settings of rejection ABC.

    Attributes
    ----------
    top
        How many of the nearest simulations are kept.
    quantile
        The share of the simulations to keep in place of `top`, between 0 and 1.
    kde
        Whether samples are drawn from a kernel density estimate; if not, the kept parameters are
        drawn with replacement.
    adjust
        Whether the kept parameters are corrected by a "linear" regression on their data (Beaumont
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

    top: int = 100
    quantile: float | None = None
    kde: bool = True
    adjust: Adjustment = "none"
    summaries: Summaries = "none"
    degree: int = 3
    invalid: InvalidPolicy = "drop"

    def __post_init__(self) -> None:
        check_types(self)
        if self.top < 1:
            raise UsageError(f"top is 1 or more, not {self.top}")
        if self.quantile is not None and not 0 < self.quantile <= 1:
            raise UsageError(f"quantile lies above 0 and up to 1, not {self.quantile}")
        if self.degree < 1:
            raise UsageError(f"degree is 1 or more, not {self.degree}")

    def _kept(self, budget: int) -> int:
        kept = self.top if self.quantile is None else round(self.quantile * budget)
        if kept == budget and self.quantile is None and self.adjust == "none":
            raise UsageError(
                f"all {budget} simulations would be kept, which is the prior; raise the budget or "
                "lower top"
            )
        if not (2 if self.kde else 1) <= kept <= budget:
            raise UsageError(
                f"{kept} of {budget} simulations would be kept; raise the budget or change top or "
                "quantile" + (" (the KDE needs two)" if self.kde else "")
            )
        return kept

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "RejABCPosterior":
        """Simulate from the prior until the budget is used, and keep the nearest.

        Raises
        ------
        UsageError
            If the budget is smaller than what is to be kept, or no larger than `top` without an
            adjustment; nothing is simulated then.
        InvalidSimulationsError
            If fewer simulations are finite than are to be kept, or by the policy `invalid`.
        """
        prior_key, simulator_key, kde_key, pilot_key = random.split(key, 4)
        summaries, half = None, problem.simulator.left // 2
        if self.summaries == "semi_automatic":
            kept = self._kept(problem.simulator.left - half)
            if half < 2:
                raise UsageError("semi-automatic summaries need a budget of 4 or more")
            summaries = pilot(pilot_key, problem, half, self.degree, self.invalid)
        else:
            kept = self._kept(problem.simulator.left)
        simulations = problem.from_prior(prior_key, simulator_key, problem.simulator.left)
        simulations = simulations.accept(self.invalid)
        if len(simulations.xs) < kept:
            raise InvalidSimulationsError(
                f"{len(simulations.xs)} simulations are finite, {kept} were to be kept; raise the "
                "budget or keep fewer"
            )
        compared = features(summaries, simulations.xs)
        info: Info = {"kept": kept}
        note_constant(info, simulations.xs)
        choice = Choice(self, kept, kde_key, simulations.thetas, compared, summaries)
        particles = choice.at(problem.prior, problem.x_obs, info)
        return RejABCPosterior(choice, particles, problem.x_obs, info)


@dataclass(frozen=True)
class Choice:
    """How the nearest are found and smoothed, for any observation: θ [n, d], their features."""

    settings: RejABC
    kept: int
    key: PRNGKeyArray
    thetas: np.ndarray
    features: np.ndarray
    summaries: SemiAutomatic | None

    def at(self, prior: Distribution, x: np.ndarray, info: Info) -> Particles:
        """Return the particles for x [p], and add to the info what is to be known of them."""
        target = features(self.summaries, x[None])[0]
        index, distances = nearest(self.features, target, self.kept)
        info["epsilon"] = float(distances[-1])
        thetas = self.thetas[index]
        if self.settings.adjust == "linear":
            thetas, info["adjusted"] = adjust(prior, thetas, self.features[index], target)
        particles = Particles(prior, thetas)
        if self.settings.kde:
            particles = particles.smoothed(self.key)
            info["bandwidth"] = particles.bandwidth
        return particles


class RejABCPosterior(Portable):
    """The kept parameters, smoothed or not; the same simulations serve every observation."""

    amortized = True

    def __init__(self, choice: Choice, particles: Particles, x_obs: np.ndarray, info: Info) -> None:
        self._choice = choice
        self._particles = particles
        self._x_obs = x_obs
        self.info = info

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d] at x [p], by default the observation that it was fitted for."""
        check_count(n)
        particles = self._particles
        if x is not None:
            particles = self._choice.at(particles.prior, checked_x(x, self._x_obs), {})
        return particles.sample(key, n)


ALGORITHM = RejABC
