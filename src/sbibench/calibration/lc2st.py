"""L-C2ST: whether a classifier tells draws of the posterior from the truth at one observation.

Linhart et al. 2023 (arXiv:2306.03580). The classifier learns from all pairs and is asked at x_o
alone, so faults that even out over data are seen, the prior in place of the posterior among them.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist, pdist
from scipy.special import ndtri

from sbibench.core.calibration import Pairs, checked_draws
from sbibench.core.errors import UsageError
from sbibench.core.finding import LEVEL, Finding
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import checked
from sbibench.inference.verdicts import check_level, no_fault

DRAWS = 4
"""Draws of each pair that the classifier sees: more add little."""

ROWS = 4000
"""Rows that it learns from, at most: the time grows with the third power."""

MEDIAN_ROWS = 1000
"""Rows whose distances the kernel's width is the median of."""


def lc2st(
    key: PRNGKeyArray,
    thetas: Any,
    xs: Any,
    draws: Any,
    x_obs: Any,
    draws_at_x_obs: Any,
    *,
    permutations: int = 1000,
    level: float = LEVEL,
) -> Finding:
    """Return whether the posterior at one observation can be told from the true one.

    The classifier is a kernel ridge regression of the labels: without the noise of training, and
    solved for all permutations of the labels at once. It sees θ as it lies among the draws at its
    x, in units of their covariance, so that a posterior much narrower than the prior is judged by
    its shape (the paper's variant for flows does so through the flow), and the data as normal
    scores.

    Under a posterior without fault truth and draws of a pair are exchangeable. The null
    distribution is that of the statistic where one of each pair, chosen at random, is called the
    truth; the p-value is exact.

    Parameters
    ----------
    key
        Chooses draws and permutes labels.
    thetas, xs, draws
        True parameters [N, d], data [N, p], and posterior draws [N, L, d] for the data of each;
        N ≥ 2. Of more than 2000 pairs the first 2000 are used.
    x_obs, draws_at_x_obs
        The observation [p], and draws of its posterior [K, d], K ≥ 2.
    permutations
        Of the null distribution.
    level
        How often a posterior without fault may be found faulty.

    Returns
    -------
    Finding
        `statistic` is the mean over draws at x_obs of (c - 1/2)², where c is how probable the
        classifier holds each to be the truth rather than a draw, to first order around 1/2.

    Raises
    ------
    UsageError
        If arrays do not belong together or are not finite.
    """
    check_level(level)
    if permutations < 1:
        raise UsageError(f"permutations are 1 or more, not {permutations}")
    truth, others = checked_draws(thetas, draws, pairs=2)
    d = truth.shape[1]
    data = checked(xs, "data", at_least=2)
    asked = checked(draws_at_x_obs, "draws at x_obs", at_least=2)
    x = checked(np.asarray(x_obs)[None], "x_obs")
    if len(data) != len(truth) or x.shape[1] != data.shape[1] or asked.shape[1] != d:
        raise UsageError(
            f"parameters {truth.shape}, data {data.shape}, x_obs {x.shape[1:]} and draws at x_obs "
            f"{asked.shape} do not belong together"
        )
    used = min(len(truth), ROWS // 2)
    each = min(DRAWS, others.shape[1], ROWS // used - 1)
    rng = numpy_rng(key)
    chosen = 1 + np.argsort(rng.random((used, others.shape[1])), axis=1)[:, :each]
    pool = _standardised(np.concatenate([truth[:used, None], others[:used]], axis=1))
    rows = np.take_along_axis(pool, np.insert(chosen, 0, 0, axis=1)[:, :, None], axis=1)
    labels = _labels(rng, used, each, permutations)
    at = _standardised(asked[None])[0]
    fitted = _fitted(rows, _scores(data[:used], data[:used]), labels, at, _scores(data[:used], x))
    # A label is to be expected as (p - q) / (p + each q), so c - 1/2 is near (1 + each) / 4 of it.
    statistics = np.mean(((1 + each) / 4 * fitted) ** 2, axis=0)
    null = statistics[1:]
    p_value = float((1 + np.sum(null >= statistics[0])) / (1 + permutations))
    passed = p_value > level
    return Finding(
        statistic=float(statistics[0]),
        p_value=p_value,
        passed=passed,
        level=level,
        verdict=no_fault(used) if passed else "not the true posterior of this observation",
        arrays={"null": null, "null_statistic": statistics[0]},
    )


def _standardised(pool: np.ndarray) -> np.ndarray:
    """Return θ [N, m, d] relative to the mean and the covariance of the m of each pair.

    The fewer there are, the less is made of correlations. Coordinates that do not vary become 0.
    """
    m, d = pool.shape[1:]
    centred = pool - pool.mean(1, keepdims=True)
    varies = np.ptp(pool, axis=1, keepdims=True) > 0
    scaled = centred / np.where(varies, centred.std(1, keepdims=True), np.inf)
    correlation = np.einsum("nmi,nmj->nij", scaled, scaled) / m
    doubt = max(1e-6, min(1.0, d / m))
    factor = np.linalg.cholesky((1 - doubt) * correlation + doubt * np.eye(d))
    whitened: np.ndarray = np.linalg.solve(factor[:, None], scaled[..., None])[..., 0]
    return whitened


def _scores(data: np.ndarray, xs: np.ndarray) -> np.ndarray:
    """Return the normal scores [k, p] of xs [k, p] among data [N, p], so that outliers are tame."""
    below = (data[None] < xs[:, None]).sum(1)
    ties = (data[None] == xs[:, None]).sum(1)
    scores: np.ndarray = ndtri((below + ties / 2 + 0.5) / (len(data) + 1))
    return scores


def _labels(rng: np.random.Generator, pairs: int, each: int, permutations: int) -> np.ndarray:
    """Return labels [rows, 1 + permutations]: 1 for what is called the truth; they sum to 0."""
    labels = np.full((1 + permutations, pairs, 1 + each), -1 / each)
    called = rng.integers(0, 1 + each, (1 + permutations, pairs, 1))
    called[0] = 0
    np.put_along_axis(labels, called, 1.0, axis=2)
    return labels.reshape(1 + permutations, -1).T


def _fitted(
    thetas: np.ndarray, xs: np.ndarray, labels: np.ndarray, at: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Return the labels [K, ...] that are to be expected at θ [K, d] and x [1, p].

    Kernel ridge regression on θ [N, m, d], x [N, p] and labels [N m, ...]. The kernel is a product
    of Gaussians of θ and of x, as wide as the median distance; the penalty is 1, since labels that
    are hard to tell have a variance of about 1.
    """
    n, m, d = thetas.shape
    flat = thetas.reshape(n * m, d)
    width = _median(flat)
    near = np.repeat(np.repeat(_gaussian(xs, xs, _median(xs)), m, axis=0), m, axis=1)
    kernel = near * _gaussian(flat, flat, width)
    kernel[np.diag_indices(n * m)] += 1
    weights = cho_solve(cho_factor(kernel, overwrite_a=True), labels, overwrite_b=True)
    local = np.repeat(_gaussian(x, xs, _median(xs)), m, axis=1)
    fitted: np.ndarray = (local * _gaussian(at, flat, width)) @ weights
    return fitted


def _gaussian(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    kernel: np.ndarray = np.exp(cdist(a, b, "sqeuclidean") / (-2 * width**2))
    return kernel


def _median(rows: np.ndarray) -> float:
    """Return the median distance of rows, or the mean if most are equal, or 1 if all are."""
    step = -(-len(rows) // MEDIAN_ROWS)
    distances = pdist(rows[::step])
    return float(np.median(distances)) or float(distances.mean()) or 1.0


@dataclass(frozen=True, kw_only=True)
class LC2ST:
    """The finding of `lc2st`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("thetas", "xs", "draws", "x_obs", "draws_at_x_obs")

    permutations: int = 1000
    level: float = LEVEL

    def __call__(self, key: PRNGKeyArray, pairs: Pairs) -> Finding:
        """Return whether the posterior at x_obs can be told from the true one."""
        return lc2st(
            key,
            pairs.thetas,
            pairs.xs,
            pairs.draws,
            pairs.x_obs,
            pairs.draws_at_x_obs,
            permutations=self.permutations,
            level=self.level,
        )


CHECK = LC2ST
