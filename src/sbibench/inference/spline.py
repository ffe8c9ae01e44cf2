"""Coupling layers of rational-quadratic splines (Durkan et al. 2019, neural spline flows).

flowjax has a scalar spline, which is right but slow here: its cumulative sums, searches and
gathers run element by element on a CPU, and more so their gradients. This one works on all
coordinates at once with a matrix product and masks; a training step of a ten-dimensional flow takes
half the time (`benchmarks/training.py`).
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flowjax.bijections import AbstractBijection
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.inference.networks import ResidualNet

SMALLEST = 1e-3
"""Least width and height of a bin relative to the others' sum, and least slope at a knot."""


class _Bin:
    """The bin that holds each of v [k]: corner, size and the slopes at its two knots, all [k].

    Parameters
    ----------
    raw
        [k, 3 K - 1]: K widths, K heights, K - 1 slopes of the inner knots, unconstrained. At the
        outer knots the slope is 1, as outside.
    v
        Where to look, inside [-bound, bound].
    axis
        0 if v is an argument of the spline, 1 if it is a value.
    """

    def __init__(self, raw: Array, v: Array, bound: float, axis: int) -> None:
        k, bins = raw.shape[0], (raw.shape[1] + 1) // 3
        e = jnp.reshape(raw[:, : 2 * bins], (k, 2, bins))
        e = jnp.exp(e - jax.lax.stop_gradient(e.max(-1, keepdims=True)))
        free = 2 * bound * (1 - bins * SMALLEST)
        sizes = free * e / e.sum(-1, keepdims=True) + 2 * bound * SMALLEST
        ends = sizes @ np.triu(np.ones((bins, bins), np.float32)) - bound
        passed = (v[:, None] >= ends[:, axis, :-1]).astype(v.dtype)
        one = jnp.ones((k, 1), v.dtype)
        mask = jnp.concatenate([one, passed], 1) - jnp.concatenate([passed, 0 * one], 1)
        edge = jnp.full((k, 1), math.log(math.expm1(1 - SMALLEST)), raw.dtype)
        slopes = jnp.concatenate([edge, raw[:, 2 * bins :], edge], 1)

        def pick(values: Array) -> Array:
            return jnp.sum(mask * values, -1)

        self.width, self.height = pick(sizes[:, 0]), pick(sizes[:, 1])
        self.left = pick(ends[:, 0]) - self.width
        self.bottom = pick(ends[:, 1]) - self.height
        self.slope_left = jax.nn.softplus(pick(slopes[:, :-1])) + SMALLEST
        self.slope_right = jax.nn.softplus(pick(slopes[:, 1:])) + SMALLEST
        self.slope = self.height / self.width

    def value_and_log_slope(self, xi: Array) -> tuple[Array, Array]:
        """Return value and log slope at the share ξ [k] of the bin's width (eqs. 4 and 5)."""
        s, d0, d1 = self.slope, self.slope_left, self.slope_right
        bend = xi * (1 - xi)
        denominator = s + (d1 + d0 - 2 * s) * bend
        value = self.bottom + self.height * (s * xi**2 + d0 * bend) / denominator
        numerator = d1 * xi**2 + 2 * s * bend + d0 * (1 - xi) ** 2
        return value, 2 * jnp.log(s / denominator) + jnp.log(numerator)

    def share(self, y: Array) -> Array:
        """Return the share ξ [k] of the width where the value is y [k] (eqs. 6 to 8)."""
        s, d0, d1 = self.slope, self.slope_left, self.slope_right
        rise = y - self.bottom
        bend = rise * (d1 + d0 - 2 * s)
        a, b, c = self.height * (s - d0) + bend, self.height * d0 - bend, -s * rise
        root = jnp.sqrt(jnp.maximum(b**2 - 4 * a * c, 0.0))
        return jnp.clip(2 * c / (-b - root), 0.0, 1.0)


def spline(
    raw: Float[Array, "k r"], x: Float[Array, " k"], bound: float
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Return the value of k splines at x [k] and the logs of their slopes [k]."""
    inside = jnp.abs(x) < bound
    x_in = jnp.where(inside, x, 0.0)
    at = _Bin(raw, x_in, bound, 0)
    y, log_slope = at.value_and_log_slope((x_in - at.left) / at.width)
    return jnp.where(inside, y, x), jnp.where(inside, log_slope, 0.0)


def inverse_spline(
    raw: Float[Array, "k r"], y: Float[Array, " k"], bound: float
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Return x [k] where k splines have the values y [k], and the logs of dx/dy [k]."""
    inside = jnp.abs(y) < bound
    y_in = jnp.where(inside, y, 0.0)
    at = _Bin(raw, y_in, bound, 1)
    xi = at.share(y_in)
    _, log_slope = at.value_and_log_slope(xi)
    x = at.left + xi * at.width
    return jnp.where(inside, x, y), jnp.where(inside, -log_slope, 0.0)


class SplineCoupling(AbstractBijection):
    """Coordinates from d // 2 on are bent by splines that the others and x [p] determine."""

    shape: tuple[int, ...]
    cond_shape: tuple[int, ...] | None
    network: ResidualNet
    bound: float
    bins: int

    def __init__(
        self,
        key: PRNGKeyArray,
        *,
        d: int,
        p: int,
        hidden: int,
        blocks: int,
        bins: int,
        bound: float,
    ) -> None:
        self.shape, self.cond_shape = (d,), (p,)
        self.bins, self.bound = bins, bound
        self.network = ResidualNet(
            key,
            inputs=d // 2 + p,
            outputs=(d - d // 2) * (3 * bins - 1),
            hidden=hidden,
            blocks=blocks,
        )

    def _apply(self, bend: Any, v: Array, condition: Array) -> tuple[Array, Array]:
        fixed = v[: self.shape[0] // 2]
        raw = self.network(jnp.concatenate([fixed, condition]))
        bent, log_slope = bend(raw.reshape(-1, 3 * self.bins - 1), v[len(fixed) :], self.bound)
        return jnp.concatenate([fixed, bent]), log_slope.sum()

    def transform_and_log_det(self, x: Array, condition: Any = None) -> tuple[Array, Array]:
        """Return the layer's value at x [d], and log |det| of its Jacobian."""
        return self._apply(spline, x, condition)

    def inverse_and_log_det(self, y: Array, condition: Any = None) -> tuple[Array, Array]:
        """Return the x [d] whose value is y [d], and log |det| of the inverse's Jacobian."""
        return self._apply(inverse_spline, y, condition)
