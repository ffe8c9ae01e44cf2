"""The steps of many slice-sampling chains: where each needs the density, and what follows from it.

Neal 2003, with stepping out, along the axes (sections 4 and 5). In a turn each chain asks for one
value, wherever it stands: stepping out to the left, to the right, or shrinking. So none waits for
another, and it does not matter who evaluates the density. All functions are pure JAX.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Chains(NamedTuple):
    """Where each of c chains stands, in the middle of an update along one axis."""

    u: Float[Array, "c d"]
    log_f: Float[Array, " c"]
    level: Float[Array, " c"]
    """Log height of the slice."""
    low: Float[Array, " c"]
    high: Float[Array, " c"]
    """The interval along the axis."""
    left: Int[Array, " c"]
    right: Int[Array, " c"]
    """Steps out that are still allowed."""
    tries: Int[Array, " c"]
    updates: Int[Array, " c"]
    capped: Int[Array, " c"]
    """How many updates have hit a cap."""
    turn: Int[Array, ""]


def spread(us: np.ndarray, otherwise: Any = 1.0) -> np.ndarray:
    """Return four times the deviation of chains [c, d] along each axis.

    Where all chains stand in one place that is no length: it is `otherwise` there.
    """
    deviation = us.std(0)
    apart = deviation > 1e-6 * (1e-6 + np.abs(us).max(0))  # rounding alone is less
    return np.asarray(np.where(apart, 4 * deviation, otherwise))


def begin(
    key: PRNGKeyArray,
    u: Float[Array, "c d"],
    log_f: Float[Array, " c"],
    widths: Float[Array, " d"],
    caps: Int[Array, " 2"],
) -> Chains:
    """Return chains at places u with log densities log_f, at the start of their first update."""
    c = len(u)
    random = jax.random.uniform(jax.random.fold_in(key, 0), (3, c))
    zero = jnp.zeros(c, jnp.int32)
    level, low, high, left, right = _fresh(random, u, log_f, zero, widths, caps[0])
    return Chains(u, log_f, level, low, high, left, right, zero, zero, zero, jnp.int32(0))


def noise(key: PRNGKeyArray, s: Chains) -> Float[Array, "4 c"]:
    """Return all that is random in the chains' next turn."""
    return jax.random.uniform(jax.random.fold_in(key, 1 + s.turn), (4, len(s.u)))


def places(s: Chains, random: Float[Array, "4 c"]) -> Float[Array, "c d"]:
    """Return where each chain asks for the density next."""
    c, d = s.u.shape
    inside = s.low + (s.high - s.low) * random[3]
    v = jnp.where(s.left > 0, s.low, jnp.where(s.right > 0, s.high, inside))
    return s.u.at[jnp.arange(c), s.updates % d].set(v)


def move(
    s: Chains,
    random: Float[Array, "4 c"],
    log_v: Float[Array, " c"],
    active: Bool[Array, " c"],
    widths: Float[Array, " d"],
    caps: Int[Array, " 2"],
) -> Chains:
    """Return the active chains one turn on, given the log densities log_v at their `places`."""
    c, d = s.u.shape
    axis = s.updates % d
    moved = places(s, random)
    v = _along(moved, axis)
    to_left, to_right = s.left > 0, (s.left <= 0) & (s.right > 0)
    above = log_v > s.level  # False for NaN

    # Stepping out: on while the end is in the slice, else this side is done.
    reach = widths[axis]
    low = jnp.where(to_left & above, s.low - reach, s.low)
    high = jnp.where(to_right & above, s.high + reach, s.high)
    left = jnp.where(to_left, jnp.where(above, s.left - 1, 0), s.left)
    right = jnp.where(to_right, jnp.where(above, s.right - 1, 0), s.right)
    out_of_steps = (to_left & above & (left == 0)) | (to_right & above & (right == 0))

    # Shrinking: the point is taken, or becomes an end of the interval.
    shrinking = ~to_left & ~to_right
    at = _along(s.u, axis)
    low = jnp.where(shrinking & ~above & (v < at), v, low)
    high = jnp.where(shrinking & ~above & (v >= at), v, high)
    tries = jnp.where(shrinking, s.tries + 1, s.tries)
    given_up = shrinking & ~above & (tries >= caps[1])
    taken = shrinking & above
    done = taken | given_up

    u = jnp.where(taken[:, None], moved, s.u)
    log_f = jnp.where(taken, log_v, s.log_f)
    updates = s.updates + done
    capped = s.capped + (out_of_steps | given_up)
    level, low, high, left, right = jax.tree.map(
        lambda new, old: jnp.where(done, new, old),
        _fresh(random[:3], u, log_f, updates % d, widths, caps[0]),
        (s.level, low, high, left, right),
    )
    tries = jnp.where(done, 0, tries)
    after = (u, log_f, level, low, high, left, right, tries, updates, capped)
    return Chains._make(
        [
            *(
                jnp.where(active.reshape((c,) + (1,) * (new.ndim - 1)), new, old)
                for new, old in zip(after, s[:-1], strict=True)
            ),
            s.turn + 1,
        ]
    )


def _along(u: Array, axis: Array) -> Array:
    return jnp.take_along_axis(u, axis[:, None], 1)[:, 0]


def _fresh(
    random: Array, u: Array, log_f: Array, axis: Array, widths: Array, max_out: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return level, interval and steps allowed of new updates."""
    level, offset, share = random
    low = _along(u, axis) - offset * widths[axis]
    left = jnp.floor(share * max_out).astype(jnp.int32)
    right = max_out.astype(jnp.int32) - 1 - left
    return log_f + jnp.log1p(-level), low, low + widths[axis], left, right
