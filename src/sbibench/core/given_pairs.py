"""Whether simulations that exist already are of the problem that they are given for."""

import warnings

import jax
import numpy as np
from numpyro.distributions import Distribution
from scipy.stats import ks_2samp

from sbibench.core import priors
from sbibench.core.errors import UsageError

DRAWS = 20_000
"""Draws of the prior, and of the given parameters at most, that are compared."""

SURE = 1e-4
"""How likely a false warning is, at most, over all parameters together."""


class PriorWarning(UserWarning):
    """Parameters that are not distributed as the prior."""


def check_pairs(thetas: np.ndarray, xs: np.ndarray, prior: Distribution, p: int) -> None:
    """Compare parameters [n, d] and data [n, p] with the prior and the number of data.

    Whether each parameter follows the prior is told by a Kolmogorov-Smirnov test, which needs some
    hundreds of rows. How parameters go together is not looked at.

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
        ("data values", xs.shape[1], p),
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
    some = thetas[:: len(thetas) // DRAWS + 1]
    tests = [ks_2samp(*columns) for columns in zip(some.T, drawn.T, strict=True)]
    chances = np.array([test.pvalue for test in tests]) * len(tests)
    if (chances < SURE).any():
        worst = int(chances.argmin())
        warnings.warn(
            f"stored parameters {np.flatnonzero(chances < SURE).tolist()} (counted from 0) do not "
            f"follow the prior (parameter {worst}: quartiles {_quartiles(thetas[:, worst])}, the "
            f"prior's {_quartiles(drawn[:, worst])}): posteriors would be those under another "
            "prior. Give the one that they were drawn from, and keep rows whose simulation failed, "
            "with NaN as data",
            PriorWarning,
            stacklevel=2,
        )


def _quartiles(values: np.ndarray) -> str:
    return ", ".join(f"{q:.3g}" for q in np.quantile(values, [0.25, 0.5, 0.75]))
