"""Monotonic rational-quadratic splines (Durkan et al. 2019, neural spline flows), many at once.

flowjax has this spline for one number, to be vmapped. Its cumulative sums, searches and gathers run
element by element on a CPU, and more so their gradients. This one takes all numbers at once, along
the last axes, with a matrix product and masks; a training step of a ten-dimensional flow takes
about half the time (`benchmarks/training.py` shows both).

Below, `raw` [3 K - 1, ...] holds K widths, K heights and the K - 1 slopes of the inner knots, all
unconstrained. Outside of [-bound, bound] a spline is the identity, and its slope at the ends is 1.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

SMALLEST = 1e-3
"""Least share of a bin's width and height, and least slope at a knot."""

SLOPE_1 = math.log(math.expm1(1 - SMALLEST))
"""What stands in `raw` for a slope of 1; with zeros for sizes the spline is then the identity."""


class _Bin:
    """The bin that holds v: corner, size, and the slopes at its two knots, each like v.

    Parameters
    ----------
    raw
        [3 K - 1, ...]
    v
        Where to look, [...], inside [-bound, bound].
    by_value
        Whether v is a value of the spline; if not, it is an argument.
    """

    def __init__(self, raw: Array, v: Array, bound: float, *, by_value: bool) -> None:
        bins = (raw.shape[0] + 1) // 3
        upper = np.tril(np.ones((bins, bins), np.float32))

        def edges(u: Array) -> tuple[Array, Array]:
            e = jnp.exp(u - jax.lax.stop_gradient(u.max(0, keepdims=True)))
            free = 2 * bound * (1 - bins * SMALLEST)
            sizes = e * (free / e.sum(0, keepdims=True)) + 2 * bound * SMALLEST
            return sizes, jnp.tensordot(upper, sizes, 1) - bound

        widths, rights = edges(raw[:bins])
        heights, tops = edges(raw[bins : 2 * bins])
        passed = (v[None] >= (tops if by_value else rights)[:-1]).astype(v.dtype)
        one = jnp.ones_like(v)[None]
        mask = jnp.concatenate([one, passed]) - jnp.concatenate([passed, 0 * one])
        slope_1 = SLOPE_1 * one
        slopes = jnp.concatenate([slope_1, raw[2 * bins :], slope_1])

        def pick(values: Array) -> Array:
            return jnp.sum(mask * values, 0)

        self.width, self.height = pick(widths), pick(heights)
        self.left, self.bottom = pick(rights) - self.width, pick(tops) - self.height
        self.slope_left = jax.nn.softplus(pick(slopes[:-1])) + SMALLEST
        self.slope_right = jax.nn.softplus(pick(slopes[1:])) + SMALLEST
        self.slope = self.height / self.width

    def value_and_log_slope(self, xi: Array) -> tuple[Array, Array]:
        """Return value and log slope at the share ξ of the bin's width (eqs. 4 and 5)."""
        s, d0, d1 = self.slope, self.slope_left, self.slope_right
        bend = xi * (1 - xi)
        denominator = s + (d1 + d0 - 2 * s) * bend
        value = self.bottom + self.height * (s * xi**2 + d0 * bend) / denominator
        numerator = d1 * xi**2 + 2 * s * bend + d0 * (1 - xi) ** 2
        return value, 2 * jnp.log(s / denominator) + jnp.log(numerator)

    def share(self, y: Array) -> Array:
        """Return the share ξ of the width where the value is y (eqs. 6 to 8)."""
        s, d0, d1 = self.slope, self.slope_left, self.slope_right
        rise = y - self.bottom
        bend = rise * (d1 + d0 - 2 * s)
        a, b, c = self.height * (s - d0) + bend, self.height * d0 - bend, -s * rise
        root = jnp.sqrt(jnp.maximum(b**2 - 4 * a * c, 0.0))
        return jnp.clip(2 * c / (-b - root), 0.0, 1.0)


def spline(
    raw: Float[Array, "r *k"], x: Float[Array, "*k"], bound: float
) -> tuple[Float[Array, "*k"], Float[Array, "*k"]]:
    """Return the values of splines at x [...] and the logs of their slopes [...]."""
    inside = jnp.abs(x) < bound
    x_in = jnp.where(inside, x, 0.0)
    at = _Bin(raw, x_in, bound, by_value=False)
    y, log_slope = at.value_and_log_slope((x_in - at.left) / at.width)
    return jnp.where(inside, y, x), jnp.where(inside, log_slope, 0.0)


def inverse_spline(
    raw: Float[Array, "r *k"], y: Float[Array, "*k"], bound: float
) -> tuple[Float[Array, "*k"], Float[Array, "*k"]]:
    """Return where splines have the values y [...], and the logs of dx/dy [...]."""
    inside = jnp.abs(y) < bound
    y_in = jnp.where(inside, y, 0.0)
    at = _Bin(raw, y_in, bound, by_value=True)
    xi = at.share(y_in)
    _, log_slope = at.value_and_log_slope(xi)
    return jnp.where(inside, at.left + xi * at.width, y), jnp.where(inside, -log_slope, 0.0)
