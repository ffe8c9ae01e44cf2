"""Simulation-based calibration of a sampler of the true posterior (Talts et al. 2018).

θ* is drawn from the prior and x from the simulator; among draws of the posterior of x, the rank of
θ* is uniform if simulator, likelihood and sampler belong together. Ranked are the parameters, the
log likelihood and the log posterior: the last two see what no single parameter shows (Modrák et
al. 2023).
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.special import ndtri
from scipy.stats import chi2, kstest, norm

from sbibench.core import priors
from sbibench.core.blocks import map_rows
from sbibench.core.errors import SamplingError
from sbibench.core.keys import numpy_rng
from sbibench.core.problem import Progress, silent
from sbibench.core.task import Task
from sbibench.inference.ranks import shares

Sampler = Callable[[PRNGKeyArray, np.ndarray, int], np.ndarray]
"""(key, x [p], n) -> θ [n, d]."""


@dataclass(frozen=True)
class Ranks:
    """Where the truth lay among the draws.

    Attributes
    ----------
    shares
        Share of the draws below the truth, ties broken at random: [observations, quantities].
    quantities
        What was ranked.
    draws
        Draws for each observation.
    left_out
        Observations whose posterior the sampler gave up: that depends on x alone, not on the truth
        behind it, so the ranks of the others are uniform all the same.
    """

    shares: np.ndarray
    quantities: tuple[str, ...]
    draws: int
    left_out: int = 0

    def p_value(self) -> float:
        """Return the smallest p-value of all tests of uniformity, times their number.

        For each quantity: Kolmogorov-Smirnov, and mean and variance of the normal scores.
        """
        n, k = self.shares.shape
        scores = ndtri(self.shares)
        squares = np.sum(scores**2, axis=0)
        p_values = [
            *(kstest(column, "uniform").pvalue for column in self.shares.T),
            *(2 * norm.sf(np.abs(scores.mean(0)) * np.sqrt(n))),
            *(2 * np.minimum(chi2.cdf(squares, n), chi2.sf(squares, n))),
        ]
        return float(min(1.0, 3 * k * min(p_values)))

    def histogram(self, bins: int = 20) -> dict[str, list[int]]:
        """Return how many shares of each quantity lie in each of equal bins."""
        counts = [np.histogram(column, bins, (0, 1))[0].tolist() for column in self.shares.T]
        return dict(zip(self.quantities, counts, strict=True))


def calibrate(
    key: PRNGKeyArray,
    task: Task,
    sample: Sampler,
    observations: int,
    draws: int,
    progress: Progress = silent,
) -> Ranks:
    """Rank the truth among posterior draws for so many fresh observations.

    Simulations that are not finite, and observations at which the sampler reaches its cap, are
    replaced by others.

    Raises
    ------
    SamplingError
        If that is so for more than half of them.
    """
    prior_key, simulator_key, sampler_key, ties_key = jax.random.split(key, 4)
    thetas = map_rows(task.prior.sample, key=prior_key, n=2 * observations)
    xs = task.forward(simulator_key, thetas)
    valid = np.isfinite(xs).all(1)
    rng = numpy_rng(ties_key)
    drawn: list[np.ndarray] = []
    at: list[int] = []
    left_out, reason = 0, ""
    for i in np.flatnonzero(valid):
        if len(at) == observations:
            break
        try:
            drawn.append(sample(jax.random.fold_in(sampler_key, int(i)), xs[i], draws))
        except SamplingError as error:
            left_out, reason = left_out + 1, f" (the last: {error})"
            continue
        at.append(int(i))
        progress("calibration", len(at), observations)
    if len(at) < observations:
        raise SamplingError(
            f"{task.name}: of {len(xs)} simulations from the prior {valid.sum()} are finite, and "
            f"the sampler gave up {left_out} of them{reason}: too few are left for a calibration"
        )
    thetas, xs = thetas[at], xs[at]
    truth = _quantities(task, thetas[:, None], xs)[:, 0]
    others = _quantities(task, np.stack(drawn), xs)
    names = task.parameter_names
    if task.log_likelihood is not None:
        names = (*names, "log_likelihood", "log_posterior")
    return Ranks(shares(rng, truth, others), names, draws, left_out)


def _quantities(task: Task, thetas: np.ndarray, xs: np.ndarray) -> np.ndarray:
    """Return what is ranked of θ [observations, draws, d]: [observations, draws, quantities]."""
    if task.log_likelihood is None:
        return thetas
    n, draws, d = thetas.shape
    rows = thetas.reshape(-1, d)
    log_like = map_rows(task.log_likelihood, rows, np.repeat(xs, draws, axis=0))
    log_like = np.where(np.isnan(log_like), -np.inf, log_like)
    log_post = log_like + priors.rows(task.prior).log_prob(rows)
    added = np.stack([log_like, log_post], axis=1).reshape(n, draws, 2)
    return np.concatenate([thetas, added], axis=2)
