"""Slice sampling along the axes, many chains at once (Neal 2003, with stepping out, sections 4-5).

All chains share one compiled loop of the turns in `sbibench.inference.slice_steps`: each evaluates
the density once per turn, so none waits for another until all have made their sweeps. For a density
that is not JAX see `sbibench.inference.slice_host`.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.posterior import Info
from sbibench.core.problem import Progress, silent
from sbibench.core.settings import check_types
from sbibench.inference import slice_steps
from sbibench.inference.slice_steps import Chains, spread

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
        check_types(self)
        if self.warmup < 0:
            raise UsageError(f"warmup is 0 sweeps or more, not {self.warmup}")
        if self.thinning < 1:
            raise UsageError(
                f"thinning is 1 sweep or more, not {self.thinning}: without a sweep between them "
                "two draws are the same"
            )
        if min(self.max_out, self.max_in) < 1:
            raise UsageError("max_out and max_in are 1 or more")


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
    widths = spread(start) if width is None else np.asarray(width, np.float64)
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
            widths = spread(np.asarray(chains.u), otherwise=widths)
        if i >= 2:
            kept[:, i - 2] = chains.u
        progress("slice sampling", sweeps, stops[-1])
    return kept, {
        "chains": len(start),
        "capped": int(chains.capped.sum()),
        "evaluations": int(chains.turn) * len(start),
    }


@functools.lru_cache(maxsize=64)
def _programs(log_density: LogDensity) -> tuple[Any, Any]:
    """Return the beginning of all chains, and their way until all have made so many sweeps."""

    def values(fixed: Any, us: Array) -> Array:
        log_f: Array = jax.vmap(lambda row: log_density(*fixed, row))(us)
        return log_f

    def begin(fixed: Any, key: PRNGKeyArray, u: Array, widths: Array, caps: Array) -> Chains:
        return slice_steps.begin(key, u, values(fixed, u), widths, caps)

    def advance(
        fixed: Any, key: PRNGKeyArray, s: Chains, widths: Array, caps: Array, sweeps: Array
    ) -> Chains:
        d = s.u.shape[1]

        def turn(s: Chains) -> Chains:
            random = slice_steps.noise(key, s)
            log_v = values(fixed, slice_steps.places(s, random))
            return slice_steps.move(s, random, log_v, s.updates < sweeps * d, widths, caps)

        out: Chains = jax.lax.while_loop(lambda s: jnp.any(s.updates < sweeps * d), turn, s)
        return out

    return jax.jit(begin), jax.jit(advance)
