"""Expected coverage: whether regions of highest posterior density hold the truth as often as said.

Hermans et al. 2022 (arXiv:2110.06581). It sees all parameters together, but through the density
alone, and averaged over all data: it accepts the prior in place of the posterior.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.calibration import Pairs, checked_densities
from sbibench.core.finding import LEVEL, Finding
from sbibench.core.keys import numpy_rng
from sbibench.inference.ranks import direction, shares, uniformity
from sbibench.inference.verdicts import check_level, no_fault

TOLD = 0.9
"""The region of which verdicts tell how often it holds the truth."""


def coverage(
    key: PRNGKeyArray, log_probs_true: Any, log_probs: Any, *, level: float = LEVEL
) -> Finding:
    """Return whether the regions of highest density have the coverage that they claim.

    The smallest region of highest density that holds the truth has as its content the share of
    draws that are denser than the truth. If the posterior is right it is uniform over pairs; ties
    are broken at random.

    Parameters
    ----------
    key
        Breaks ties.
    log_probs_true, log_probs
        Log posterior densities at the true parameters [N] and at the draws [N, L]. They need not be
        normalised: what is added to all of a pair makes no difference.
    level
        How often a calibrated posterior may be found faulty; the band goes with it.

    Returns
    -------
    Finding
        `statistic` is the largest distance of expected from nominal coverage, `p_value` the smaller
        of those of two tests (Kolmogorov-Smirnov, simultaneous band) times 2. In `values`:
        `ks_p_value`, `band_p_value`, and as `covered` what regions of 50, 80, 90 and 95 % cover.

    Raises
    ------
    UsageError
        If arrays do not belong together, or a density is NaN or infinite.
    """
    check_level(level)
    others = checked_densities(log_probs, "log densities of draws", (None, None))
    n = len(others)
    truth = checked_densities(log_probs_true, "log densities of the parameters", (n,))
    denser = 1 - shares(numpy_rng(key), truth[:, None], others[:, :, None])
    found = uniformity(denser, level / 2)
    p_value = min(1.0, 2 * float(min(found.ks_p_values[0], found.band_p_values[0])))
    passed = p_value > level
    covered = np.array([np.mean(denser <= c) for c in (0.5, 0.8, TOLD, 0.95)])
    # At the usual level where it shows there, or at that where it shows most.
    gaps = {c: abs(np.mean(denser <= c) - c) for c in (TOLD, *np.arange(0.05, 1, 0.05))}
    shows = gaps[TOLD] > 3 * (TOLD * (1 - TOLD) / n) ** 0.5
    at = TOLD if shows else max(gaps, key=lambda c: gaps[c])
    told = f"{at:.0%} regions hold {np.mean(denser <= at):.0%} of the truths".replace("%", " %")
    return Finding(
        statistic=float(found.ks[0]),
        p_value=p_value,
        passed=passed,
        level=level,
        verdict=no_fault(n) if passed else f"{_fault(denser[:, 0])}: {told}",
        values={
            "ks_p_value": found.ks_p_values,
            "band_p_value": found.band_p_values,
            "covered": covered,
        },
        arrays={
            "covered_at": found.at,
            "covered": found.at + found.above[:, 0],
            "covered_low": found.at + found.low,
            "covered_high": found.at + found.high,
        },
    )


def _fault(denser: np.ndarray) -> str:
    mean, _ = direction(denser)
    if abs(mean) < 2:
        return "of the wrong shape"
    return "too narrow or misplaced" if mean > 0 else "too wide"


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The finding of `coverage`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("log_probs_true", "log_probs")

    level: float = LEVEL

    def __call__(self, key: PRNGKeyArray, pairs: Pairs) -> Finding:
        """Return whether regions of highest density cover what they claim."""
        return coverage(key, pairs.log_probs_true, pairs.log_probs, level=self.level)


CHECK = Coverage
