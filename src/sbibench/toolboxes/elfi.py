"""What ELFI is given: our prior on a unit cube, and its Gaussian process, mended and faster.

ELFI 0.8; Lintusaari et al. 2018. Its length scale is one for all parameters, so that each has to
have the same range: the cube.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import elfi
import jax
import numpy as np
from jax import random
from jaxtyping import Array, PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.errors import InvalidSimulationsError, UsageError
from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy, Simulations
from sbibench.inference.nearest import l2

DRAWS = 100_000
"""Draws of the prior that its quantiles are taken from, always the same ones."""

TAIL = 5e-4
"""The share of a parameter's prior on either side that lies out of bounds, where it has no ends."""

TINY = 1e-12
"""Added to distances: the logarithm of 0 is no evidence."""

PAIRS = 200
"""Pairs of draws that show whether parameters are independent."""


def demand_independent(prior: Distribution) -> None:
    """Raise `UsageError` unless the parameters are independent under the prior.

    Then what two draws have together is the same when they swap a parameter: log p(θ) + log p(θ').
    """
    rows = priors.rows(prior)
    thetas = rows.sample(random.key(1), 2 * PAIRS).astype(np.float64)
    one, other = thetas[:PAIRS], thetas[PAIRS:]
    together = rows.log_prob(one) + rows.log_prob(other)
    for i in range(one.shape[1]):
        swapped, back = one.copy(), other.copy()
        swapped[:, i], back[:, i] = other[:, i], one[:, i]
        if not np.allclose(rows.log_prob(swapped) + rows.log_prob(back), together, 1e-5, 1e-5):
            raise UsageError(
                "BOLFI needs a prior of independent parameters, and under this one of class "
                f"{type(prior).__name__} parameter {i + 1} depends on others; take a product such "
                "as Normal(...).to_event(1), or another algorithm"
            )


def bounds(prior: Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest parameters [d] that are looked at.

    A parameter whose support has two ends has those; of another one, the quantiles 0.0005 and
    0.9995 of the prior.
    """
    rows = priors.rows(prior)
    low, high = np.quantile(rows.sample(random.key(0), DRAWS), [TAIL, 1 - TAIL], axis=0)
    far = np.full((2, len(low)), 1e3) * [[-1.0], [1.0]]
    ends, farther = rows.to_support(far), rows.to_support(10 * far)
    closed = (np.isfinite(ends) & (ends == farther)).all(0)
    ends.sort(0)
    return np.where(closed, ends[0], low), np.where(closed, ends[1], high)


class CubePrior:
    """The prior's density over u [d] in the unit cube, as ELFI asks for it."""

    def __init__(self, prior: Distribution) -> None:
        demand_independent(prior)
        self.low, self.high = bounds(prior)
        self._d = len(self.low)
        rows = priors.rows(prior)
        low, width = self.low, self.high - self.low

        def density(u: Array) -> Array:
            value: Array = rows.log_density(low + u * width)
            return value

        self._log_density: Callable[[Any], Any] = jax.jit(density)
        self._gradient: Callable[[Any], Any] = jax.jit(jax.grad(density))

    def thetas(self, us: np.ndarray) -> np.ndarray:
        """Return the parameters [n, d] at u [n, d] in the cube."""
        found: np.ndarray = self.low + us * (self.high - self.low)
        return found

    def cube(self, thetas: np.ndarray) -> np.ndarray:
        """Return u [n, d] of parameters [n, d]; what is out of bounds comes to lie on them."""
        scaled = (thetas - self.low) / (self.high - self.low)
        found: np.ndarray = np.clip(scaled, 0.0, 1.0)
        return found

    def rvs(self, size: int | None = None, random_state: Any = None) -> np.ndarray:
        """Return places where ELFI begins to look for a minimum: uniform ones."""
        shape = (self._d,) if size is None else (size, self._d)
        drawn: np.ndarray = (random_state or np.random).uniform(size=shape)
        return drawn

    def logpdf(self, u: Any) -> float:
        """Return the log density at u [d], up to a constant."""
        return float(self._log_density(np.asarray(u, np.float64).reshape(self._d)))

    def gradient_logpdf(self, u: Any) -> np.ndarray:
        """Return its gradient [d]."""
        return np.asarray(self._gradient(np.asarray(u, np.float64).reshape(self._d)))


@functools.lru_cache(maxsize=64)
def cube_prior(prior: Distribution) -> CubePrior:
    """Return what belongs to this prior object, the same for the same one: it compiles once.

    Raises
    ------
    UsageError
        If its parameters are not independent.
    """
    return CubePrior(prior)


class Solved(NamedTuple):
    """A Gaussian process: its kernel's numbers, and what its evidence at `places` [m, d] says."""

    variance: float
    length: float
    bias: float
    noise: float
    weights: np.ndarray
    inverse: np.ndarray
    places: np.ndarray

    def kernel(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return differences [n, m, d] of rows x [n, d] from the places, and the kernel [n, m]."""
        apart = x[:, None] - self.places
        squares = np.sum((apart / self.length) ** 2, -1)
        return apart, self.variance * np.exp(-0.5 * squares)


class Process(elfi.GPyRegression):  # type: ignore[misc]  # elfi is untyped
    """ELFI's Gaussian process on the unit cube; GPy fits it, what it predicts is computed here.

    GPy takes milliseconds for each prediction, nearly all of a fit, and ELFI's own shortcut fails
    with NumPy from 2.4 on. The kernel is ELFI's default: squared exponential and a constant.
    """

    def __init__(self, names: list[str]) -> None:
        super().__init__(names, bounds=dict.fromkeys(names, (0.0, 1.0)))
        self._solved: Solved | None = None

    def update(self, x: Any, y: Any, optimize: Any = False) -> None:  # noqa: FBT002 - ELFI's
        """Take evidence u [n, d] and y [n, 1], and fit the kernel anew if asked."""
        super().update(x, y, optimize)
        self._solved = None

    @property
    def solved(self) -> Solved:
        """What GPy has found, for the evidence so far."""
        if self._solved is None:
            kernel, found = self._gp.kern, self._gp.posterior
            self._solved = Solved(
                variance=np.asarray(kernel.rbf.variance).item(),
                length=np.asarray(kernel.rbf.lengthscale).item(),
                bias=np.asarray(kernel.bias.variance).item(),
                noise=np.asarray(self._gp.likelihood.variance).item(),
                weights=np.asarray(found.woodbury_vector)[:, 0],
                inverse=np.asarray(found.woodbury_inv),
                places=np.asarray(self._gp.X),
            )
        return self._solved

    def predict(self, x: Any, noiseless: Any = False) -> Any:  # noqa: FBT002 - ELFI's
        """Return means and variances [n, 1] of the log distance at rows x [n, d]."""
        s = self.solved
        near = s.bias + s.kernel(np.asarray(x, np.float64).reshape(-1, self.input_dim))[1]
        left = s.variance + s.bias - np.sum(near @ s.inverse * near, 1)
        left = np.maximum(left, 1e-15) + (0.0 if noiseless else s.noise)
        return (near @ s.weights)[:, None], left[:, None]

    def predictive_gradients(self, x: Any) -> Any:
        """Return the gradients [n, d] of the mean and of the variance at rows x [n, d]."""
        s = self.solved
        apart, kernel = s.kernel(np.asarray(x, np.float64).reshape(-1, self.input_dim))
        slopes = -apart / s.length**2 * kernel[..., None]
        towards = (s.bias + kernel) @ s.inverse
        mean = np.einsum("nmd,m->nd", slopes, s.weights)
        return mean, -2 * np.einsum("nmd,nm->nd", slopes, towards)


class Distances:
    """The simulator as ELFI wants it: columns of u in the cube become log distances."""

    def __init__(
        self, key: PRNGKeyArray, problem: Problem, prior: CubePrior, invalid: InvalidPolicy
    ) -> None:
        self._key = key
        self._problem = problem
        self._prior = prior
        self._invalid = invalid
        self._farthest = 0.0
        self.xs = np.empty((0, problem.p), np.float32)

    def first(self, data: Simulations) -> np.ndarray:
        """Return the log distances [n] of simulations from the prior."""
        data.accept(self._invalid)
        self._farthest = self._of(data.xs[data.valid]).max()
        return self._seen(data)

    def __call__(self, *columns: Any, batch_size: int = 1, random_state: Any = None) -> np.ndarray:
        """Simulate at u; it costs as many as there are."""
        del batch_size, random_state
        us = np.stack([np.asarray(column, np.float64).reshape(-1) for column in columns], 1)
        key = random.fold_in(self._key, self._problem.simulator.calls)
        data = self._problem.simulator(key, self._prior.thetas(us))
        if self._invalid == "refuse" and not data.valid.all():
            raise InvalidSimulationsError(
                "a simulation is not finite; mend the simulator or set invalid='drop'"
            )
        return self._seen(data)

    def _of(self, xs: np.ndarray) -> np.ndarray:
        return np.log(l2(xs, self._problem.x_obs) + TINY)

    def _seen(self, data: Simulations) -> np.ndarray:
        ys = np.full(len(data.xs), self._farthest)
        ys[data.valid] = self._of(data.xs[data.valid])
        self.xs = np.concatenate([self.xs, data.xs[data.valid]])
        return ys
