"""How pairs are collected: from simulations, and from whatever answers for a posterior."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.calibration import Pairs
from sbibench.core.deadline import Deadline
from sbibench.core.errors import (
    DeadlineError,
    InvalidSimulationsError,
    SamplingError,
    SbibenchError,
    UsageError,
)
from sbibench.core.problem import Progress
from sbibench.core.simulator import Simulator
from sbibench.core.task import Task

NO_PAIRS = (
    "there are stored simulations and no simulator, so no pairs of parameters and data can be made "
    "to judge by; give a simulator, or judge by metrics at the observation"
)
TURNS = 10
"""Sets of N simulations from which N pairs are taken, at most."""

PRIOR_DRAWS, DRAWS_AT_X_OBS = 10_000, 1000
"""How many are drawn of either."""

REPLACED = 0.5
"""Share of the pairs that may be replaced since their posterior can't be had."""

Said = tuple[np.ndarray, np.ndarray | None]
"""Draws [n, L, d] at n data sets, and log densities [n, 1 + L] at the truth and at these draws."""

Held = tuple[np.ndarray, np.ndarray]
"""Parameters of the prior [N, d] and finite data of each [N, p], float32."""

Answer = Callable[[PRNGKeyArray, np.ndarray, np.ndarray | None, int], Said]
"""(key, xs [n, p], thetas [n, d], L) -> what a posterior says; without thetas no densities."""


@dataclass(frozen=True)
class Wanted:
    """How many pairs and draws are wanted.

    Attributes
    ----------
    pairs, draws
        N, and L of each.
    observation
        The observation of the task at which L-C2ST looks.
    densities
        Whether log densities are wanted, too; where they are dear and not needed, say no.
    """

    pairs: int = 200
    draws: int = 200
    observation: int = 1
    densities: bool = True

    def __post_init__(self) -> None:
        for what in ("pairs", "draws"):
            if getattr(self, what) < 1:
                raise UsageError(f"{what} are 1 or more, not {getattr(self, what)}")


def collect(
    key: PRNGKeyArray,
    task: Task,
    want: Wanted,
    answer: Answer,
    size: int,
    deadline: Deadline,
    progress: Progress,
    held: Held | None = None,
) -> Pairs:
    """Return the pairs that were wanted; `answer` is asked for so many at a time.

    Where pairs are `held` already, none are simulated, and those at which the posterior can't be
    had are left out. Errors are those of `draw_pairs`.
    """
    pair_key, answer_key, prior_key, x_key = jax.random.split(key, 4)
    if held is None and task.forward.pairs is not None:
        raise UsageError(NO_PAIRS)
    simulator = Simulator(task.forward, (task.d, task.p), TURNS * want.pairs, deadline)
    todo = (
        _candidates(pair_key, simulator, task, want.pairs, size)
        if held is None
        else _parts(*held, size)
    )
    found: list[tuple[np.ndarray, ...]] = []  # θ, x, draws, log densities of each pair
    reasons: list[str] = []
    asked = 0
    while len(found) < want.pairs and len(reasons) <= REPLACED * want.pairs:
        try:
            thetas, xs = next(todo)
            asked += 1
            drawn, dense = answer(jax.random.fold_in(answer_key, asked), xs, thetas, want.draws)
            deadline.check("drawing pairs")  # what was cut short is not to be judged
        except (StopIteration, DeadlineError):
            break
        except (SamplingError, InvalidSimulationsError) as error:
            if len(xs) > 1:  # find out which it is
                todo = itertools.chain(zip(thetas[:, None], xs[:, None], strict=True), todo)
            else:
                reasons.append(str(error))
            continue
        found += zip(thetas, xs, drawn, *([] if dense is None else [dense]), strict=True)
        progress("pairs", min(len(found), want.pairs), want.pairs)
    enough = want.pairs if held is None else math.ceil((1 - REPLACED) * want.pairs)
    if len(found) < (2 if deadline.passed else enough):
        raise _too_few(len(found), want, simulator, deadline, reasons)
    columns = [np.stack(column) for column in zip(*found[: want.pairs], strict=True)]
    log_probs = columns[3] if len(columns) > 3 else None
    x_obs = task.observation(want.observation).astype(np.float32)
    prior = priors.rows(task.prior)
    return Pairs(
        thetas=columns[0],
        xs=columns[1],
        draws=columns[2],
        log_probs_true=None if log_probs is None else log_probs[:, 0],
        log_probs=None if log_probs is None else log_probs[:, 1:],
        log_priors_true=prior.log_prob(columns[0].astype(np.float64)),
        prior_draws=prior.sample(prior_key, PRIOR_DRAWS),
        x_obs=x_obs,
        draws_at_x_obs=None if deadline.passed else _at_x_obs(x_key, answer, x_obs),
        names=task.parameter_names,
        facts={
            "pairs": len(columns[0]),
            "draws": want.draws,
            "invalid_simulations": simulator.invalid,
            "replaced": len(reasons),
        }
        | ({"stopped": True} if deadline.passed else {}),
    )


def _candidates(
    key: PRNGKeyArray, simulator: Simulator, task: Task, n: int, size: int
) -> Iterator[Held]:
    """Yield parameters [size, d] and finite data [size, p]; now and then they are fewer."""
    for turn in range(TURNS):
        prior_key, simulator_key = jax.random.split(jax.random.fold_in(key, turn))
        thetas = priors.rows(task.prior).sample(prior_key, n)
        simulations = simulator(simulator_key, thetas)
        finite = np.flatnonzero(simulations.valid)
        yield from _parts(thetas[finite], simulations.xs[finite], size)


def _parts(thetas: np.ndarray, xs: np.ndarray, size: int) -> Iterator[Held]:
    """Yield so many of the pairs at a time; the last are fewer."""
    for start in range(0, len(thetas), size):
        yield thetas[start : start + size], xs[start : start + size]


def _at_x_obs(key: PRNGKeyArray, answer: Answer, x_obs: np.ndarray) -> np.ndarray | None:
    """Return draws at the observation, None if there can't be any."""
    try:
        drawn: np.ndarray = answer(key, x_obs[None], None, DRAWS_AT_X_OBS)[0][0]
    except (SamplingError, InvalidSimulationsError, DeadlineError):
        return None
    return drawn


def judgeable(drawn: Any, n: int, draws: int, task: Task) -> np.ndarray:
    """Return draws [n, draws, d] if they can be judged.

    Raises
    ------
    UsageError
        If their shape is another, or some lie outside the prior's support.
    SbibenchError
        If some are not finite.
    """
    found: np.ndarray = np.asarray(drawn)
    shape = (n, draws, task.d)
    if found.shape != shape:
        raise UsageError(
            f"the posterior returned draws of shape {found.shape}, not {shape}: is it one of "
            f"{task.name}?"
        )
    flat = found.reshape(-1, task.d)
    bad = int((~np.isfinite(flat).all(1)).sum())
    if bad:
        raise SbibenchError(f"{bad} of {len(flat)} draws are not finite")
    if not priors.rows(task.prior).inside(flat).all():
        raise UsageError(
            f"draws lie outside the prior of {task.name}: is the posterior one of another task?"
        )
    return found


def _too_few(
    n: int, want: Wanted, simulator: Simulator, deadline: Deadline, reasons: list[str]
) -> SbibenchError:
    """Return the error that says why there are only n pairs."""
    have = f"{n} of {want.pairs} pairs"
    if deadline.passed:
        return DeadlineError(f"the time limit was reached with {have}")
    if reasons:
        return SamplingError(
            f"{have}: {len(reasons)} posteriors can't be had, the last: {reasons[-1]}"
        )
    return InvalidSimulationsError(
        f"{have}: {simulator.invalid} of {simulator.calls} simulations are not finite"
    )
