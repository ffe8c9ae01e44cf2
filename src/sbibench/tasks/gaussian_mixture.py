"""Gaussian mixture: infer the common mean of a wide and a narrow Gaussian.

x ~ ½ N(θ, I) + ½ N(θ, 0.01 I), θ ~ U(-10, 10)²; each θ of a batch draws its own component. Source:
Lueckmann et al. 2021, task T.7; Sisson et al. 2007.

Hard: a narrow peak on a wide base, of the same weight.
"""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import observations
from sbibench.core.keys import numpy_rng
from sbibench.core.task import Task
from sbibench.reference.gaussian import log_mass, truncated_gaussian

SCALES = np.array([1.0, 0.1])
BOX = np.full(2, -10.0), np.full(2, 10.0)


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [2] given θ [2]."""
    key_scale, key_noise = random.split(key)
    return theta + random.choice(key_scale, SCALES) * random.normal(key_noise, (2,))


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return the log density of x [2] given θ [2]."""
    square = jnp.sum((x - theta) ** 2)
    wide, narrow = -0.5 * square / SCALES**2 - 2 * jnp.log(SCALES) - jnp.log(4 * jnp.pi)
    return jnp.logaddexp(wide, narrow)


def reference(key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
    """Draw n samples [n, 2] of the posterior: ½ N(x, I) + ½ N(x, 0.01 I), cut to the box.

    The box may cut more off one component than off the other, which changes their weights.
    """
    key_choice, key_wide, key_narrow = random.split(key, 3)
    scales = np.repeat(SCALES[:, None], 2, axis=1)
    wide, narrow = (log_mass(x, scale, BOX) for scale in scales)
    is_wide = numpy_rng(key_choice).uniform(size=(n, 1)) < 1 / (1 + np.exp(narrow - wide))
    return np.where(
        is_wide,
        truncated_gaussian(key_wide, x, scales[0], BOX, n),
        truncated_gaussian(key_narrow, x, scales[1], BOX, n),
    )


OBSERVATIONS, THETAS_TRUE = observations.load("gaussian_mixture")

TASK = Task(
    name="gaussian_mixture",
    label="Gaussian Mixture",
    citation="Sisson et al. 2007; Lueckmann et al. 2021",
    prior=dist.Uniform(*BOX).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    reference=reference,
    parameter_names=("theta_1", "theta_2"),
    data_names=("x_1", "x_2"),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
