"""Simulators whose rows are apart: each row is a call of its own, with a seed of its own."""

from typing import Any

import numpy as np

from sbibench.core.errors import UsageError
from sbibench.core.outputs import numbers

SEEDS = 2**63
"""Seeds are whole numbers below this."""


def seeds(rng: np.random.Generator, n: int) -> list[int]:
    """Return a seed for each of n rows; the first do not depend on n."""
    return [int(seed) for seed in rng.integers(SEEDS, size=n)]


def vector(value: Any, what: str) -> np.ndarray:
    """Return what one call gave as x [p], float64; a single number is [1].

    Raises
    ------
    UsageError
        If it is no vector of numbers.
    """
    x = numbers(value, what)
    if x.ndim > 1:
        raise UsageError(f"{what} has shape {x.shape}, not (p,); return np.ravel(x)")
    return x.reshape(-1)


class Rows:
    """What has a method `one`; a whole batch is one call after the other."""

    rows_apart = True

    def one(self, seed: int, theta: np.ndarray) -> np.ndarray:
        """Return x [p], float64, of one θ [d]; it depends on the seed and θ alone."""
        raise NotImplementedError

    def __call__(self, rng: np.random.Generator, thetas: np.ndarray) -> np.ndarray:
        """Return x [n, p] of θ [n, d].

        Raises
        ------
        UsageError
            If rows differ in length.
        """
        rows = [
            self.one(s, theta) for s, theta in zip(seeds(rng, len(thetas)), thetas, strict=True)
        ]
        lengths = {len(row) for row in rows}
        if len(lengths) > 1:
            raise UsageError(
                f"the simulator returned {' and '.join(map(str, sorted(lengths)))} numbers; return "
                "as many for every θ, NaN where there is none"
            )
        return np.stack(rows)
