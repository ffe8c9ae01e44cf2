"""A problem as code in NumPy sees it: a prior and a simulator without keys and without JAX."""

from typing import Any

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.errors import UsageError
from sbibench.core.problem import Problem


class NumpyPrior:
    """A prior over θ [d]: arrays in, arrays out; the numpyro object is its `distribution`."""

    def __init__(self, distribution: Distribution) -> None:
        self.distribution = distribution
        self._rows = priors.rows(distribution)

    @property
    def d(self) -> int:
        """The number of parameters."""
        return int(self.distribution.event_shape[0])

    def sample(self, n: int, rng: int | np.random.Generator) -> np.ndarray:
        """Draw n parameters [n, d], float64.

        Parameters
        ----------
        n
            How many, 1 or more.
        rng
            A seed, which gives the same draws always, or a generator, which goes on.

        Raises
        ------
        UsageError
            If it is neither, or n is less than 1.
        """
        if isinstance(rng, np.random.Generator):
            rng = int(rng.integers(2**31))
        if isinstance(rng, bool) or not isinstance(rng, int | np.integer):
            raise UsageError(
                "prior.sample(n, rng) needs a seed or a np.random.Generator, such as "
                f"np.random.default_rng(seed), not {type(rng).__name__}"
            )
        if n < 1:
            raise UsageError(f"the number of draws of the prior is 1 or more, not {n}")
        return self._rows.sample(random.key(int(rng)), int(n)).astype(np.float64)

    def log_prob(self, thetas: Any) -> Any:
        """Return the log densities [n] of rows θ [n, d], -inf outside the support.

        Of one θ [d] it is one number.
        """
        rows, one = self._many(thetas)
        values = self._rows.log_prob(rows)
        return values[0] if one else values

    def inside(self, thetas: Any) -> Any:
        """Return which rows of θ [n, d] lie in the support, bool [n]; whether one θ [d] does."""
        rows, one = self._many(thetas)
        values = self._rows.inside(rows)
        return values[0] if one else values

    def _many(self, thetas: Any) -> tuple[np.ndarray, bool]:
        array = np.asarray(thetas, np.float64)
        if array.ndim not in {1, 2} or array.shape[-1] != self.d:
            raise UsageError(f"parameters have shape [n, {self.d}], not {array.shape}")
        return np.atleast_2d(array), array.ndim == 1


class NumpySimulator:
    """The simulator of a problem: counted and budgeted, its randomness from a key and a counter.

    Parameters
    ----------
    problem
        Whose simulator and deadline are used.
    key
        Call number i draws from `fold_in(key, i)`.
    """

    def __init__(self, problem: Problem, key: PRNGKeyArray) -> None:
        self._problem = problem
        self._key = key
        self._count = 0

    @property
    def left(self) -> int:
        """How many simulations may still be run."""
        return self._problem.simulator.left

    def __call__(self, thetas: Any) -> np.ndarray:
        """Return the data [n, p], float64, of rows θ [n, d]; of one θ [d] the data [p].

        A simulation that failed is a row with NaN or infinite values.

        Raises
        ------
        UsageError
            If θ has another shape.
        BudgetExceededError
            If fewer than n simulations are left; then none is run.
        DeadlineError
            If the time is over.
        """
        array = np.asarray(thetas, np.float64)
        simulator = self._problem.simulator
        simulator.deadline.check(f"simulating, {simulator.calls} simulations done")
        key = random.fold_in(self._key, self._count)
        self._count += 1
        xs = simulator(key, array[None] if array.ndim == 1 else array).xs.astype(np.float64)
        return xs[0] if array.ndim == 1 else xs
