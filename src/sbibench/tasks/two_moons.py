"""Two moons: a crescent of noise, folded so that the posterior has two.

x = c + (-|θ1 + θ2|, -θ1 + θ2)/√2 with c = (r cos a + 0.25, r sin a), a ~ U(-π/2, π/2),
r ~ N(0.1, 0.01²); θ ~ U(-1, 1)². Source: Lueckmann et al. 2021, task T.8; Greenberg et al. 2019.

Hard: two modes, and each a thin crescent.
"""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import observations
from sbibench.core.task import Task
from sbibench.reference.rejection import Draws, rejection

RADIUS, WIDTH = 0.1, 0.01
CENTRE = np.array([0.25, 0.0])


def shift(theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Return how far θ [2] moves the crescent [2]."""
    moved = jnp.stack([-jnp.abs(theta[0] + theta[1]), theta[1] - theta[0]])
    return moved / jnp.sqrt(2.0)


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [2] given θ [2]."""
    key_angle, key_radius = random.split(key)
    a = random.uniform(key_angle, minval=-jnp.pi / 2, maxval=jnp.pi / 2)
    r = RADIUS + WIDTH * random.normal(key_radius)
    c = jnp.array(CENTRE) + r * jnp.stack([jnp.cos(a), jnp.sin(a)])
    return c + shift(theta)


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return the log density of x [2] given θ [2]; -inf on the crescent's hollow side.

    (a, r) has the density N(r; 0.1, 0.01²)/π; the plane has r da dr to its area: N(r; ...)/(π r).
    """
    offset = x - shift(theta) - CENTRE
    possible = offset[0] > 0
    r = jnp.sqrt(jnp.sum(jnp.where(possible, offset, CENTRE) ** 2))
    normal = -0.5 * ((r - RADIUS) / WIDTH) ** 2 - jnp.log(WIDTH * jnp.sqrt(2 * jnp.pi))
    return jnp.where(possible, normal - jnp.log(jnp.pi * r), -jnp.inf)


def reference(key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
    """Draw n samples [n, 2] of the posterior: draw c, read off θ with either sign, keep the box.

    With q = c - x: |θ1 + θ2| = √2 q1, θ1 - θ2 = √2 q2. The map is linear, so no weights arise.
    """

    def propose(rng: np.random.Generator, m: int) -> Draws:
        a = rng.uniform(-np.pi / 2, np.pi / 2, m)
        r = RADIUS + WIDTH * rng.standard_normal(m)
        q = CENTRE[:, None] + r * np.stack([np.cos(a), np.sin(a)]) - x[:, None]
        total = rng.choice([-1.0, 1.0], m) * q[0]
        thetas = np.stack([total + q[1], total - q[1]], axis=1) / np.sqrt(2)
        return thetas, (q[0] >= 0) & (np.abs(thetas) <= 1).all(1)

    return rejection(key, propose, n)


OBSERVATIONS, THETAS_TRUE = observations.load("two_moons")

TASK = Task(
    name="two_moons",
    label="Two Moons",
    citation="Greenberg et al. 2019; Lueckmann et al. 2021",
    prior=dist.Uniform(np.full(2, -1.0), np.full(2, 1.0)).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    reference=reference,
    parameter_names=("theta_1", "theta_2"),
    data_names=("x_1", "x_2"),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
