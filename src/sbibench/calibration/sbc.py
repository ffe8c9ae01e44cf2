"""Simulation-based calibration: whether ranks of the truth among posterior draws are uniform.

Talts et al. 2018 (arXiv:1804.06788). It looks at one parameter at a time, averaged over all data,
and so accepts the prior in place of the posterior; `contraction` and `nltp` do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.stats import binom

from sbibench.core.calibration import Pairs, checked_draws, named
from sbibench.core.finding import LEVEL, Finding
from sbibench.core.keys import numpy_rng
from sbibench.inference.ranks import direction, shares, uniformity
from sbibench.inference.verdicts import check_level, listed, no_fault

CLEAR = 2.0
"""Standard errors from which on mean or spread of the ranks say what is wrong."""


def sbc(
    key: PRNGKeyArray,
    thetas: Any,
    draws: Any,
    *,
    level: float = LEVEL,
    names: Sequence[str] | None = None,
) -> Finding:
    """Return whether the true parameters rank uniformly among the draws, parameter by parameter.

    A rank is one of L + 1 numbers. Ties are broken at random and the rank is spread at random over
    its step, which makes it uniform on [0, 1] exactly, so that the Kolmogorov-Smirnov test is exact
    and L does not matter. A second test asks whether the ranks' distribution function leaves a
    simultaneous band (Säilynoja et al. 2022); it sees more in the tails.

    Parameters
    ----------
    key
        Breaks ties.
    thetas, draws
        True parameters [N, d] and posterior draws [N, L, d] for the data of each.
    level
        How often a calibrated posterior may be found faulty; bands and intervals go with it.
    names
        Of the parameters, for the verdict.

    Returns
    -------
    Finding
        `statistic` is the largest Kolmogorov-Smirnov distance, `p_value` the smallest of the 2 d
        p-values times their number. In `values`, by parameter: `ks`, `ks_p_value`, `band_p_value`.

    Raises
    ------
    UsageError
        If arrays do not belong together or are not finite.
    """
    check_level(level)
    truth, others = checked_draws(thetas, draws)
    n, d = truth.shape
    called = named(names, d)
    ranks = shares(numpy_rng(key), truth, others)
    found = uniformity(ranks, level / (2 * d))
    smallest = np.minimum(found.ks_p_values, found.band_p_values)
    p_value = min(1.0, 2 * d * float(smallest.min()))
    passed = p_value > level
    worst = [i for i in np.argsort(smallest, kind="stable") if 2 * d * smallest[i] <= level]
    faults: dict[str, list[str]] = {}
    for i in worst:
        faults.setdefault(_fault(ranks[:, i]), []).append(called[i])
    told = "; ".join(f"{fault}: {listed(which)}" for fault, which in faults.items())
    bins = max(2, min(20, n // 10))
    counts = np.stack([np.histogram(column, bins, (0, 1))[0] for column in ranks.T], axis=1)
    return Finding(
        statistic=float(found.ks.max()),
        p_value=p_value,
        passed=passed,
        level=level,
        verdict=no_fault(n) if passed else told,
        values={
            "ks": found.ks,
            "ks_p_value": found.ks_p_values,
            "band_p_value": found.band_p_values,
        },
        arrays={
            "rank_counts": counts,
            "rank_counts_low": binom.ppf(level / 2, n, 1 / bins),
            "rank_counts_high": binom.isf(level / 2, n, 1 / bins),
            "ecdf_at": found.at,
            "ecdf_above": found.above,
            "ecdf_low": found.low,
            "ecdf_high": found.high,
        },
    )


def _fault(ranks: np.ndarray) -> str:
    """Return in words what is wrong with a parameter whose ranks are these."""
    mean, spread = direction(ranks)
    if max(abs(mean), abs(spread)) < CLEAR:
        return "of the wrong shape"
    if abs(mean) > abs(spread):
        return "too low" if mean > 0 else "too high"
    return "too narrow" if spread > 0 else "too wide"


@dataclass(frozen=True, kw_only=True)
class SBC:
    """The finding of `sbc`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("thetas", "draws")

    level: float = LEVEL

    def __call__(self, key: PRNGKeyArray, pairs: Pairs) -> Finding:
        """Return whether ranks are uniform."""
        return sbc(key, pairs.thetas, pairs.draws, level=self.level, names=pairs.names)


CHECK = SBC
