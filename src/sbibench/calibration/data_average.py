"""Whether the posterior, averaged over data, is the prior, as the true one is.

Talts et al. 2018 (arXiv:1804.06788). This is a consequence of being right and no more:
the prior in place of the posterior passes, as every calibration test that averages over data lets
it pass. `contraction` and `nltp` tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.calibration import Pairs, checked_draws, named
from sbibench.core.errors import UsageError
from sbibench.core.finding import LEVEL, Finding
from sbibench.core.keys import numpy_rng
from sbibench.inference.verdicts import check_level, listed, no_fault

POINTS = 100
"""Points at which distribution functions are compared, evenly spaced in rank."""


def data_average(
    key: PRNGKeyArray,
    thetas: Any,
    draws: Any,
    *,
    permutations: int = 2000,
    level: float = LEVEL,
    names: Sequence[str] | None = None,
) -> Finding:
    """Return whether all draws together are distributed as the true parameters are.

    The true parameters are draws of the prior, those whose data the posteriors are for; comparing
    with just these takes the chance of the draw out. If the posterior is right, the truth of a pair
    could be any one of its draws: the null distribution is that of the distance where one of each
    pair, chosen at random, is called the truth, and the p-value is exact.

    Parameters
    ----------
    key
        Permutes.
    thetas, draws
        True parameters [N, d] and posterior draws [N, L, d] for the data of each.
    permutations
        Of the null distribution.
    level
        How often a posterior without fault may be found faulty.
    names
        Of the parameters, for the verdict.

    Returns
    -------
    Finding
        `statistic` is the largest distance between the two distribution functions of a parameter,
        `p_value` that of the largest over parameters, each in units of its mean under permutation.
        In `values`, by parameter: `distance`, `p_value`.

    Raises
    ------
    UsageError
        If arrays do not belong together or are not finite.
    """
    check_level(level)
    if permutations < 1:
        raise UsageError(f"permutations are 1 or more, not {permutations}")
    truth, others = checked_draws(thetas, draws)
    n, d = truth.shape
    called = named(names, d)
    pool = np.concatenate([truth[:, None], others], axis=1)
    chosen = numpy_rng(key).integers(pool.shape[1], size=(1 + permutations, n))
    chosen[0] = 0
    distances = np.stack([_distances(pool[:, :, i], chosen) for i in range(d)], axis=1)
    p_values = np.mean(distances >= distances[0], axis=0)
    mean = distances.mean(0)
    largest = (distances / np.where(mean > 0, mean, 1)).max(1)
    p_value = float(np.mean(largest >= largest[0]))
    passed = p_value > level
    worst = [called[i] for i in np.argsort(p_values, kind="stable") if p_values[i] <= level]
    fault = "averaged over data it is not the prior" + (f": {listed(worst)}" if worst else "")
    return Finding(
        statistic=float(distances[0].max()),
        p_value=p_value,
        passed=passed,
        level=level,
        verdict=no_fault(n) if passed else fault,
        values={"distance": distances[0], "p_value": p_values},
    )


def _distances(pool: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return how far the chosen [B, N] of pool [N, 1 + L] lie from the others: [B]."""
    n, m = pool.shape
    ordered = np.sort(pool, axis=None)
    points = np.unique(ordered[np.linspace(0, n * m - 1, POINTS + 2)[1:-1].astype(int)])
    cells = np.searchsorted(points, pool)  # a value is at most points[k] if its cell is at most k
    picked = cells[np.arange(n), chosen]
    rows = len(points) + 1
    flat = (picked + rows * np.arange(len(chosen))[:, None]).ravel()
    counts = np.bincount(flat, minlength=rows * len(chosen)).reshape(-1, rows).cumsum(1)[:, :-1]
    whole = np.bincount(cells.ravel(), minlength=rows).cumsum()[:-1]
    distances: np.ndarray = np.abs((whole - counts) / (n * (m - 1)) - counts / n).max(1)
    return distances


@dataclass(frozen=True, kw_only=True)
class DataAverage:
    """The finding of `data_average`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("thetas", "draws")

    permutations: int = 2000
    level: float = LEVEL

    def __call__(self, key: PRNGKeyArray, pairs: Pairs) -> Finding:
        """Return whether the posterior averaged over data is the prior."""
        return data_average(
            key,
            pairs.thetas,
            pairs.draws,
            permutations=self.permutations,
            level=self.level,
            names=pairs.names,
        )


CHECK = DataAverage
