"""Pairs of parameters and data with what a posterior says of each, for checks of calibration."""

import time
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.calibration import Pairs
from sbibench.core.deadline import Deadline
from sbibench.core.errors import UsageError
from sbibench.core.posterior import Algorithm
from sbibench.core.problem import Progress, silent
from sbibench.core.task import Task
from sbibench.runner.collect import Held, Said, Wanted, collect, judgeable

ROWS = 10_000
"""Draws at a time where a posterior answers for many x at once."""


def draw_pairs(
    key: PRNGKeyArray,
    posterior: Any,
    task: Task,
    pairs: int = 200,
    draws: int = 200,
    *,
    observation: int = 1,
    densities: bool = True,
    time_limit: float | None = None,
    progress: Progress = silent,
    held: Held | None = None,
) -> Pairs:
    """Draw pairs, and draws of one amortized posterior for the data of each.

    Simulations that are not finite are replaced by others, as are data at which the posterior can't
    be sampled: both depend on the data alone, so that calibration is not touched. `facts` counts
    them.

    Parameters
    ----------
    key
        Decides everything.
    posterior
        What is to be judged.
    task
        The task that it was fitted for.
    pairs, draws
        How many pairs, and draws of the posterior of each.
    observation
        The observation of the task at which `lc2st` looks.
    densities
        Whether to ask for log densities, if the posterior has any.
    time_limit
        Seconds after which the pairs that are there are returned, if there are two.
    progress
        Called as (stage, done, total).
    held
        Pairs that are there already, in place of fresh ones: parameters of the prior [N, d] and
        finite data of each [N, p], float32; N replaces `pairs`. Those at which the posterior can't
        be sampled are left out, and may be half of them.

    Raises
    ------
    UsageError
        If the posterior is not amortized, or not one of this task.
    InvalidSimulationsError, SamplingError
        If too few data are finite, or the posterior of too many can't be sampled.
    DeadlineError
        If there are fewer than two pairs when the time is over.
    """
    if not posterior.amortized:
        raise UsageError(
            "this posterior is for one observation only, and checks of calibration ask for many; "
            "fit its algorithm anew for each (refit)"
        )
    want = Wanted(pairs if held is None else len(held[0]), draws, observation, densities)
    together = hasattr(posterior, "sample_each")

    def answer(key: PRNGKeyArray, xs: np.ndarray, thetas: np.ndarray | None, draws: int) -> Said:
        if not together:
            return _said(posterior, task, key, xs[0], thetas, draws, dense=want.densities)
        drawn = judgeable(posterior.sample_each(key, draws, xs), len(xs), draws, task)
        if thetas is None or not want.densities:
            return drawn, None
        return drawn, posterior.log_prob_each(np.concatenate([thetas[:, None], drawn], 1), xs)

    size = max(1, ROWS // want.draws) if together else 1
    return collect(key, task, want, answer, size, Deadline.after(time_limit), progress, held)


def refit_pairs(
    key: PRNGKeyArray,
    algorithm: Algorithm,
    task: Task,
    budget: int,
    pairs: int = 200,
    draws: int = 200,
    *,
    observation: int = 1,
    densities: bool = True,
    time_limit: float | None = None,
    progress: Progress = silent,
    held: Held | None = None,
) -> Pairs:
    """Draw pairs, and fit an algorithm anew to the data of each, with so many simulations.

    All else is as for `draw_pairs`. Data whose fit finds too few finite simulations are replaced,
    too.
    """
    want = Wanted(pairs if held is None else len(held[0]), draws, observation, densities)
    deadline = Deadline.after(time_limit)

    def answer(key: PRNGKeyArray, xs: np.ndarray, thetas: np.ndarray | None, draws: int) -> Said:
        fit_key, sample_key = jax.random.split(key)
        left = None if time_limit is None else max(deadline.at - time.monotonic(), 1e-3)
        posterior = algorithm.fit(fit_key, task.problem_at(xs[0], budget, left))
        return _said(posterior, task, sample_key, None, thetas, draws, dense=want.densities)

    return collect(key, task, want, answer, 1, deadline, progress, held)


def _said(
    posterior: Any,
    task: Task,
    key: PRNGKeyArray,
    x: np.ndarray | None,
    thetas: np.ndarray | None,
    draws: int,
    *,
    dense: bool,
) -> Said:
    """Return what a posterior says of one x, None for the one that it was fitted for."""
    drawn = judgeable(np.asarray(posterior.sample(key, draws, x))[None], 1, draws, task)
    if thetas is None or not dense or not hasattr(posterior, "log_prob"):
        return drawn, None
    at = np.concatenate([thetas, drawn[0]])
    return drawn, np.asarray(posterior.log_prob(at, x))[None]
