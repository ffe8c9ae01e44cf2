"""What an algorithm returns, and what an algorithm is."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.problem import Problem, checked_x

Info = dict[str, float | int | str | bool]
"""Facts about a fit for the record: epochs, losses, acceptance rate, leakage, ..."""


@runtime_checkable
class Posterior(Protocol):
    """Samples of an approximate posterior, by default at the x_obs that it was fitted for.

    A posterior that knows its density has `log_prob(thetas, x=None) -> [n]` as well. One that is
    faster at many x together than at one after the other has `sample_each(key, n, xs) -> [N, n, d]`
    and `log_prob_each(thetas, xs) -> [N, n]`.
    """

    amortized: bool
    """Whether it may be asked at another x than the one it was fitted for."""

    info: Info

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, inside the prior's support."""
        ...


def check_posterior(posterior: Any) -> None:
    """Raise `UsageError` unless this is what `fit` returns."""
    lacking = [n for n in ("sample", "amortized", "info") if not hasattr(posterior, n)]
    if lacking:
        raise UsageError(
            f"fit returned {type(posterior).__name__}, which has no {' and no '.join(lacking)}"
        )


def check_shareable(name: str, amortized: bool) -> None:  # noqa: FBT001 - what it is about
    """Raise `UsageError` unless one fit of this algorithm serves many observations."""
    if not amortized:
        raise UsageError(
            f"{name} is fitted for one observation, so no fit can be shared: leave share_fit out "
            "for it"
        )


def check_count(n: int) -> None:
    """Raise `UsageError` unless n is a number of samples that can be drawn."""
    if n < 1:
        raise UsageError(f"the number of samples is 1 or more, not {n}")


def check_same_x(x: Any, x_obs: np.ndarray) -> None:
    """Raise `UsageError` if x is another than the x_obs [p] that a posterior was fitted for."""
    if x is not None and not np.array_equal(checked_x(x, x_obs), x_obs):
        raise UsageError(
            "this posterior is for the observation that it was fitted for; fit again for another"
        )


class Algorithm(Protocol):
    """A frozen dataclass of settings that turns a problem into a posterior.

    It may say by an attribute `amortized` whether its posteriors are, so that this is known before
    anything is simulated.
    """

    def fit(self, key: PRNGKeyArray, problem: Problem) -> Posterior:
        """Infer the posterior; everything random comes from the key."""
        ...
