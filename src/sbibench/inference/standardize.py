"""Affine scaling to zero mean and unit deviation, which networks need."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sbibench.core.posterior import Info


class Standardizer(NamedTuple):
    """z = (v - mean) / scale per coordinate; a pytree of two float32 vectors [k]."""

    mean: Any
    scale: Any

    @classmethod
    def fit(cls, rows: np.ndarray) -> "Standardizer":
        """Return the scaling for rows [n, k]; a constant column is centred and not divided."""
        rows = rows.astype(np.float64)
        scale = rows.std(0)
        constant = scale <= 1e-12 * np.abs(rows).max(0, initial=0.0)
        return cls(
            rows.mean(0).astype(np.float32), np.where(constant, 1.0, scale).astype(np.float32)
        )

    def forward(self, v: Any) -> Any:
        """Return z [..., k] of v [..., k]."""
        return (v - self.mean) / self.scale

    def inverse(self, z: Any) -> Any:
        """Return v [..., k] of z [..., k]."""
        return z * self.scale + self.mean

    def columns(self, rows: Any) -> Any:
        """Return z [k, n] of rows v [n, k]: standardized, and samples along the last axis."""
        return (rows.T - self.mean[:, None]) / self.scale[:, None]

    def log_det(self) -> Float[Array, ""]:
        """Return log |det dz/dv|."""
        return -jnp.sum(jnp.log(self.scale))


def constant_columns(rows: np.ndarray) -> np.ndarray:
    """Return which columns of rows [n, k] hold one value only, bool [k]."""
    return np.asarray((rows == rows[:1]).all(0))


def note_constant(info: Info, rows: np.ndarray) -> None:
    """Name the constant columns of rows [n, k], if there are any, in `info`."""
    constant = constant_columns(rows)
    if constant.any():
        info["constant_columns"] = ",".join(map(str, np.flatnonzero(constant)))
