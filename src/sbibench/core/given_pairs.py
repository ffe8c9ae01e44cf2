"""Whether simulations that exist already are of the problem that they are given for."""

import warnings

import jax
import numpy as np
from numpyro.distributions import Distribution
from scipy.stats import ks_2samp

from sbibench.core import priors
from sbibench.core.errors import UsageError

DRAWS = 20_000
"""Draws of the prior that the given parameters are compared with."""

SURE = 1e-6
"""Chance, at most, that any of the parameters of true draws is said not to follow the prior."""


class PriorWarning(UserWarning):
    """Parameters that are not distributed as the prior."""


def check_pairs(thetas: np.ndarray, xs: np.ndarray, prior: Distribution, x_obs: np.ndarray) -> None:
    """Compare parameters [n, d] and data [n, p] with the prior and an observation [p].

    Whether each parameter follows the prior is told by a Kolmogorov-Smirnov test. How parameters go
    together is not looked at.

    Raises
    ------
    UsageError
        If there are other numbers of parameters or data, or parameters outside the prior.

    Warns
    -----
    PriorWarning
        If a parameter does not follow the prior.
    """
    for what, got, wanted in (
        ("parameters", thetas.shape[1], prior.event_shape[0]),
        ("data values", xs.shape[1], len(x_obs)),
    ):
        if got != wanted:
            raise UsageError(f"the stored simulations have {got} {what}, not {wanted}")
    rows = priors.rows(prior)
    out = int((~rows.inside(rows.single(thetas))).sum())
    if out:
        raise UsageError(
            f"{out} of {len(thetas)} stored parameters lie outside the prior, which they must be "
            "drawn from"
        )
    drawn = rows.sample(jax.random.key(0), DRAWS)
    tests = [ks_2samp(*columns) for columns in zip(thetas.T, drawn.T, strict=True)]
    chances = np.array([test.pvalue for test in tests]) * len(tests)
    if (chances < SURE).any():
        worst = int(chances.argmin())
        warnings.warn(
            f"stored parameters {np.flatnonzero(chances < SURE).tolist()} (counted from 0) do not "
            f"follow the prior (parameter {worst}: quartiles {_quartiles(thetas[:, worst])}, the "
            f"prior's {_quartiles(drawn[:, worst])}): posteriors would be those under another "
            "prior. Give the one that they were drawn from",
            PriorWarning,
            stacklevel=2,
        )


def _quartiles(values: np.ndarray) -> str:
    return ", ".join(f"{q:.3g}" for q in np.quantile(values, [0.25, 0.5, 0.75]))
