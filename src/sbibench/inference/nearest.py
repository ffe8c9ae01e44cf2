"""The simulations nearest to the observation."""

import numpy as np


def l2(xs: np.ndarray, x_obs: np.ndarray) -> np.ndarray:
    """Return the l2 distances [n] of the rows of x [n, p] from x_obs [p]."""
    distances: np.ndarray = np.linalg.norm(xs.astype(np.float64) - x_obs.astype(np.float64), axis=1)
    return distances


def nearest(xs: np.ndarray, x_obs: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and l2 distances of the `count` rows of x [n, p] nearest to x_obs [p].

    Nearest first; rows at the same distance keep their order.
    """
    distances = l2(xs, x_obs)
    index = np.argsort(distances, kind="stable")[:count]
    return index, distances[index]
