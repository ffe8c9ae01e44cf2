"""Slice sampling along the axes, many chains at once (Neal 2003, with stepping out, sections 4-5).

All chains share one loop in which each evaluates the density once per turn, wherever it stands:
stepping out to the left, to the right, or shrinking. None waits for another until all have made
their sweeps, and the density is compiled once.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.posterior import Info
from sbibench.core.problem import Progress, silent

LogDensity = Callable[..., Any]
"""(*fixed, u [d]) -> log f(u), pure JAX, up to a constant; -inf where there is no mass."""


@dataclass(frozen=True)
class SliceSampling:
    """Settings of the sampler.

    Attributes
    ----------
    warmup
        Sweeps over all axes before the first draw. After half of them the initial intervals become
        four times the spread of the chains, so that chains in different modes can change places.
    thinning
        Sweeps from one draw to the next.
    max_out
        Widths that an interval has at most.
    max_in
        Shrinkings of an interval after which a chain stays where it is.
    """

    warmup: int = 250
    thinning: int = 10
    max_out: int = 20
    max_in: int = 100

    def __post_init__(self) -> None:
        if self.warmup < 0 or min(self.thinning, self.max_out, self.max_in) < 1:
            raise UsageError("warmup is 0 or more; thinning, max_out and max_in are 1 or more")


class _Chains(NamedTuple):
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


def slice_chains(
    key: PRNGKeyArray,
    log_density: LogDensity,
    start: np.ndarray,
    draws: int,
    settings: SliceSampling,
    *,
    fixed: tuple[Any, ...] = (),
    width: np.ndarray | None = None,
    progress: Progress = silent,
) -> tuple[np.ndarray, Info]:
    """Draw from a density with many chains.

    Parameters
    ----------
    log_density
        (*fixed, u [d]) -> log density, compiled once per function object and shapes.
    start
        The first place of each chain, [chains, d], where the density is not 0.
    draws
        Draws of each chain.
    fixed
        Further arguments of the density (pytrees of arrays), such as an observation.
    width
        First lengths of the intervals [d]; four times the spread of the starting places by default.

    Returns
    -------
    draws, info
        [chains, draws, d], float64, and how often a cap was hit, the number of evaluations.

    Raises
    ------
    SamplingError
        If a chain starts where the density is 0 or not a number.
    """
    begin, advance = _programs(log_density)
    caps = np.array([settings.max_out, settings.max_in])
    start = np.asarray(start, np.float64)
    widths = _spread(start) if width is None else np.asarray(width, np.float64)
    chains = begin(fixed, key, start, widths, caps)
    nowhere = int((~np.isfinite(chains.log_f)).sum())
    if nowhere:
        raise SamplingError(f"{nowhere} of {len(start)} chains start where the density is 0")
    sweeps = 0
    kept = np.empty((len(start), draws, start.shape[1]))
    stops = [settings.warmup // 2, settings.warmup]
    stops += [settings.warmup + (i + 1) * settings.thinning for i in range(draws)]
    for i, sweeps in enumerate(stops):
        chains = advance(fixed, key, chains, widths, caps, sweeps)
        if i == 0 and sweeps:
            widths = _spread(np.asarray(chains.u))
        if i >= 2:
            kept[:, i - 2] = chains.u
        progress("slice sampling", sweeps, stops[-1])
    return kept, {
        "chains": len(start),
        "capped": int(chains.capped.sum()),
        "evaluations": int(chains.turn) * len(start),
    }


def _spread(us: np.ndarray) -> np.ndarray:
    spread = 4 * us.std(0)
    return np.asarray(np.where(spread > 0, spread, 1.0))


@functools.lru_cache(maxsize=64)
def _programs(log_density: LogDensity) -> tuple[Any, Any]:
    """Return the beginning of all chains, and their way until all have made so many sweeps."""

    def fresh(
        random: Array, u: Array, log_f: Array, axis: Array, widths: Array, max_out: Array
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Return level, interval and steps allowed of new updates."""
        level, offset, share = random
        at = jnp.take_along_axis(u, axis[:, None], 1)[:, 0]
        low = at - offset * widths[axis]
        left = jnp.floor(share * max_out).astype(jnp.int32)
        right = max_out.astype(jnp.int32) - 1 - left
        return log_f + jnp.log1p(-level), low, low + widths[axis], left, right

    def begin(fixed: Any, key: PRNGKeyArray, u: Array, widths: Array, caps: Array) -> _Chains:
        c = len(u)
        log_f = jax.vmap(lambda row: log_density(*fixed, row))(u)
        random = jax.random.uniform(jax.random.fold_in(key, 0), (3, c))
        zero = jnp.zeros(c, jnp.int32)
        level, low, high, left, right = fresh(random, u, log_f, zero, widths, caps[0])
        return _Chains(u, log_f, level, low, high, left, right, zero, zero, zero, jnp.int32(0))

    def turn(
        fixed: Any, key: PRNGKeyArray, s: _Chains, widths: Array, caps: Array, sweeps: Array
    ) -> _Chains:
        c, d = s.u.shape
        random = jax.random.uniform(jax.random.fold_in(key, 1 + s.turn), (4, c))
        axis = s.updates % d
        to_left, to_right = s.left > 0, (s.left <= 0) & (s.right > 0)
        inside = s.low + (s.high - s.low) * random[3]
        v = jnp.where(to_left, s.low, jnp.where(to_right, s.high, inside))
        moved = s.u.at[jnp.arange(c), axis].set(v)
        log_v = jax.vmap(lambda row: log_density(*fixed, row))(moved)
        above = log_v > s.level  # False for NaN
        active = s.updates < sweeps * d

        # Stepping out: on while the end is in the slice, else this side is done.
        reach = widths[axis]
        low = jnp.where(to_left & above, s.low - reach, s.low)
        high = jnp.where(to_right & above, s.high + reach, s.high)
        left = jnp.where(to_left, jnp.where(above, s.left - 1, 0), s.left)
        right = jnp.where(to_right, jnp.where(above, s.right - 1, 0), s.right)
        out_of_steps = (to_left & above & (left == 0)) | (to_right & above & (right == 0))

        # Shrinking: the point is taken, or becomes an end of the interval.
        shrinking = ~to_left & ~to_right
        at = jnp.take_along_axis(s.u, axis[:, None], 1)[:, 0]
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
            fresh(random[:3], u, log_f, updates % d, widths, caps[0]),
            (s.level, low, high, left, right),
        )
        tries = jnp.where(done, 0, tries)
        after = (u, log_f, level, low, high, left, right, tries, updates, capped)
        return _Chains._make(
            [
                *(
                    jnp.where(active.reshape((c,) + (1,) * (new.ndim - 1)), new, old)
                    for new, old in zip(after, s[:-1], strict=True)
                ),
                s.turn + 1,
            ]
        )

    def advance(
        fixed: Any, key: PRNGKeyArray, s: _Chains, widths: Array, caps: Array, sweeps: Array
    ) -> _Chains:
        d = s.u.shape[1]
        out: _Chains = jax.lax.while_loop(
            lambda s: jnp.any(s.updates < sweeps * d),
            lambda s: turn(fixed, key, s, widths, caps, sweeps),
            s,
        )
        return out

    return jax.jit(begin), jax.jit(advance)
