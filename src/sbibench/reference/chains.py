"""Draws of a posterior by many slice-sampling chains, in coordinates without correlation."""

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpyro.diagnostics import effective_sample_size, gelman_rubin

from sbibench.core.errors import SamplingError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info
from sbibench.core.problem import Progress, silent
from sbibench.core.task import Task
from sbibench.inference.slice import SliceSampling, slice_chains
from sbibench.reference.scaling import Scaling
from sbibench.reference.target import Target, density

CHAINS, CANDIDATES = 500, 10_000
FIRST = SliceSampling(warmup=20, thinning=1)
"""From the starting places, along the axes of the prior."""
SECOND = SliceSampling(warmup=40, thinning=5)
"""Along axes without correlation."""
R_HAT, LONGER, ATTEMPTS = 1.05, 5, 3
"""Chains go on, so many times more sweeps apart, until R-hat is below this or attempts are over."""


@functools.lru_cache(maxsize=64)
def _sheared(task: Task) -> Any:
    """Return (x, mean, factor, v) -> log f(mean + factor v): one object a task."""
    parts = density(task)

    def log_density(
        x: Float[Array, " p"],
        mean: Float[Array, " d"],
        factor: Float[Array, "d d"],
        v: Float[Array, " d"],
    ) -> Array:
        log_prior, log_likelihood = parts(x, mean + factor @ v)
        somewhere = jnp.isfinite(log_prior) & jnp.isfinite(log_likelihood)
        return jnp.where(somewhere, log_prior + log_likelihood, -jnp.inf)

    return log_density


def starts(key: PRNGKeyArray, target: Target, n: int) -> np.ndarray:
    """Resample n places u [n, d] from draws of the prior, weighted by the likelihood."""
    prior_key, rng_key = jax.random.split(key)
    candidates = target.prior_draws(prior_key, CANDIDATES)
    _, log_like = target.parts(candidates)
    if not np.isfinite(log_like).any():
        raise SamplingError(
            f"the likelihood is 0, or no number, at all {CANDIDATES} draws of the prior"
        )
    weights = np.exp(log_like - log_like.max())
    return candidates[numpy_rng(rng_key).choice(CANDIDATES, n, p=weights / weights.sum())]


def slices(
    key: PRNGKeyArray, target: Target, n: int, progress: Progress = silent
) -> tuple[np.ndarray, Info]:
    """Draw about n samples θ [m, d], m ≤ n, and say how well the chains have mixed."""
    start_key, width_key, first_key, second_key = jax.random.split(key, 4)
    log_density = _sheared(target.task)
    us = starts(start_key, target, CHAINS)
    d = us.shape[1]
    prior = target.prior_draws(width_key, CHAINS)
    first, _ = slice_chains(
        first_key,
        log_density,
        us,
        1,
        FIRST,
        fixed=(target.x, np.zeros(d), np.eye(d)),
        width=4 * prior.std(0),
        progress=progress,
    )
    us = first[:, 0]
    scaling = Scaling.fit(us)
    places, settings = scaling.forward(us), SECOND
    for attempt in range(ATTEMPTS):
        drawn, info = slice_chains(
            jax.random.fold_in(second_key, attempt),
            log_density,
            places,
            max(1, n // CHAINS),
            settings,
            fixed=(target.x, *scaling),
            progress=progress,
        )
        info |= mixing(drawn) | {"thinning": settings.thinning}
        if float(info["r_hat"]) < R_HAT:
            break
        places = drawn[:, -1]
        settings = replace(settings, thinning=LONGER * settings.thinning)
    us = (scaling.mean + drawn @ scaling.factor.T).reshape(-1, d)
    return target.thetas(us), info


def mixing(drawn: np.ndarray) -> Info:
    """Return the worst R-hat and effective sample size of chains [chains, draws, d]."""
    return {
        "r_hat": _finite(np.max(gelman_rubin(drawn)), np.finfo(float).max),
        "effective_samples": _finite(np.min(effective_sample_size(drawn)), 0.0),
    }


def _finite(value: Any, otherwise: float) -> float:
    """Return a number for the record: chains that never moved have none of their own."""
    return float(value) if np.isfinite(value) else otherwise
