"""The simulator as an algorithm sees it: batched, counted, bounded in number and in time."""

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.blocks import row_blocks
from sbibench.core.deadline import Deadline
from sbibench.core.errors import BudgetExceededError, InvalidSimulationsError, UsageError

InvalidPolicy = Literal["drop", "refuse"]
"""What an algorithm does about simulations that are not finite; it always says which."""


class Simulations(NamedTuple):
    """Parameters θ [n, d], data x [n, p] (float32) and which rows are finite, bool [n]."""

    thetas: np.ndarray
    xs: np.ndarray
    valid: np.ndarray

    def accept(self, policy: InvalidPolicy) -> "Simulations":
        """Return the valid rows, or raise if there are others and the policy is to refuse them.

        Raises
        ------
        InvalidSimulationsError
            If a row is invalid and `policy` is "refuse", or if no row is valid.
        """
        n, bad = len(self.valid), int((~self.valid).sum())
        if bad == n:
            raise InvalidSimulationsError(f"none of {n} simulations is finite")
        if bad and policy == "refuse":
            raise InvalidSimulationsError(
                f"{bad} of {n} simulations are not finite, and dropping them would bias this "
                "algorithm; mend the simulator or set invalid='drop' to accept the bias"
            )
        return Simulations(self.thetas[self.valid], self.xs[self.valid], self.valid[self.valid])


class Simulator:
    """Runs the model: one vmap, one counter, a hard budget and a deadline.

    Parameters
    ----------
    simulate
        (key, θ [d]) -> x [p], pure JAX, evaluated in float64.
    shape
        (d, p).
    budget
        The number of simulations that may be run in all.
    deadline
        Looked at between blocks of simulations.
    """

    def __init__(
        self,
        simulate: Callable[[Any, Any], Any],
        shape: tuple[int, int],
        budget: int,
        deadline: Deadline,
    ) -> None:
        self._simulate = simulate
        self._shape = shape
        self.budget = budget
        self.deadline = deadline
        self.calls = 0
        self.invalid = 0
        self.seconds = 0.0

    @property
    def left(self) -> int:
        """How many simulations may still be run."""
        return self.budget - self.calls

    def __call__(self, key: PRNGKeyArray, thetas: Any) -> Simulations:
        """Simulate each row of θ [n, d]; row i depends on the key, i and θ_i alone.

        Raises
        ------
        UsageError
            If θ does not have the shape [n, d] with n ≥ 1.
        BudgetExceededError
            If fewer than n simulations are left; then none is run.
        DeadlineError
            If the time is over; what was simulated until then is counted.
        """
        thetas = np.asarray(thetas)
        d, p = self._shape
        if thetas.ndim != 2 or thetas.shape[1] != d or not len(thetas):
            raise UsageError(f"parameters have shape [n, {d}] with n ≥ 1, not {thetas.shape}")
        n = len(thetas)
        if n > self.left:
            raise BudgetExceededError(
                f"{n} simulations asked for, {self.left} of {self.budget} are left"
            )
        xs, valid = np.empty((n, p), np.float32), np.empty(n, bool)
        done, start = 0, time.perf_counter()
        with np.errstate(over="ignore"):  # what float32 cannot hold is invalid
            for block in row_blocks(self._simulate, thetas.astype(np.float64), key=key):
                if block.shape[1:] != (p,):
                    raise UsageError(
                        f"the simulator returned x of shape {block.shape[1:]} for one θ, not ({p},)"
                    )
                rows = slice(done, done + len(block))
                xs[rows] = block
                valid[rows] = np.isfinite(xs[rows]).all(1)
                done += len(block)
                self.calls += len(block)
                self.invalid += int((~valid[rows]).sum())
                self.seconds += time.perf_counter() - start
                start = time.perf_counter()
                if done < n:
                    self.deadline.check(f"simulating, {done} of {n} rows done")
        return Simulations(thetas.astype(np.float32), xs, valid)
