"""Negative log density of the true parameters, averaged over pairs (NLTP).

Lueckmann et al. 2021 (arXiv:2101.04653, appendix A.4). Over many pairs it is the divergence of the
posterior from the true one plus a constant of the task, so unlike tests of calibration it is not
content with the prior. One pair alone says little: it may prefer a posterior that is too wide.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.calibration import Pairs, checked_densities
from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.finding import Finding

ERRORS = 3.0
"""Standard errors above 0 from which on a gain over the prior counts as one."""


def nltp(
    key: PRNGKeyArray,  # noqa: ARG001 - all checks are called alike; nothing is random here
    log_probs_true: Any,
    log_priors_true: Any,
) -> Finding:
    """Return the mean of -log q(θ* | x) with its standard error, and what is gained over the prior.

    Parameters
    ----------
    key
        Nothing is random.
    log_probs_true
        Log posterior densities at the true parameters [N], normalised; N ≥ 2.
    log_priors_true
        Log prior densities there [N].

    Returns
    -------
    Finding
        `statistic` is the mean, in nats; smaller is better, and figures of the same task compare.
        In `values`: `error`, `gain`, the mean of log q(θ* | x) - log p(θ*), and `gain_error`.
        `passed` is False where the gain is not above 0 by three standard errors: then the posterior
        serves no better than the prior. Otherwise it is None, for the best value is not known.

    Raises
    ------
    UsageError
        If there are fewer than two pairs, arrays differ in length, a density is NaN or +inf, or a
        true parameter is outside the prior.
    SbibenchError
        If the density is 0 at a true parameter: the mean is infinite.
    """
    posterior = checked_densities(log_probs_true, "log densities of the parameters", (None,))
    n = len(posterior)
    prior = checked_densities(log_priors_true, "log prior densities", (n,))
    if n < 2:
        raise UsageError(f"the error of a mean needs 2 pairs or more, not {n}")
    if np.isneginf(prior).any():
        raise UsageError("the prior's density is 0 at some true parameters: they are not its own")
    lost = int(np.isneginf(posterior).sum())
    if lost:
        raise SbibenchError(
            f"the posterior's density is 0 at {lost} of {n} true parameters: the mean is infinite"
        )
    gain = posterior - prior
    mean, error, gain_error = gain.mean(), *(a.std(ddof=1) / np.sqrt(n) for a in (posterior, gain))
    better = bool(mean > ERRORS * gain_error)
    gained = f"{mean:.2f} ± {gain_error:.2f} nats better than the prior"
    return Finding(
        statistic=float(-posterior.mean()),
        passed=None if better else False,
        verdict=gained
        if better
        else f"no better than the prior ({mean:+.2f} ± {gain_error:.2f} nats)",
        values={
            "error": np.array(error),
            "gain": np.array(mean),
            "gain_error": np.array(gain_error),
        },
    )


@dataclass(frozen=True, kw_only=True)
class NLTP:
    """The finding of `nltp` over pairs; it has no options."""

    needs: ClassVar[tuple[str, ...]] = ("log_probs_true", "log_priors_true")

    def __call__(self, key: PRNGKeyArray, pairs: Pairs) -> Finding:
        """Return the mean negative log density of the true parameters."""
        return nltp(key, pairs.log_probs_true, pairs.log_priors_true)


CHECK = NLTP
