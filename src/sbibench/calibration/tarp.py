"""TARP: whether balls around random points hold the truth as often as they hold posterior draws.

Lemos et al. 2023 (arXiv:2302.03026). It needs no density and sees all parameters together. With
references that do not depend on the data it accepts the prior in place of the posterior.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.stats import chi2

from sbibench.core.calibration import Pairs, checked_draws
from sbibench.core.errors import UsageError
from sbibench.core.finding import LEVEL, Finding
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import checked
from sbibench.inference.ranks import direction, shares, uniformity
from sbibench.inference.verdicts import check_level, no_fault


def tarp(
    key: PRNGKeyArray,
    thetas: Any,
    draws: Any,
    prior_draws: Any,
    *,
    references: Any = None,
    level: float = LEVEL,
) -> Finding:
    """Return whether the truth lies as far from reference points as the draws do.

    Each pair has a reference point of its own. The share of draws nearer to it than the truth is
    uniform over pairs if the posterior is right. Distances are Euclidean between parameters in
    units of the prior's deviation, the references included, so that no parameter drowns another.

    A constant bias hides from that share alone: where references lie on either side of the
    posterior, it raises the shares of half the pairs and lowers the others'. So a second test asks
    whether the share depends on the direction in which the reference lies: its mean, weighted by
    the unit vectors from the references to the centres of the posteriors, has a known covariance.

    Parameters
    ----------
    key
        Chooses references and breaks ties.
    thetas, draws
        True parameters [N, d] and posterior draws [N, L, d] for the data of each.
    prior_draws
        Draws of the prior [M, d] that are independent of the others.
    references
        Reference points [N, d]; they may depend on the data but not on the truth or the draws. By
        default rows of `prior_draws`.
    level
        How often a calibrated posterior may be found faulty; the band goes with it.

    Returns
    -------
    Finding
        `statistic` is the largest distance of expected from nominal coverage, `p_value` the
        smallest of those of three tests times 3. In `values`: `ks_p_value`, `band_p_value`,
        `bias_p_value`.

    Raises
    ------
    UsageError
        If arrays do not belong together or are not finite.
    """
    check_level(level)
    truth, others = checked_draws(thetas, draws)
    n, d = truth.shape
    prior = checked(prior_draws, "prior draws")
    rng = numpy_rng(key)
    points = prior[rng.integers(len(prior), size=n)] if references is None else references
    points = checked(points, "references")
    for what, width in (("prior draws", prior.shape[1:]), ("references", points.shape[1:])):
        if width != (d,):
            raise UsageError(f"{what} have {width[0]} columns, parameters have {d}")
    if len(points) != n:
        raise UsageError(f"{n} pairs need as many references, not {len(points)}")
    deviation = prior.std(0)
    deviation[np.ptp(prior, axis=0) == 0] = 1
    truth, others, points = truth / deviation, others / deviation, points / deviation
    near = ((others - points[:, None]) ** 2).sum(2)
    nearer = shares(rng, ((truth - points) ** 2).sum(1)[:, None], near[:, :, None])
    found = uniformity(nearer, level / 3)
    centres = (truth + others.sum(1)) / (others.shape[1] + 1)
    tests = {
        "ks_p_value": found.ks_p_values,
        "band_p_value": found.band_p_values,
        "bias_p_value": np.array([_bias(nearer[:, 0], centres - points)]),
    }
    least = min(tests, key=lambda name: float(tests[name][0]))
    p_value = min(1.0, 3 * float(tests[least][0]))
    passed = p_value > level
    fault = "shifted to one side" if least == "bias_p_value" else _fault(nearer[:, 0])
    return Finding(
        statistic=float(found.ks[0]),
        p_value=p_value,
        passed=passed,
        level=level,
        verdict=no_fault(n) if passed else fault,
        values=tests,
        arrays={
            "tarp_at": found.at,
            "tarp": found.at + found.above[:, 0],
            "tarp_low": found.at + found.low,
            "tarp_high": found.at + found.high,
        },
    )


def _bias(nearer: np.ndarray, away: np.ndarray) -> float:
    """Return the p-value of shares [n] that do not depend on the direction of vectors [n, d].

    The centres that the vectors end at are those of truth and draws together: knowing them tells
    nothing of which is which.
    """
    length = np.linalg.norm(away, axis=1, keepdims=True)
    units = away / np.where(length > 0, length, 1)
    total = (nearer - 0.5) @ units
    covariance = units.T @ units / 12
    rank = np.linalg.matrix_rank(covariance, hermitian=True)
    if rank == 0:
        return 1.0
    return float(chi2.sf(total @ np.linalg.pinv(covariance, hermitian=True) @ total, rank))


def _fault(nearer: np.ndarray) -> str:
    mean, spread = direction(nearer)
    if max(abs(mean), abs(spread)) < 2:
        return "of the wrong shape"
    far = mean if abs(mean) > abs(spread) else spread
    return "too narrow or misplaced" if far > 0 else "too wide"


@dataclass(frozen=True, kw_only=True)
class TARP:
    """The finding of `tarp`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("thetas", "draws", "prior_draws")

    level: float = LEVEL

    def __call__(self, key: PRNGKeyArray, pairs: Pairs) -> Finding:
        """Return whether balls around draws of the prior hold the truth as they should."""
        return tarp(key, pairs.thetas, pairs.draws, pairs.prior_draws, level=self.level)


CHECK = TARP
