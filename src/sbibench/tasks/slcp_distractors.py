"""SLCP with distractors: the 8 values of SLCP hidden among 92 values of heavy-tailed noise.

x = concat(slcp, noise)[perm]; the noise is one draw of an equal mixture of 20 multivariate
Student-t with 2 degrees of freedom. The posterior is that of SLCP. Source:
Lueckmann et al. 2021, task T.4; Greenberg et al. 2019.

Hard: eight of a hundred values say something, and nothing tells which.
"""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import observations
from sbibench.core.models import slcp
from sbibench.core.task import Task

P = 100
NOISE = P - slcp.P
COMPONENTS = 20


def _constants() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the locations [20, 92], the scale factors [20, 92, 92] and the permutation [100]."""
    legacy = np.random.RandomState(42)  # the benchmark's own constants
    locations = [15 * legacy.normal(size=NOISE) for _ in range(COMPONENTS)]
    factors = []
    for _ in range(COMPONENTS):
        lower = np.tril(legacy.normal(size=(NOISE, NOISE)))
        factors.append(3 * (lower + np.diag(np.exp(legacy.normal(size=NOISE)))))
    return np.array(locations), np.array(factors), legacy.permutation(P)


LOCATIONS, FACTORS, PERMUTATION = _constants()
WHERE = np.argsort(PERMUTATION)[: slcp.P]
"""The places in x of the 8 values of SLCP."""


def noise(key: PRNGKeyArray) -> Float[Array, " n"]:
    """Draw the 92 distractors."""
    key_component, key_normal, key_radius = random.split(key, 3)
    component = random.randint(key_component, (), 0, COMPONENTS)
    normal = random.normal(key_normal, (NOISE,))
    chi_square = 2 * random.exponential(key_radius)  # with 2 degrees of freedom, shared by all 92
    scaled = jnp.array(FACTORS)[component] @ normal / jnp.sqrt(chi_square / 2)
    return jnp.array(LOCATIONS)[component] + scaled


def simulate(key: PRNGKeyArray, theta: Float[Array, " d"]) -> Float[Array, " p"]:
    """Draw x [100] given θ [5]."""
    key_signal, key_noise = random.split(key)
    return jnp.concatenate([slcp.simulate(key_signal, theta), noise(key_noise)])[PERMUTATION]


def log_likelihood(theta: Float[Array, " d"], x: Float[Array, " p"]) -> Float[Array, ""]:
    """Return the log density of the 8 values of SLCP in x [100] given θ [5].

    The density of the distractors does not depend on θ and is left out.
    """
    return slcp.log_likelihood(theta, x[WHERE])


OBSERVATIONS, THETAS_TRUE = observations.load("slcp_distractors")

TASK = Task(
    name="slcp_distractors",
    label="SLCP Distractors",
    citation="Greenberg et al. 2019; Lueckmann et al. 2021",
    prior=dist.Uniform(np.full(5, -3.0), np.full(5, 3.0)).to_event(1),
    simulate=simulate,
    log_likelihood=log_likelihood,
    posterior_of="slcp",
    parameter_names=tuple(f"theta_{i + 1}" for i in range(5)),
    data_names=tuple(f"x_{i + 1}" for i in range(P)),
    observations=OBSERVATIONS,
    thetas_true=THETAS_TRUE,
)
