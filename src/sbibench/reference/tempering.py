"""Draws from an unnormalised posterior by resampling prior draws, step by step.

Sampling-importance-resampling (Rubin 1988) needs hopelessly many prior draws where the data say
much. Here the likelihood is raised to a power that grows from 0 to 1, each time by as much as
leaves half of the draws effective, and the draws are moved apart after each resampling: sequential
Monte Carlo (Del Moral et al. 2006; the powers as in Jasra et al. 2011). The moves are those of
differential evolution (ter Braak 2006): along the difference of two other draws, which needs no
tuning, follows narrow ridges and jumps between modes.
"""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import SamplingError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info
from sbibench.core.problem import Progress, silent
from sbibench.reference.target import Target

State = tuple[np.ndarray, np.ndarray, np.ndarray]
"""u [m, d], log prior density [m] and log likelihood [m] of all particles."""


@dataclass(frozen=True)
class Tempering:
    """Settings of the resampling.

    Attributes
    ----------
    particles
        How many draws are kept at a time; half of them move at a time, best in whole blocks of
        1000 (`core/blocks.py`).
    effective
        The share of them that each step leaves effective.
    accepted
        Moves that a draw makes on average before the next step.
    max_moves
        Moves that are tried at most to reach this.
    """

    particles: int = 2000
    effective: float = 0.5
    accepted: float = 2.0
    max_moves: int = 50


def tempered(
    key: PRNGKeyArray, target: Target, settings: Tempering, n: int, progress: Progress = silent
) -> tuple[np.ndarray, Info]:
    """Draw n dependent samples u [n, d] of the target, and say how.

    Raises
    ------
    SamplingError
        If the likelihood vanishes at all draws of the prior.
    """
    prior_key, rng_key = jax.random.split(key)
    rng = numpy_rng(rng_key)
    m = settings.particles
    us = target.prior_draws(prior_key, m)
    log_prior, log_like = target.parts(us)
    if not np.isfinite(log_like).any():
        raise SamplingError(f"the likelihood is 0, or no number, at all {m} draws of the prior")
    state: State = us, log_prior, log_like
    power, steps, evaluations = 0.0, 0, m
    while power < 1:
        raised = _next_power(state[2], power, settings.effective)
        if raised <= power:
            raise SamplingError("the likelihood is too steep: no step of tempering is small enough")
        weights = _weights(state[2], raised - power)
        power, steps = raised, steps + 1
        progress("tempering (% of the likelihood)", round(100 * power), 100)
        at = _systematic(rng, weights)
        us, log_prior, log_like = state
        resampled = us[at], log_prior[at], log_like[at]
        state, tried = _move(rng, target, resampled, power, settings)
        evaluations += m // 2 * tried
    parts = [state[0]]
    while len(parts) * m < n:
        state, tried = _move(rng, target, state, power, settings)
        parts.append(state[0])
        evaluations += m // 2 * tried
    return np.concatenate(parts)[:n], {"steps": steps, "evaluations": evaluations}


def _weights(log_like: np.ndarray, by: float) -> np.ndarray:
    w = np.exp(by * (log_like - log_like.max()))
    return np.asarray(w / w.sum())


def _next_power(log_like: np.ndarray, power: float, effective: float) -> float:
    """Return the power, 1 at most, that leaves this share of the draws effective."""
    alive = np.isfinite(log_like).sum()

    def enough(raised: float) -> bool:
        share = 1 / np.sum(_weights(log_like, raised - power) ** 2) / alive
        return bool(share >= effective)

    if enough(1.0):
        return 1.0
    low, high = (1 - power) * 1e-12, 1 - power
    for _ in range(60):  # bisection of the step's logarithm
        middle = np.sqrt(low * high)
        low, high = (middle, high) if enough(power + middle) else (low, middle)
    return float(power + low)


def _systematic(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """Return the numbers of the rows, each as often as its weight says, give or take one."""
    n = len(weights)
    places = (np.arange(n) + rng.uniform()) / n
    return np.minimum(np.searchsorted(np.cumsum(weights), places), n - 1)


def _move(
    rng: np.random.Generator,
    target: Target,
    state: State,
    power: float,
    settings: Tempering,
) -> tuple[State, int]:
    """Move all draws until each has moved often enough on average; return them and the tries."""
    us, log_prior, log_like = (a.copy() for a in state)
    m, d = us.shape
    jitter = 1e-3 * us.std(0)
    moved, tried = 0.0, 0
    while moved < settings.accepted and tried < settings.max_moves:
        tried += 1
        # One half moves along differences within the other half, which stays where it is.
        order = rng.permutation(m)
        ours, others = order[: m // 2], order[m // 2 :]
        a, b = us[rng.choice(others, (2, len(ours)))]
        shrunk = rng.uniform(0.2, 1.2, (len(ours), 1)) * 2.38 / np.sqrt(2 * d)
        whole = rng.uniform(size=(len(ours), 1)) < 0.1  # from mode to mode
        proposal = us[ours] + np.where(whole, 1.0, shrunk) * (a - b)
        proposal += jitter * rng.standard_normal(proposal.shape)
        prior, like = target.parts(proposal)
        gain = prior + power * like - log_prior[ours] - power * log_like[ours]
        accept = np.log(rng.uniform(size=len(ours))) < gain
        at = ours[accept]
        us[at], log_prior[at], log_like[at] = proposal[accept], prior[accept], like[accept]
        moved += len(at) / m
    return (us, log_prior, log_like), tried
