"""The posterior of one observation as a density known up to a constant, in float64."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.blocks import map_rows
from sbibench.core.errors import NoReferenceError, UsageError
from sbibench.core.task import Task


def _bounded(prior: Distribution) -> bool:
    """Return whether the support is a box."""
    support = prior.support
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return hasattr(support, "lower_bound") and hasattr(support, "upper_bound")


class _Coordinates(NamedTuple):
    """Coordinates of θ, as functions of one row: one object a prior, so that they compile once."""

    log_prior: Callable[[Any], Any]
    to_support: Callable[[Any], Any]
    from_support: Callable[[Any], Any]


@functools.lru_cache(maxsize=256)
def coordinates(prior: Distribution) -> _Coordinates:
    """Return coordinates u of θ in which a flow has an easy task.

    They are those of numpyro's bijection to R^d. A box is left as it is: the bijection would make
    of each edge a long tail, where a flow is worst, and here f is 0 outside and needs no tail.
    """
    if not _bounded(prior):
        return _Coordinates(
            functools.partial(priors.log_prob_unconstrained, prior),
            functools.partial(priors.to_support, prior),
            functools.partial(priors.from_support, prior),
        )

    return _Coordinates(functools.partial(priors.log_prob, prior), lambda u: u, lambda theta: theta)


@functools.lru_cache(maxsize=64)
def density(task: Task) -> Any:
    """Return (x [p], u [d]) -> log prior density of u and log likelihood: one object a task."""
    if task.log_likelihood is None:
        raise NoReferenceError(f"{task.name} has no likelihood to sample its posterior from")
    log_likelihood, space = task.log_likelihood, coordinates(task.prior)
    theta, x = (jax.ShapeDtypeStruct((n,), np.float64) for n in (task.d, task.p))
    try:
        value = jax.eval_shape(log_likelihood, theta, x)
    except TypeError as error:
        raise UsageError(
            f"log_likelihood of {task.name} can't be compiled; write it as a function of one θ "
            "and one x in jax.numpy, without `if` on values. JAX says: "
            f"{str(error).splitlines()[0]}"
        ) from error
    found = f"shape {value.shape}" if hasattr(value, "shape") else f"a {type(value).__name__}"
    if found != "shape ()":
        raise UsageError(f"log_likelihood of {task.name} must return one number, not {found}")

    def parts(x: Float[Array, " p"], u: Float[Array, " d"]) -> tuple[Any, Any]:
        return space.log_prior(u), log_likelihood(space.to_support(u), x)

    return parts


@dataclass(frozen=True, eq=False)
class Target:
    """f(u) = p(x | θ(u)) p(u) in the coordinates u of θ, see `coordinates`.

    Attributes
    ----------
    task
        A task with a likelihood.
    x
        The observation [p], float64.
    """

    task: Task
    x: np.ndarray

    def __post_init__(self) -> None:
        density(self.task)
        if self.x.shape != (self.task.p,) or not np.isfinite(self.x).all():
            raise UsageError(f"x must be {self.task.p} finite numbers, as {self.task.name} has")

    def parts(self, us: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(u) [n] and log p(x | θ(u)) [n] of rows u [n, d].

        Both are -inf where either is not a number: such a row has no mass.
        """
        log_prior, log_likelihood = map_rows(density(self.task), us, fixed=(self.x,))
        nowhere = np.isnan(log_prior) | np.isnan(log_likelihood)
        return (
            np.where(nowhere, -np.inf, log_prior),
            np.where(nowhere | (log_likelihood == np.inf), -np.inf, log_likelihood),
        )

    def log_density(self, us: np.ndarray) -> np.ndarray:
        """Return log f [n] of rows u [n, d]."""
        return np.asarray(sum(self.parts(us)))

    def prior_draws(self, key: PRNGKeyArray, n: int) -> np.ndarray:
        """Draw u [n, d] from the prior."""
        thetas = map_rows(self.task.prior.sample, key=key, n=n)
        return np.asarray(map_rows(coordinates(self.task.prior).from_support, thetas))

    def thetas(self, us: np.ndarray) -> np.ndarray:
        """Return θ [n, d], float32, of rows u [n, d]."""
        thetas = map_rows(coordinates(self.task.prior).to_support, us)
        return priors.rows(self.task.prior).single(thetas)
