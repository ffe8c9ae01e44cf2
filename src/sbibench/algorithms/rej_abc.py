"""Rejection ABC: keep the simulations nearest to the observation, smooth them by a KDE.

Tavaré et al. 1997; Pritchard et al. 1999; as in Lueckmann et al. 2021, appendices A.1 and H: the
100 nearest by the l2 norm, whatever the budget, then a kernel density estimate with cross-validated
bandwidth. The estimate is made in unconstrained space, so no sample leaves the prior's support.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.errors import InvalidSimulationsError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info, check_count
from sbibench.core.problem import Problem, checked_x
from sbibench.core.simulator import InvalidPolicy, Simulations
from sbibench.inference.kde import KDE
from sbibench.inference.nearest import nearest


@dataclass(frozen=True)
class RejABC:
    """Settings of rejection ABC.

    Attributes
    ----------
    top
        How many of the nearest simulations are kept.
    quantile
        The share of the budget to keep in place of `top`, between 0 and 1.
    kde
        Whether samples are drawn from a kernel density estimate; if not, the kept parameters are
        drawn with replacement.
    invalid
        What to do with simulations that are not finite: "drop" (they are infinitely far away, so
        this adds no bias) or "refuse".
    """

    top: int = 100
    quantile: float | None = None
    kde: bool = True
    invalid: InvalidPolicy = "drop"

    def __post_init__(self) -> None:
        if self.top < 1:
            raise UsageError(f"top is 1 or more, not {self.top}")
        if self.quantile is not None and not 0 < self.quantile <= 1:
            raise UsageError(f"quantile lies above 0 and up to 1, not {self.quantile}")

    def _kept(self, budget: int) -> int:
        kept = self.top if self.quantile is None else round(self.quantile * budget)
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
            If the budget is smaller than what is to be kept; nothing is simulated then.
        InvalidSimulationsError
            If fewer simulations are finite than are to be kept, or by the policy `invalid`.
        """
        prior_key, simulator_key, kde_key = random.split(key, 3)
        kept = self._kept(problem.simulator.left)
        thetas = priors.rows(problem.prior).sample(prior_key, problem.simulator.left)
        simulations = problem.simulator(simulator_key, thetas).accept(self.invalid)
        if len(simulations.xs) < kept:
            raise InvalidSimulationsError(
                f"{len(simulations.xs)} simulations are finite, {kept} were to be kept; raise the "
                "budget or keep fewer"
            )
        return RejABCPosterior(self, problem, simulations, kept, kde_key)


class RejABCPosterior:
    """The kept parameters, smoothed or not; the same simulations serve every observation."""

    amortized = True

    def __init__(
        self,
        settings: RejABC,
        problem: Problem,
        simulations: Simulations,
        kept: int,
        key: PRNGKeyArray,
    ) -> None:
        self._settings = settings
        self._rows = priors.rows(problem.prior)
        self._simulations = simulations
        self._kept = kept
        self._key = key
        self._x_obs = problem.x_obs
        self.info: Info = {"kept": kept}
        self._kde = self._at(problem.x_obs, self.info)

    def _at(self, x: np.ndarray, info: Info) -> KDE | np.ndarray:
        index, distances = nearest(self._simulations.xs, x, self._kept)
        info["epsilon"] = float(distances[-1])
        thetas: np.ndarray = self._simulations.thetas[index]
        if not self._settings.kde:
            return thetas
        kde = KDE.fit(self._key, self._rows.from_support(thetas.astype(np.float64)))
        info["bandwidth"] = kde.bandwidth
        return kde

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d] at x [p], by default the observation that it was fitted for."""
        check_count(n)
        estimate = self._kde if x is None else self._at(checked_x(x, self._x_obs), {})
        if isinstance(estimate, KDE):
            return self._rows.single(self._rows.to_support(estimate.sample(key, n)))
        return estimate[numpy_rng(key).integers(len(estimate), size=n)]


ALGORITHM = RejABC
