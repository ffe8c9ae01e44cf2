"""NumPy's generator from a JAX key: exact samplers in NumPy need no compiler."""

import jax
import numpy as np
from jaxtyping import PRNGKeyArray


def generator(key: PRNGKeyArray) -> np.random.Generator:
    """Return a generator that the key alone determines."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
