"""Contraction: how much narrower than the prior the posterior is.

1 - posterior variance / prior variance (Schad et al. 2021, arXiv:1904.12765). Tests of calibration
accept the prior in place of the posterior; its contraction is 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.calibration import Pairs, checked_draws, named
from sbibench.core.errors import UsageError
from sbibench.core.finding import Finding
from sbibench.core.metric import checked
from sbibench.inference.verdicts import listed

ERRORS = 3.0
"""Standard errors above 0 from which on a contraction counts as one."""


def contraction(
    key: PRNGKeyArray,  # noqa: ARG001 - all checks are called alike; nothing is random here
    thetas: Any,
    draws: Any,
    prior_draws: Any,
    *,
    names: Sequence[str] | None = None,
) -> Finding:
    """Return the contraction of each parameter, averaged over pairs.

    It says how much the posterior claims to have learnt, not whether the claim is true. Averaged
    over data that of a true posterior is never below 0; it is 0 where data say nothing, and where
    they leave two modes that mirror each other.

    Parameters
    ----------
    key
        Nothing is random.
    thetas, draws
        True parameters [N, d] and posterior draws [N, L, d] for the data of each; N, L ≥ 2.
    prior_draws
        Draws of the prior [M, d], M ≥ 2.
    names
        Of the parameters, for the verdict.

    Returns
    -------
    Finding
        `statistic` is the mean over parameters. In `values`, by parameter: `contraction` and
        `error`, its standard error. `passed` is False where no parameter contracts by more than
        three standard errors, and None otherwise.

    Raises
    ------
    UsageError
        If arrays do not belong together or are not finite, or if the prior does not vary.
    """
    truth, others = checked_draws(thetas, draws, pairs=2, draws_each=2)
    prior = checked(prior_draws, "prior draws", at_least=2)
    n, d = truth.shape
    called = named(names, d)
    if prior.shape[1] != d:
        raise UsageError(f"prior draws have {prior.shape[1]} columns, parameters have {d}")
    still = [called[i] for i in np.flatnonzero(np.ptp(prior, axis=0) == 0)]
    if still:
        raise UsageError(f"the prior holds {listed(still)} fixed: there is nothing to contract")
    each = 1 - others.var(1, ddof=1) / prior.var(0, ddof=1)
    found, error = each.mean(0), each.std(0, ddof=1) / np.sqrt(n)
    # The prior's variance is an estimate, too, which counts where nothing contracts.
    fourth = np.mean(((prior - prior.mean(0)) / prior.std(0)) ** 4, axis=0)
    error = np.hypot(error, (1 - found) * np.sqrt((fourth - 1) / len(prior)))
    narrower = found > ERRORS * error
    idle = [called[i] for i in np.flatnonzero(~narrower)]
    if not narrower.any():
        verdict = (
            "no narrower than the prior: it has learnt nothing, or its modes mirror each other"
        )
    elif idle:
        verdict = f"no narrower than the prior in {listed(idle)}"
    else:
        least, most = found.min(), found.max()
        verdict = f"narrower than the prior in every parameter, by {least:.2f} to {most:.2f}"
    return Finding(
        statistic=float(found.mean()),
        passed=None if narrower.any() else False,
        verdict=verdict,
        values={"contraction": found, "error": error},
        arrays={"contraction": found, "contraction_error": error},
    )


@dataclass(frozen=True, kw_only=True)
class Contraction:
    """The finding of `contraction`; it has no options."""

    needs: ClassVar[tuple[str, ...]] = ("thetas", "draws", "prior_draws")

    def __call__(self, key: PRNGKeyArray, pairs: Pairs) -> Finding:
        """Return how much narrower than the prior the posterior is."""
        return contraction(key, pairs.thetas, pairs.draws, pairs.prior_draws, names=pairs.names)


CHECK = Contraction
