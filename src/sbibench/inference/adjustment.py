"""Regression adjustment: move parameters to where they would be had their data been x_obs."""

from typing import Literal

import numpy as np
from numpyro.distributions import Distribution

from sbibench.core import priors

Adjustment = Literal["none", "linear"]
"""How parameters are corrected for the distance of their data from the observation."""


def adjust(
    prior: Distribution,
    thetas: np.ndarray,
    features: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None = None,
) -> tuple[np.ndarray, bool]:
    """Return parameters [m, d] corrected for features [m, k] that differ from the target [k].

    Least squares fits u = a + (s - s_obs) B to the unconstrained parameters u, and each u becomes
    u - (s - s_obs) B (Beaumont, Zhang & Balding 2002, on local-linear regression), then goes back
    to the prior's support. Parameters count by their weights [m], equally if there are none; the
    paper's further weight by distance is left out. Constant or dependent features do no harm: of
    many solutions the one of smallest norm is taken. A row that would become infinite in float32
    keeps its value.

    Returns
    -------
    tuple
        The parameters, float32, and whether they were adjusted: with no more rows than
        coefficients the fit is exact and would move all rows to one point, so nothing is done, nor
        where no feature varies.
    """
    varies = np.ptp(features, axis=0) > 0
    if not varies.any():
        return thetas, False
    features, target = features[:, varies].astype(np.float64), target[varies]
    scale = features.std(0)
    centred = (features - np.average(features, axis=0, weights=weights)) / scale
    if np.linalg.matrix_rank(centred) >= len(centred) - 1:
        return thetas, False
    rows = priors.rows(prior)
    us = rows.from_support(thetas.astype(np.float64))
    root = np.sqrt(np.ones(len(us)) if weights is None else weights)[:, None]
    around_mean = us - np.average(us, axis=0, weights=weights)
    slopes = np.linalg.lstsq(root * centred, root * around_mean)[0]
    with np.errstate(over="ignore", invalid="ignore"):
        moved = rows.to_support(us - (features - target) / scale @ slopes)
        finite = np.isfinite(moved.astype(np.float32)).all(1, keepdims=True)
    return rows.single(np.where(finite, moved, thetas)), True
