"""The one loop of sequential methods: simulate where the posterior is now, learn, again."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import DeadlineError, UsageError
from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy


class Data(NamedTuple):
    """All accepted simulations so far: θ [n, d], x [n, p] (float32), round of each, from 0 [n]."""

    thetas: np.ndarray
    xs: np.ndarray
    rounds: np.ndarray


Learn = Callable[[PRNGKeyArray, Data, Any], Any]
"""(key, data, posterior of the round before or None) -> posterior."""


def check_rounds(rounds: int) -> None:
    """Raise `UsageError` unless this is a number of rounds."""
    if rounds < 1:
        raise UsageError(f"rounds are 1 or more, not {rounds}")


def split(budget: int, rounds: int) -> list[int]:
    """Return the simulations of each round: equal shares, the remainder in the last."""
    share = budget // rounds
    return [share] * (rounds - 1) + [budget - share * (rounds - 1)]


def run_rounds(
    key: PRNGKeyArray,
    problem: Problem,
    rounds: int,
    learn: Learn,
    invalid: InvalidPolicy,
    least: int = 2,
) -> Any:
    """Spend the budget in rounds and return the posterior of the last one.

    The first round simulates from the prior, each other from the posterior of the round before at
    x_obs, which lies inside the prior's support. When the time is over the last posterior there is
    is returned, with `stopped` = "deadline" in its info.

    Parameters
    ----------
    rounds
        How many.
    learn
        Makes a posterior of all simulations so far.
    invalid
        What to do with simulations that are not finite; how many were dropped is in the info.
    least
        Simulations that a round needs at least.

    Raises
    ------
    UsageError
        If the budget is too small for so many rounds; nothing is simulated then.
    InvalidSimulationsError
        By the policy `invalid`.
    """
    budget = problem.simulator.left
    if budget < least * rounds:
        need = f"{rounds} rounds need" if rounds > 1 else "training needs"
        mend = "raise it or set fewer rounds" if rounds > 1 else "raise it"
        raise UsageError(
            f"{need} {least * rounds} simulations or more, the budget is {budget}; {mend}"
        )
    if rounds > 1:
        problem.simulator.demand()
    # One buffer that is filled up: a round's rows come after those of the rounds before.
    buffer = Data(
        np.empty((budget, problem.d), np.float32),
        np.empty((budget, problem.p), np.float32),
        np.empty(budget, int),
    )
    posterior: Any = None
    filled = 0
    try:
        for number, size in enumerate(split(budget, rounds)):
            proposal_key, simulator_key, learn_key = random.split(random.fold_in(key, number), 3)
            if posterior is None:
                new = problem.from_prior(proposal_key, simulator_key, size)
            else:
                thetas = posterior.sample(proposal_key, size)
                problem.deadline.check("drawing proposals")
                new = problem.simulator(simulator_key, thetas)
            new = new.accept(invalid)
            rows = slice(filled, filled + len(new.xs))
            for column, values in zip(buffer, (new.thetas, new.xs, number), strict=True):
                column[rows] = values
            filled = rows.stop
            posterior = learn(learn_key, Data(*(c[:filled] for c in buffer)), posterior)
            posterior.amortized = rounds == 1
            posterior.info["rounds"] = number + 1
            if problem.simulator.invalid:
                posterior.info["dropped"] = problem.simulator.invalid
            problem.progress("rounds", number + 1, rounds)
            if posterior.info.get("stopped") == "deadline":
                break
    except DeadlineError:
        if posterior is None:
            raise
        posterior.info["stopped"] = "deadline"
    return posterior
