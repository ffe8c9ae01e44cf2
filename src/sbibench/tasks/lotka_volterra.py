"""Lotka-Volterra: infer the rates of a predator-prey model from ten noisy looks at both species.

dX = αX - βXY, dY = -γY + δXY, X(0) = 30, Y(0) = 1; at t = 0, 2.1, ..., 18.9 each species is seen
times a LogNormal(0, 0.1) factor. Source: Lueckmann et al. 2021, task T.10; Lotka 1920.

Hard: data span decades, a small change of the rates shifts all oscillations, and the posterior is
far narrower than the prior.
"""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import observations
from sbibench.core.ode import InitialValueProblem
from sbibench.core.task import Task

TIMES = tuple(2.1 * j for j in range(10))
NOISE = 0.1
LOWEST, HIGHEST = np.log(1e-10), np.log(1e4)


def growth(log_xy: Float[Array, " 2"], theta: Float[Array, " d"]) -> Float[Array, " 2"]:
    """Return the rates of change of (log X, log Y), which keeps both positive."""
    alpha, beta, gamma, delta = theta
    x, y = jnp.exp(log_xy)
    return jnp.stack([alpha - beta * y, -gamma + delta * x])


DYNAMICS = InitialValueProblem(growth, start=(float(np.log(30)), 0.0), times=TIMES, steps=96)


def log_means(theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Return log X then log Y at the ten times [20], clipped to [log 1e-10, log 1e4]."""
    # jnp.clip keeps NaN, so that what has no solution stays invalid.
    return jnp.clip(DYNAMICS.solve(theta).T.ravel(), LOWEST, HIGHEST)


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [20] given θ = (α, β, γ, δ): ten counts of prey, then ten of predators."""
    return jnp.exp(log_means(theta) + NOISE * random.normal(key, (20,)))


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return the log density of x [20] given θ [4]; -inf unless x > 0 and θ has a solution."""
    means = log_means(theta)
    possible = jnp.all(x > 0) & jnp.all(jnp.isfinite(means))
    log_x = jnp.log(jnp.where(x > 0, x, 1.0))
    z = (log_x - jnp.where(possible, means, 0.0)) / NOISE
    density = -0.5 * jnp.sum(z**2) - jnp.sum(log_x) - 20 * np.log(NOISE * np.sqrt(2 * np.pi))
    return jnp.where(possible, density, -jnp.inf)


OBSERVATIONS, THETAS_TRUE = observations.load("lotka_volterra")

TASK = Task(
    name="lotka_volterra",
    label="Lotka-Volterra",
    citation="Lueckmann et al. 2021",
    prior=dist.LogNormal(np.array([-0.125, -3.0, -0.125, -3.0]), np.full(4, 0.5)).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    parameter_names=("alpha", "beta", "gamma", "delta"),
    data_names=tuple(f"{species}_{j}" for species in "XY" for j in range(10)),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
