"""A function of one θ in NumPy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sbibench.simulators.rows import Rows, vector


@dataclass(frozen=True)
class Rowwise(Rows):
    """See `rowwise`."""

    function: Callable[[np.random.Generator, np.ndarray], Any]

    def one(self, seed: int, theta: np.ndarray) -> np.ndarray:
        """Return x [p] of θ [d]."""
        value = self.function(np.random.default_rng(seed), theta.copy())
        return vector(value, "what the function of one θ returned")


def rowwise(function: Callable[[np.random.Generator, np.ndarray], Any]) -> Rowwise:
    """Return a `simulate_batch` that calls a function of one θ for each row.

    Parameters
    ----------
    function
        (rng, θ [d], float64) -> x [p]. Row i's generator depends on the key of the simulations and
        on i, not on how many rows there are.
    """
    return Rowwise(function)
