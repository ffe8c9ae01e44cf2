"""SIR: infer the contact and recovery rates of an epidemic from ten samples of the infected.

dS = -βSI/N, dI = βSI/N - γI, N = 1e6, I(0) = 1; at t = 0, 17, ..., 153 days 1000 people are tested:
x ~ Binomial(1000, I/N). Source: Lueckmann et al. 2021, task T.9; Kermack & McKendrick 1927.

Hard: many parameters give counts of zero, and the posterior is far narrower than the prior.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import random
from jax.scipy.special import gammaln
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import observations
from sbibench.core.ode import InitialValueProblem
from sbibench.core.task import Task

POPULATION = 1e6
TESTED = 1000
SEARCH = 640
"""Binomial(1000, 1/2) exceeds this with probability 1e-18, less than a double below 1 resolves."""

TIMES = tuple(17.0 * j for j in range(10))


def spread(log_si: Float[Array, " 2"], theta: Float[Array, " d"]) -> Float[Array, " 2"]:
    """Return the rates of change of (log S/N, log I/N), which keeps both positive."""
    beta, gamma = theta
    s, i = jnp.exp(log_si)
    return jnp.stack([-beta * i, beta * s - gamma])


DYNAMICS = InitialValueProblem(
    spread,
    start=(float(np.log1p(-1 / POPULATION)), float(-np.log(POPULATION))),
    times=TIMES,
    steps=32,
)


def log_infected(theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Return log I/N at the ten times [10]."""
    return DYNAMICS.solve(theta)[:, 1]


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [10] given θ = (β, γ): how many of 1000 people tested are infected."""
    return binomial(random.uniform(key, (10,)), jnp.exp(log_infected(theta)))


def binomial(u: Float[Array, " p"], p: Float[Array, " p"]) -> Float[Array, " p"]:
    """Return the quantiles at u in [0, 1) of Binomial(1000, p); NaN where p is.

    Inversion by sequential search, exact to rounding. Its fixed length suits a batch: it takes
    half the time of a rejection sampler and compiles ten times faster.
    """
    rare = jnp.minimum(p, 1 - p)  # so that the search starts at no less than 0.5^1000
    odds = rare / (1 - rare)

    def ahead(
        state: tuple[Array, Array, Array], ratio: Array
    ) -> tuple[tuple[Array, Array, Array], None]:
        k, mass, left = state  # P(K = j) and u - P(K < j) at step j
        left = left - mass
        return (k + (left > 0), mass * (odds * ratio), left), None

    j = jnp.arange(SEARCH)
    start = (jnp.zeros_like(p), (1 - rare) ** TESTED, u)
    k = jax.lax.scan(ahead, start, (TESTED - j) / (j + 1.0), unroll=8)[0][0]
    return jnp.where(jnp.isnan(p), p, jnp.where(p > 0.5, TESTED - k, k))


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return log Binomial(x; 1000, I/N), summed over the ten times; -inf where x is impossible."""
    log_p = log_infected(theta)
    possible = jnp.all((x >= 0) & (x <= TESTED) & (x == jnp.floor(x))) & jnp.all(log_p < 0)
    k = jnp.where(possible, x, 0.0)
    log_p = jnp.where(possible, log_p, -1.0)
    log_not_p = jnp.log(-jnp.expm1(log_p))
    ways = gammaln(TESTED + 1.0) - gammaln(k + 1) - gammaln(TESTED - k + 1)
    density = jnp.sum(ways + k * log_p + (TESTED - k) * log_not_p)
    return jnp.where(possible, density, -jnp.inf)


OBSERVATIONS, THETAS_TRUE = observations.load("sir")

TASK = Task(
    name="sir",
    label="SIR",
    citation="Lueckmann et al. 2021",
    prior=dist.LogNormal(np.log([0.4, 0.125]), np.array([0.5, 0.2])).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    parameter_names=("beta", "gamma"),
    data_names=tuple(f"I_{int(t)}" for t in TIMES),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
