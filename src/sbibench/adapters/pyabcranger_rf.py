"""RF-ABC of the toolbox pyabcranger (abcranger): forests weigh simulations from the prior.

Raynal et al. 2019; Collin et al. 2020; as in Lueckmann et al. 2021, appendix A.9. One forest a
parameter, so the posterior is the product of its marginals.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyabcranger
from jax import random
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info, check_count
from sbibench.core.problem import Problem, checked_x
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.standardize import note_constant
from sbibench.toolboxes.guest import guest


@dataclass(frozen=True)
class PyabcrangerRF:
    """Settings of abcranger's estimation of parameters.

    Attributes
    ----------
    trees
        How many trees the forest of each parameter has.
    min_node_size
        Nodes of this size are not split; 0 is abcranger's own choice.
    pls
        Whether the first components of partial least squares join the data.
    invalid
        What to do with simulations that are not finite: "drop" infers the posterior given that the
        simulation is valid, which is unbiased; or "refuse".
    """

    trees: int = 500
    min_node_size: int = 0
    pls: bool = True
    invalid: InvalidPolicy = "drop"

    def __post_init__(self) -> None:
        if self.trees < 1 or self.min_node_size < 0:
            raise UsageError(
                f"trees are 1 or more and min_node_size 0 or more, not {self.trees} and "
                f"{self.min_node_size}"
            )

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "PyabcrangerPosterior":
        """Simulate from the prior until the budget is used, and grow the forests for x_obs.

        Raises
        ------
        InvalidSimulationsError
            If no simulation is finite, or by the policy `invalid`.
        DeadlineError
            If the time is over before all forests are there.
        """
        prior_key, simulator_key, forest_key = random.split(key, 3)
        simulations = problem.from_prior(prior_key, simulator_key, problem.simulator.left)
        simulations = simulations.accept(self.invalid)
        info: Info = {"trees": self.trees}
        note_constant(info, simulations.xs)
        posterior = PyabcrangerPosterior(self, problem, simulations.thetas, simulations.xs)
        posterior.info, posterior.key = info, forest_key
        for parameter in range(problem.d):
            problem.deadline.check("growing forests")
            posterior.weights(parameter, problem.x_obs)
        return posterior


class PyabcrangerPosterior:
    """The product of weighted simulations; for another x new forests are grown."""

    amortized = True
    info: Info
    key: PRNGKeyArray

    def __init__(
        self, settings: PyabcrangerRF, problem: Problem, thetas: np.ndarray, xs: np.ndarray
    ) -> None:
        self._settings = settings
        self._prior: Distribution = problem.prior
        self._x_obs = problem.x_obs
        # abcranger keeps views of these, not copies: they have to live as long as its table.
        self._thetas, self._xs = thetas.astype(np.float64), xs.astype(np.float64)
        self._known: dict[tuple[int, bytes], np.ndarray] = {}

    def weights(self, parameter: int, x: np.ndarray) -> np.ndarray:
        """Return the weights [n] of the simulations for one parameter at x [p]."""
        at = (parameter, x.tobytes())
        if at not in self._known:
            self._known[at] = self._grown(parameter, x)
        return self._known[at]

    def _grown(self, parameter: int, x: np.ndarray) -> np.ndarray:
        n, d = self._thetas.shape
        names = [f"t{i}" for i in range(d)]
        columns = [f"x{i}" for i in range(self._xs.shape[1])]
        key = random.fold_in(self.key, parameter)
        with guest(key, self.info) as seed:
            table = pyabcranger.reftable(
                n, [0], [d], names, columns, self._xs, self._thetas, [1.0] * n
            )
            # Columns of noise, which only measure importance, are drawn without the seed.
            options = (
                f"--ntree {self._settings.trees} --minnodesize {self._settings.min_node_size} "
                f"--parameter {names[parameter]} --chosenscen 1 --noob 1 --threads 1 "
                f"--noisecolumns 0 --seed {max(seed, 1)}"
            ) + ("" if self._settings.pls else " --nolinear")
            quiet, weigh_out_of_bag = True, False
            found = pyabcranger.estimparam(
                table, x.astype(float).tolist(), options, quiet, weigh_out_of_bag
            )
        weights: np.ndarray = np.array([weight[0] for _, weight in found.values_weights])
        weights /= weights.sum()
        return weights

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, at x [p]: each parameter by its own weights.

        Raises
        ------
        UsageError
            If the prior's support is no product of intervals, so that combinations of parameters
            from different simulations lie outside.
        """
        check_count(n)
        at = self._x_obs if x is None else checked_x(x, self._x_obs)
        rng = numpy_rng(key)
        columns = [
            values[rng.choice(len(values), n, p=self.weights(i, at))]
            for i, values in enumerate(self._thetas.T)
        ]
        rows = priors.rows(self._prior)
        samples = rows.single(np.stack(columns, 1))
        if not rows.inside(samples).all():
            raise UsageError(
                "RF-ABC draws each parameter on its own, which leaves the support of this prior: "
                "it needs a prior over a product of intervals"
            )
        return samples


ALGORITHM = PyabcrangerRF
