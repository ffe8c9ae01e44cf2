"""Held-out pairs that all methods of a comparison are judged by: simulated once, and kept."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.errors import InvalidSimulationsError, UsageError
from sbibench.core.files import write_whole
from sbibench.core.problem import Progress, silent
from sbibench.core.simulator import Simulator
from sbibench.core.task import Task
from sbibench.runner.collect import TURNS


@dataclass(frozen=True)
class HeldOut:
    """Parameters of the prior [N, d] and finite data [N, p] of each, float32, and what they cost.

    Attributes
    ----------
    calls, invalid
        Simulations run for them, and how many of those were not finite.
    seconds
        Of simulating.
    """

    thetas: np.ndarray
    xs: np.ndarray
    calls: int
    invalid: int
    seconds: float


def simulator_of(
    task: Task,
    observation: int,
    budget: int,
    progress: Progress = silent,
    time_limit: float | None = None,
) -> Simulator:
    """Return a simulator of the task that counts, as algorithms get it."""
    return task.problem(observation, budget, time_limit, progress).simulator


def draw_held_out(
    key: PRNGKeyArray, task: Task, pairs: int, observation: int, progress: Progress
) -> HeldOut:
    """Draw parameters from the prior and simulate data of each, until so many are finite.

    Raises
    ------
    InvalidSimulationsError
        If too few are.
    """
    simulator = simulator_of(task, observation, TURNS * pairs, progress)
    thetas, xs = [], []
    turn, missing = 0, pairs
    progress("pairs to judge by", 0, pairs)
    while missing and simulator.left:
        prior_key, simulator_key = jax.random.split(jax.random.fold_in(key, turn))
        # Twice as many as are missing, later on: most may be invalid.
        n = min(missing * (2 if turn else 1), simulator.left)
        drawn = simulator(simulator_key, priors.rows(task.prior).sample(prior_key, n))
        finite = np.flatnonzero(drawn.valid)[:missing]
        thetas.append(drawn.thetas[finite])
        xs.append(drawn.xs[finite])
        missing -= len(finite)
        turn += 1
        progress("pairs to judge by", pairs - missing, pairs)
    if missing:
        raise InvalidSimulationsError(
            f"{pairs - missing} of {pairs} pairs to judge by: {simulator.invalid} of "
            f"{simulator.calls} simulations are not finite"
        )
    return HeldOut(
        np.concatenate(thetas),
        np.concatenate(xs),
        simulator.calls,
        simulator.invalid,
        simulator.seconds,
    )


def kept_held_out(path: Path, draw: Callable[[], HeldOut]) -> HeldOut:
    """Return the pairs in this file, or draw them and keep them there."""
    found = read_arrays(path)
    if found is None:
        fresh = draw()
        write_arrays(path, vars(fresh))
        return fresh
    counts = {name: int(found[name]) for name in ("calls", "invalid")}
    return HeldOut(found["thetas"], found["xs"], **counts, seconds=float(found["seconds"]))


def check_same_task(path: Path, task: Task, observation: int) -> None:
    """Compare the task with what this file says of it, which is written if there is none.

    Raises
    ------
    UsageError
        If the prior, the simulator or the observation is another: what is kept is of another task.
    """
    key = jax.random.key(0)
    theta = priors.rows(task.prior).sample(key, 1)
    now = {"theta": theta, "x_obs": task.observation(observation)}
    before = read_arrays(path)
    if before is None:
        write_arrays(path, now | {"fingerprint": np.array(task.fingerprint)})
        return
    changed = [
        what
        for name, what in (("theta", "prior"), ("x_obs", "observation"))
        if before[name].shape != now[name].shape
        or not np.allclose(before[name], now[name], rtol=1e-3, atol=1e-6, equal_nan=True)
    ]
    if not changed and str(before["fingerprint"]) != task.fingerprint:
        changed = ["simulator"]
    if changed:
        raise UsageError(
            f"{path.parent.parent} holds what was found for another task of the name {task.name}: "
            f"its {changed[0]} has changed; keep this comparison in another directory"
        )


def read_arrays(path: Path) -> dict[str, Any] | None:
    """Return the arrays in a file by name, or None if there is no such file."""
    if not path.exists():
        return None
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays by name to a file, whole or not at all."""
    write_whole(path, lambda file: np.savez_compressed(file, **arrays))
