"""What a metric is, and the evidence that it judges."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that is known of one run: what is None is not available."""

    samples: np.ndarray | None = None
    """Draws [n, d] of the approximate posterior."""
    reference: np.ndarray | None = None
    """Draws [m, d] of the true posterior."""


class Metric(Protocol):
    """A frozen dataclass of options; `needs` names the fields of `Evidence` that it reads."""

    needs: ClassVar[tuple[str, ...]]

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> float:
        """Return the value, or raise an `SbibenchError` that says why there is none."""
        ...


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
