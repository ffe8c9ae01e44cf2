"""ABC random forests: a regression forest for each parameter weighs the simulations.

Raynal et al. 2019, as in Lueckmann et al. 2021, appendices A.9 and H: 500 trees, with leaves of 5
there and of 20 here. Beside the data a forest sees their linear axes, as the software used there
(Collin et al. 2020) lets it, but no columns of noise. Each parameter is resampled by the weights of
its own forest, so the estimate is a product of marginals and knows no correlation.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info, check_count
from sbibench.core.problem import Problem, checked_x
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.forest import Forest, forest_weights
from sbibench.inference.saving import Portable
from sbibench.inference.standardize import note_constant


@dataclass(frozen=True)
class RFABC:
    """Settings of ABC with random forests.

    Attributes
    ----------
    forest
        The forest of each parameter.
    invalid
        What to do with simulations that are not finite: "drop" infers the posterior given that the
        simulation is valid, which is unbiased; or "refuse".
    """

    forest: Forest = field(default_factory=Forest)
    invalid: InvalidPolicy = "drop"

    def __post_init__(self) -> None:
        check_types(self)

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "RFABCPosterior":
        """Simulate from the prior until the budget is used, and grow the trees for x_obs.

        Raises
        ------
        UsageError
            If the budget is less than two simulations.
        InvalidSimulationsError
            If no simulation is finite, or by the policy `invalid`.
        DeadlineError
            If the time is over before there is a tree for each parameter.
        """
        budget = problem.simulator.left
        if budget < 2:
            raise UsageError(
                f"forests need 2 simulations or more, the budget is {budget}; raise it"
            )
        prior_key, simulator_key, forest_key = random.split(key, 3)
        simulations = problem.from_prior(prior_key, simulator_key, budget)
        simulations = simulations.accept(self.invalid)
        thetas, xs = simulations.thetas, simulations.xs
        weights, trees = forest_weights(
            numpy_rng(forest_key),
            xs,
            thetas,
            problem.x_obs,
            self.forest,
            problem.deadline,
            problem.progress,
        )
        info: Info = {
            "trees": trees,
            "effective_samples": float((1 / (weights**2).sum(0)).min()),
        }
        note_constant(info, xs)
        if trees < self.forest.trees:
            info["stopped"] = "deadline"
        return RFABCPosterior(
            self.forest, problem.prior, thetas, xs, forest_key, problem.x_obs, weights, info
        )


class RFABCPosterior(Portable):
    """The product of weighted simulations; for another x new trees are grown.

    That takes as long as those of the fit did; the deadline is for the fit alone.
    """

    amortized = True

    def __init__(
        self,
        forest: Forest,
        prior: Distribution,
        thetas: np.ndarray,
        xs: np.ndarray,
        key: PRNGKeyArray,
        x_obs: np.ndarray,
        weights: np.ndarray,
        info: Info,
    ) -> None:
        self._forest = forest
        self._prior = prior
        self._thetas, self._xs = thetas, xs
        self._key = key
        self._x_obs = x_obs
        self._weights = weights
        self.info = info

    def weights(self, x: Any = None) -> np.ndarray:
        """Return the weights [n, d] of the simulations for each parameter at x [p]."""
        if x is None or np.array_equal(x := checked_x(x, self._x_obs), self._x_obs):
            return self._weights
        return forest_weights(numpy_rng(self._key), self._xs, self._thetas, x, self._forest)[0]

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, at x [p]: each parameter by its own weights.

        Raises
        ------
        UsageError
            If the prior's support is no product of intervals, so that combinations of parameters
            from different simulations lie outside.
        """
        check_count(n)
        weights, rng = self.weights(x), numpy_rng(key)
        columns = [
            values[rng.choice(len(values), n, p=w)]
            for values, w in zip(self._thetas.T, weights.T, strict=True)
        ]
        samples = np.stack(columns, 1)
        if not priors.rows(self._prior).inside(samples).all():
            raise UsageError(
                "RF-ABC draws each parameter on its own, which leaves the support of this prior: "
                "it needs a prior over a product of intervals"
            )
        return samples


ALGORITHM = RFABC
PAPER = RFABC(forest=Forest(min_node=5))
