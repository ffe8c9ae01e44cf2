"""Randomness is an argument: what is derived from a key."""

import jax
import numpy as np
from jaxtyping import PRNGKeyArray


def numpy_rng(key: PRNGKeyArray) -> np.random.Generator:
    """Return a NumPy generator that is determined by the key, for work that JAX does not do."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
