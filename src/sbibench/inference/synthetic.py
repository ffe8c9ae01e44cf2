"""The synthetic likelihood: a Gaussian with the moments of simulations (Wood 2010, equation 2)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import random
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy

SINGULAR = 1e-10
"""A column that keeps less of its variance than this, given those before it, depends on them."""


def _one(
    xs: Float[Array, "m p"],
    valid: Bool[Array, " m"],
    x_obs: Float[Array, " p"],
    varying: Bool[Array, " p"],
    epsilon: Float[Array, ""],
) -> Float[Array, ""]:
    used = valid[:, None] & varying[None, :]
    count = jnp.maximum(valid.sum(), 2)
    xs = jnp.where(used, xs, 0.0)
    mean = xs.sum(0) / count
    centred = jnp.where(used, xs - mean[None, :], 0.0)
    covariance = centred.T @ centred / (count - 1)
    # A column that doesn't count is a standard normal of its own, observed at its mean.
    covariance += jnp.diag(jnp.where(varying, epsilon, 1.0))
    deviations = jnp.sqrt(jnp.diag(covariance))
    factor = jnp.linalg.cholesky(covariance / (deviations[:, None] * deviations[None, :]))
    pivots = jnp.diag(factor)
    z = jnp.where(varying, x_obs - mean, 0.0) / deviations
    distance = jnp.sum(jax.scipy.linalg.solve_triangular(factor, z, lower=True) ** 2)
    log_det = 2 * jnp.sum(jnp.log(pivots) + jnp.log(deviations))
    value = -0.5 * (distance + log_det + varying.sum() * jnp.log(2 * jnp.pi))
    sound = (valid.sum() >= 2) & jnp.all(pivots**2 > SINGULAR) & jnp.isfinite(value)
    return jnp.where(sound, value, -jnp.inf)


@jax.jit
def synthetic_log_likelihoods(
    xs: Float[Array, "c m p"],
    valid: Bool[Array, "c m"],
    x_obs: Float[Array, " p"],
    varying: Bool[Array, " p"],
    epsilon: Float[Array, ""],
) -> Float[Array, " c"]:
    """Return the log density [c] of x_obs under a Gaussian fitted to each set of m simulations.

    Parameters
    ----------
    xs, valid
        Sets of simulations, float64, and which of them count.
    varying
        Which columns count.
    epsilon
        Is added to the diagonal of the covariance.

    Returns
    -------
    log_likelihood
        -inf where the covariance is singular, or fewer than two simulations are valid.
    """
    return jax.vmap(_one, in_axes=(0, 0, None, None, None))(xs, valid, x_obs, varying, epsilon)


class SyntheticLikelihood:
    """The synthetic likelihood of one problem, estimated anew whenever it is asked for.

    Columns of x that are the same in all simulations of the first request do not count, so ask
    first at draws of the prior.

    Parameters
    ----------
    simulations, epsilon, invalid
        Simulations for each place, what is added to the diagonal, and the policy for those that are
        not finite.
    """

    def __init__(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        simulations: int,
        epsilon: float,
        invalid: InvalidPolicy,
    ) -> None:
        self._key = key
        self._simulator = problem.simulator
        self._x_obs = problem.x_obs.astype(np.float64)
        self._m, self._epsilon, self._invalid = simulations, epsilon, invalid
        self._varying: np.ndarray | None = None
        self._asked = 0

    @property
    def constant(self) -> list[int]:
        """The columns that do not count."""
        return [] if self._varying is None else np.flatnonzero(~self._varying).tolist()

    def affords(self, places: int) -> bool:
        """Return whether the budget allows for a request at so many places."""
        return self._simulator.left >= places * self._m

    def __call__(self, thetas: np.ndarray, where: np.ndarray) -> np.ndarray:
        """Return log likelihoods [c] at rows θ [c, d]; -inf, not simulated, unless `where` [c].

        Raises
        ------
        InvalidSimulationsError
            If a simulation is not finite and the policy is to refuse it.
        DeadlineError
            If the time is over.
        """
        if not where.any():
            return np.full(len(thetas), -np.inf)
        self._asked += 1
        key = random.fold_in(self._key, self._asked)
        simulations = self._simulator(key, np.repeat(thetas[where], self._m, axis=0))
        if self._invalid == "refuse":
            simulations.accept("refuse")
        xs = np.zeros((len(thetas), self._m, len(self._x_obs)))
        valid = np.zeros((len(thetas), self._m), bool)
        xs[where] = simulations.xs.reshape(-1, *xs.shape[1:])
        valid[where] = simulations.valid.reshape(-1, self._m)
        if self._varying is None:
            rows = xs[valid]
            self._varying = (rows != rows[:1]).any(0)
        log_likelihoods = synthetic_log_likelihoods(
            xs, valid, self._x_obs, self._varying, np.asarray(self._epsilon)
        )
        return np.asarray(log_likelihoods)
