"""The observations of a task by number: those that it has, and beyond them as many as one likes."""

from functools import lru_cache
from typing import Any

import jax
import numpy as np

from sbibench.core.errors import NoReferenceError, UsageError
from sbibench.core.priors import rows

ATTEMPTS = 1000
"""Simulations of which the first finite one becomes an observation."""


def pair(task: Any, observation: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Return θ [d], if it is known, and x [p] of an observation."""
    if isinstance(observation, bool) or not isinstance(observation, int | np.integer):
        raise UsageError(f"an observation is a whole number, not {observation!r}")
    if not 1 <= observation < 2**31:
        raise UsageError(f"observations are numbered from 1, up to 2147483647: {observation}")
    if observation <= len(task.observations):
        theta = task.thetas_true[observation - 1] if len(task.thetas_true) else None
        return theta, task.observations[observation - 1]
    return _simulated(task, int(observation))


@lru_cache(maxsize=128)
def _simulated(task: Any, observation: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first finite simulation from the prior, with the number as seed."""
    prior_key, key = jax.random.split(jax.random.key(observation))
    thetas = rows(task.prior).sample(prior_key, ATTEMPTS).astype(np.float64)
    xs = task.forward(key, thetas).astype(np.float32).astype(np.float64)
    valid = np.flatnonzero(np.isfinite(xs).all(1))
    if not len(valid):
        raise NoReferenceError(
            f"{task.name}, observation {observation}: none of {ATTEMPTS} simulations is finite"
        )
    return thetas[valid[0]], xs[valid[0]]
