"""What a metric is, the evidence that it judges, and its value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core.errors import UsageError
from sbibench.core.forward import Forward


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that is known of one run: what is None is not available."""

    samples: np.ndarray | None = None
    """Draws [n, d] of the approximate posterior."""
    reference: np.ndarray | None = None
    """Draws [m, d] of the true posterior."""
    x_obs: np.ndarray | None = None
    """The observation [p], float64."""
    prior: Distribution | None = None
    """The prior over θ [d]."""
    simulate: Forward | None = None
    """(key, θ [n, d]) -> x [n, p]: a task's `forward`."""
    log_likelihood: Callable[[Any, Any], Any] | None = None
    """(θ [d], x [p]) -> log p(x | θ), in JAX; one object a task, too."""
    log_prob_true: float | None = None
    """Log density of the approximate posterior at the parameters that generated x_obs."""


class Estimate(float):
    """A metric's value: a float that knows its standard error.

    Attributes
    ----------
    error
        Standard error of the value, or None where nothing about it is random.
    also
        What the same computation tells besides, by name: an area under a curve, a p-value.
    """

    error: float | None
    also: Mapping[str, float]

    def __new__(cls, value: float, error: float | None = None, **also: float) -> Self:
        """Make an estimate of a value, its standard error and further values by name."""
        made = super().__new__(cls, value)
        made.error, made.also = error, also
        return made


class Metric(Protocol):
    """A frozen dataclass of options; `needs` names the fields of `Evidence` that it reads."""

    needs: ClassVar[tuple[str, ...]]

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> float:
        """Return the value, or raise an `SbibenchError` that says why there is none.

        An `Estimate` where there is a standard error, or more that is worth telling.
        """
        ...


def present(evidence: Evidence, needs: Sequence[str]) -> list[Any]:
    """Return these fields of the evidence.

    Raises
    ------
    UsageError
        If one of them is None.
    """
    missing = [name for name in needs if getattr(evidence, name) is None]
    if missing:
        raise UsageError(f"this metric needs {', '.join(missing)} in the evidence")
    return [getattr(evidence, name) for name in needs]


def checked(samples: Any, what: str, at_least: int = 1) -> np.ndarray:
    """Return samples as a float64 array [n, d].

    Raises
    ------
    UsageError
        If it is not a finite matrix with `at_least` rows and one column or more.
    """
    array = np.asarray(samples, np.float64)
    if array.ndim != 2 or array.shape[1] < 1:
        raise UsageError(f"{what} have shape [n, d], not {array.shape}")
    if len(array) < at_least:
        raise UsageError(f"{what}: at least {at_least} rows are needed, there are {len(array)}")
    bad = ~np.isfinite(array).all(1)
    if bad.any():
        raise UsageError(f"{what}: {int(bad.sum())} of {len(array)} rows are not finite")
    return array


def checked_pair(samples: Any, reference: Any, at_least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return samples [n, d] and reference [m, d], both `checked` and of one dimension d."""
    a, b = checked(samples, "samples", at_least), checked(reference, "reference", at_least)
    if a.shape[1] != b.shape[1]:
        raise UsageError(f"samples have {a.shape[1]} columns, the reference has {b.shape[1]}")
    return a, b
