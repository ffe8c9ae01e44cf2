"""The simulator as an algorithm sees it: batched, counted, bounded in number and in time."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.deadline import Deadline
from sbibench.core.errors import BudgetExceededError, InvalidSimulationsError, UsageError
from sbibench.core.forward import NO_SIMULATOR, Forward, Simulate, forward
from sbibench.core.keys import numpy_rng
from sbibench.core.resolution import Resolution

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
    """Runs the model: one counter, a hard budget and a deadline.

    Parameters
    ----------
    simulate
        A task's `forward`, or (key, θ [d]) -> x [p] in pure JAX; evaluated in float64.
    shape
        (d, p).
    budget
        The number of simulations that may be run in all.
    deadline
        Looked at between blocks of simulations.
    progress
        Called as ("simulating", calls, budget) between blocks, where there is more than one.

    Raises
    ------
    UsageError
        If the budget is no whole number of 1 or more.
    """

    def __init__(
        self,
        simulate: Simulate | Forward,
        shape: tuple[int, int],
        budget: int,
        deadline: Deadline,
        progress: Callable[[str, int, int | None], None] | None = None,
    ) -> None:
        if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
            raise UsageError(
                f"a budget is a whole number of simulations, 1 or more, not {budget!r}"
            )
        self.forward = forward(simulate, shape[1])
        self._progress = progress
        self._shape = shape
        self.budget = int(budget)
        self.deadline = deadline
        self.calls = 0
        self.invalid = 0
        self.seconds = 0.0
        self._order: np.ndarray | None = None
        self._resolution = Resolution()

    @property
    def unresolved(self) -> np.ndarray | None:
        """Columns that float32 rounds too coarsely, bool [p]; None before 4 finite rows.

        By the first 50 finite rows or more, over calls, or what there is so far. They are warned
        of once there are 50, or the budget is used.
        """
        return self._resolution.unresolved

    @property
    def left(self) -> int:
        """How many simulations may still be run."""
        return self.budget - self.calls

    def demand(self) -> None:
        """Raise `UsageError` if only parameters that were simulated before can be had."""
        if self.forward.pairs is not None:
            raise UsageError(NO_SIMULATOR)

    def from_prior(
        self, prior: Distribution, prior_key: PRNGKeyArray, key: PRNGKeyArray, n: int
    ) -> Simulations:
        """Draw n parameters from the prior and simulate them: the one place where this is done.

        Of stored simulations the next n are taken, in an order that the first `prior_key` decides.

        Raises
        ------
        UsageError
            If fewer are stored than the budget says.
        BudgetExceededError
            If fewer than n are left of the budget.
        """
        if self.forward.pairs is None:
            thetas = priors.rows(prior).sample(prior_key, n)
            self.deadline.check("drawing from the prior")
            return self(key, thetas)
        thetas, xs = self.forward.pairs
        if self._order is None:
            self._order = numpy_rng(prior_key).permutation(len(thetas))
        if self.budget > len(thetas):
            raise UsageError(
                f"the budget is {self.budget} simulations, but {len(thetas)} are stored; lower it "
                f"to {len(thetas)} or less"
            )
        if n > self.left:
            raise BudgetExceededError(
                f"{n} stored simulations asked for, {self.left} of {self.budget} are left"
            )
        chosen = self._order[self.calls : self.calls + n]
        self._resolution.see(xs[chosen], last=n == self.left)
        with np.errstate(over="ignore"):
            single = xs[chosen].astype(np.float32)
        valid = np.asarray(np.isfinite(single).all(1))
        self.calls += n
        self.invalid += int((~valid).sum())
        return Simulations(priors.rows(prior).single(thetas[chosen]), single, valid)

    def __call__(self, key: PRNGKeyArray, thetas: Any) -> Simulations:
        """Simulate each row of θ [n, d]; in JAX row i depends on the key, i and θ_i alone.

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
        blocks = self.forward.blocks(key, thetas.astype(np.float64))
        with np.errstate(over="ignore"), closing(blocks):  # what float32 cannot hold is invalid
            for block in blocks:
                self._resolution.see(block, last=len(block) == self.left)
                rows = slice(done, done + len(block))
                xs[rows] = block
                valid[rows] = np.isfinite(xs[rows]).all(1)
                done += len(block)
                self.calls += len(block)
                self.invalid += int((~valid[rows]).sum())
                self.seconds += time.perf_counter() - start
                start = time.perf_counter()
                if done < n:
                    if self._progress:
                        self._progress("simulating", self.calls, self.budget)
                    self.deadline.check(f"simulating, {done} of {n} rows done")
        return Simulations(thetas.astype(np.float32), xs, valid)
