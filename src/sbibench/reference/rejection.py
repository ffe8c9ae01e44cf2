"""Exact draws by rejection, with a cap."""

from collections.abc import Callable

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import SamplingError
from sbibench.core.keys import numpy_rng

Draws = tuple[np.ndarray, np.ndarray]
"""Proposed samples [m, d] and which of them to keep, bool [m]."""

CAP = 1000
"""Proposals allowed for every sample asked for."""


def rejection(
    key: PRNGKeyArray,
    propose: Callable[[np.random.Generator, int], Draws],
    n: int,
    cap: int = CAP,
) -> np.ndarray:
    """Draw proposals, at least 1000 at a time, until n [n, d] are kept.

    Raises
    ------
    SamplingError
        If `cap` * n proposals, or the first thousand, do not yield n samples.
    """
    rng = numpy_rng(key)
    batch = max(n, 1000)
    parts: list[np.ndarray] = []
    kept = proposed = 0
    while kept < n:
        if proposed and proposed >= cap * n:
            raise SamplingError(
                f"rejection kept {kept} of {proposed} proposals, {n} were asked for"
            )
        samples, keep = propose(rng, batch)
        parts.append(samples[keep])
        kept += int(keep.sum())
        proposed += batch
    return np.concatenate(parts)[:n]
