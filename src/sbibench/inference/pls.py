"""Axes of partial least squares: the directions in the data along which a parameter varies most."""

from typing import NamedTuple

import numpy as np

from sbibench.inference.standardize import Standardizer


class Axes(NamedTuple):
    """k directions in standardized data; as columns, [p, k]."""

    scaling: Standardizer
    directions: np.ndarray

    def project(self, xs: np.ndarray) -> np.ndarray:
        """Return the coordinates [n, k] of rows x [n, p] along the axes, float64."""
        along: np.ndarray = self.scaling.forward(xs.astype(np.float64)) @ self.directions
        return along


def pls_axes(xs: np.ndarray, y: np.ndarray, share: float) -> Axes:
    """Return the first axes of x [n, p] for y [n] (Wold 1975; one response, NIPALS).

    As many as explain this share of the variance of y that a linear regression on x explains.
    """
    scaling = Standardizer.fit(xs)
    z: np.ndarray = scaling.forward(xs.astype(np.float64))
    # Only cross products are needed, of p by p numbers.
    gram, cross = z.T @ z, z.T @ (y - y.mean(dtype=np.float64))
    wanted = share * float(cross @ np.linalg.lstsq(gram, cross, rcond=None)[0])
    directions: list[np.ndarray] = []
    explained, left = 0.0, cross
    while explained < wanted and len(directions) < z.shape[1]:
        # The direction of most covariance with what is left, made uncorrelated with the others.
        direction = left / np.linalg.norm(left)
        for other in directions:
            direction = direction - (other @ gram @ direction) * other
        length = np.sqrt(max(direction @ gram @ direction, 0.0))
        if length <= 1e-6 * np.sqrt(np.trace(gram)):
            break
        direction = direction / length
        gain = direction @ cross
        directions.append(direction)
        explained += gain**2
        left = left - gain * (gram @ direction)
    columns = np.stack(directions, 1) if directions else np.zeros((z.shape[1], 0))
    return Axes(scaling, columns)
