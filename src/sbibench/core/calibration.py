"""What a calibration check is, and the pairs of parameters and data that it judges.

A metric judges one observation against the truth. A check needs no truth, but many observations:
parameters drawn from the prior, data simulated from each, and what the posterior says of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.finding import Finding
from sbibench.core.metric import checked


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """N parameters of the prior, their data, and L draws of the posterior of each: None is absent.

    Attributes
    ----------
    thetas, xs
        The parameters [N, d] and the data [N, p] simulated from them.
    draws
        Of the posterior at each x: [N, L, d].
    log_probs_true, log_probs
        Its log densities at the parameters [N] and at the draws [N, L].
    log_priors_true
        The prior's log densities at the parameters [N].
    prior_draws
        More parameters of the prior [M, d], independent of the pairs.
    x_obs, draws_at_x_obs
        One observation [p] and draws of its posterior [K, d].
    names
        The parameters' names.
    facts
        How the pairs were drawn: numbers by name.
    """

    thetas: np.ndarray | None = None
    xs: np.ndarray | None = None
    draws: np.ndarray | None = None
    log_probs_true: np.ndarray | None = None
    log_probs: np.ndarray | None = None
    log_priors_true: np.ndarray | None = None
    prior_draws: np.ndarray | None = None
    x_obs: np.ndarray | None = None
    draws_at_x_obs: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    facts: Mapping[str, float] = field(default_factory=dict)


class Check(Protocol):
    """A frozen dataclass of options; `needs` names the fields of `Pairs` that it reads."""

    needs: ClassVar[tuple[str, ...]]

    def __call__(self, key: PRNGKeyArray, pairs: Pairs) -> Finding:
        """Return what is found, or raise an `SbibenchError` that says why nothing is."""
        ...


def checked_draws(
    thetas: Any, draws: Any, pairs: int = 1, draws_each: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return parameters [N, d] and draws [N, L, d] as float64.

    Raises
    ------
    UsageError
        If they are not finite, do not belong together, or there are fewer than so many of either.
    """
    truth = checked(thetas, "parameters", pairs)
    array = np.asarray(draws, np.float64)
    n, d = truth.shape
    if array.ndim != 3 or array.shape[::2] != (n, d) or array.shape[1] < 1:
        raise UsageError(f"draws have shape [{n}, L, {d}] to go with parameters, not {array.shape}")
    if array.shape[1] < draws_each:
        raise UsageError(
            f"at least {draws_each} draws are needed for each pair, not {array.shape[1]}"
        )
    bad = ~np.isfinite(array).all((1, 2))
    if bad.any():
        raise UsageError(f"draws: those of {int(bad.sum())} of {n} pairs are not all finite")
    return truth, array


def checked_densities(values: Any, what: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return log densities as float64; -inf, a density of 0, is one.

    Raises
    ------
    UsageError
        If some are NaN or +inf, or the shape is another; None in it stands for any number.
    """
    array = np.asarray(values, np.float64)
    if array.ndim != len(shape) or any(
        want not in {None, got} for want, got in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("L" if n is None else str(n) for n in shape)
        raise UsageError(f"{what} have shape [{wanted}], not {array.shape}")
    if not array.size:
        raise UsageError(f"{what}: there are none")
    bad = int((np.isnan(array) | (array == np.inf)).sum())
    if bad:
        raise UsageError(f"{what}: {bad} of {array.size} are NaN or infinite")
    return array


def named(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """Return names of d parameters: those given, or numbers.

    Raises
    ------
    UsageError
        If there is not one name for each.
    """
    found = tuple(names) if names is not None else tuple(f"parameter {i + 1}" for i in range(d))
    if len(found) != d:
        raise UsageError(f"{d} parameters need as many names, not {len(found)}")
    return found
