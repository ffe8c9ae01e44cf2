"""Synthetic likelihood: slice sampling with a Gaussian fitted to fresh simulations at each place.

Wood 2010, as in Lueckmann et al. 2021, appendices A.10 and H: 100 simulations for each evaluation.
By default many chains in place of the paper's one, so that each turn simulates thousands of rows
at once; they start at prior draws resampled by their synthetic likelihood, and go on until the
budget is used.
"""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.blocks import map_rows
from sbibench.core.errors import DeadlineError, SamplingError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.saving import Portable
from sbibench.inference.slice import SliceSampling
from sbibench.inference.slice_host import HostChains
from sbibench.inference.synthetic import SyntheticLikelihood

EVALUATIONS = 7
"""What an update along one axis takes, about: the ends of the interval and some tries inside."""

TRIES = 10
"""Tries inside the interval, at most. Where the estimate at a chain's place is far too high nearly
all fail; the chain stays then, which leaves the posterior as it is, since the same tries would be
made on the way back. All chains are cut to the slowest, which made half as many sweeps with a
hundred (gaussian_linear: 84 in place of 159)."""


@dataclass(frozen=True)
class SL:
    """Settings of the synthetic likelihood.

    Attributes
    ----------
    simulations
        How many estimate the Gaussian at one place.
    epsilon
        Is added to the diagonal of its covariance, which may be singular otherwise: where data are
        discrete, or where there are no more simulations than columns.
    chains
        Chains that move at once.
    candidates
        Draws of the prior from which the chains' first places are resampled.
    warmup
        Sweeps over all parameters before the first draw; if half the budget that the candidates
        leave is used before, the warm-up ends there.
    invalid
        What to do with simulations that are not finite: "refuse", since the Gaussian is fitted to
        the others and leaves out how rare they are; or "drop", to accept that bias.
    """

    simulations: int = 100
    epsilon: float = 0.0
    chains: int = 100
    candidates: int = 1000
    warmup: int = 20
    invalid: InvalidPolicy = "refuse"
    amortized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_types(self)
        if self.simulations < 2:
            raise UsageError(f"simulations is 2 or more, not {self.simulations}")
        if not 0 <= self.epsilon < np.inf:
            raise UsageError(f"epsilon is 0 or positive and finite, not {self.epsilon}")
        if self.chains < 1 or self.candidates < self.chains:
            raise UsageError("chains is 1 or more, and there are at least as many candidates")
        if self.warmup < 0:
            raise UsageError(f"warmup is 0 sweeps or more, not {self.warmup}")

    @property
    def _groups(self) -> int:
        """How many times all chains' places are simulated to weigh the candidates."""
        return -(-self.candidates // self.chains)

    def _check(self, problem: Problem) -> None:
        problem.simulator.demand()
        sweeps = min(self.warmup, 1) + 1
        needed = self._groups * self.chains + sweeps * EVALUATIONS * self.chains * problem.d
        if problem.simulator.left < needed * self.simulations:
            raise UsageError(
                f"the synthetic likelihood needs {needed * self.simulations} simulations to get "
                f"through its candidates and {sweeps} sweeps of its chains, the budget has "
                f"{problem.simulator.left}; raise it, or lower candidates, chains or simulations"
            )
        if self.epsilon == 0 and self.simulations <= problem.p:
            raise UsageError(
                f"the covariance of {problem.p} columns of x is singular if estimated from "
                f"{self.simulations} simulations; raise simulations or set epsilon"
            )

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "SLPosterior":
        """Run the chains until the budget is used.

        Raises
        ------
        UsageError
            If the budget is too small for candidates and two sweeps, or the covariance can't but
            be singular; nothing is simulated then.
        SamplingError
            If the synthetic likelihood is 0 at all candidates.
        InvalidSimulationsError
            If a simulation is not finite and the policy `invalid` is to refuse it.
        DeadlineError
            If the time is over before the chains have started.
        """
        self._check(problem)
        start_key, simulator_key, chain_key = random.split(key, 3)
        likelihood = SyntheticLikelihood(
            simulator_key, problem, self.simulations, self.epsilon, self.invalid
        )
        us, log_f = self._start(start_key, problem, likelihood)
        chains = HostChains(chain_key, us, log_f, SliceSampling(max_in=TRIES))
        info: Info = {}
        try:
            self._run(chains, problem, likelihood)
        except DeadlineError:
            info["stopped"] = "deadline"
        # Where there is no time for a draw of each chain, it is the place where it has come to.
        draws = chains.draws if len(chains.draws) else chains.us[None]
        rows = priors.rows(problem.prior)
        thetas = rows.single(rows.to_support(draws.reshape(-1, problem.d)))
        info |= {
            "draws": len(thetas),
            "sweeps": int(chains.sweeps.min()),
            "capped": chains.capped,
        }
        if likelihood.constant:
            info["constant_columns"] = ",".join(map(str, likelihood.constant))
        return SLPosterior(thetas, problem.x_obs, info)

    def _start(
        self, key: PRNGKeyArray, problem: Problem, likelihood: SyntheticLikelihood
    ) -> tuple[np.ndarray, np.ndarray]:
        """Resample places u [c, d] from draws of the prior; return their log densities [c], too."""
        prior_key, choice_key = random.split(key)
        rows = priors.rows(problem.prior)
        thetas = rows.sample(prior_key, self._groups * self.chains)
        log_like = np.empty(len(thetas))
        for i, group in enumerate(np.split(np.arange(len(thetas)), self._groups)):
            log_like[group] = likelihood(thetas[group], np.ones(self.chains, bool))
            problem.progress("weighing candidates", (i + 1) * self.chains, len(thetas))
        if not np.isfinite(log_like).any():
            raise SamplingError(
                f"the synthetic likelihood is 0 at all of {len(thetas)} draws of the prior; set "
                "epsilon if the covariance of x is singular, or raise candidates"
            )
        weights = np.exp(log_like - log_like.max())
        chosen = numpy_rng(choice_key).choice(len(thetas), self.chains, p=weights / weights.sum())
        us = rows.from_support(thetas[chosen].astype(np.float64))
        return us, log_like[chosen] + map_rows(_log_prior(problem.prior), us)

    def _run(self, chains: HostChains, problem: Problem, likelihood: SyntheticLikelihood) -> None:
        """Warm up, then draw until the budget is used."""
        rows, log_prior = priors.rows(problem.prior), _log_prior(problem.prior)
        budget = problem.simulator.left
        warm, wide = self.warmup == 0, False
        while likelihood.affords(self.chains):
            problem.deadline.check("sampling slices")
            us = chains.places()
            log_f = map_rows(log_prior, us)
            somewhere = np.isfinite(log_f)
            log_f = np.where(somewhere, log_f, -np.inf)
            log_f = log_f + likelihood(rows.to_support(us), somewhere)
            chains.move(log_f, keep=warm)
            sweeps, used = chains.sweeps.min(), budget - problem.simulator.left
            if not wide and (sweeps >= self.warmup / 2 or used >= budget / 4):
                chains.rescale()
                wide = True
            warm = warm or sweeps >= self.warmup or used >= budget / 2
            problem.progress("slice sampling", used, budget)


@functools.lru_cache(maxsize=64)
def _log_prior(prior: Distribution) -> Any:
    """Return u [d] -> log density of u in unconstrained space: one object a prior."""
    return functools.partial(priors.log_prob_unconstrained, prior)


class SLPosterior(Portable):
    """Draws of the chains for one observation."""

    amortized = False

    def __init__(self, thetas: np.ndarray, x_obs: np.ndarray, info: Info) -> None:
        self._thetas = thetas
        self._x_obs = x_obs
        self.info = info

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, from those of the chains: none twice while they last."""
        check_same_x(x, self._x_obs)
        check_count(n)
        kept = len(self._thetas)
        return self._thetas[numpy_rng(key).choice(kept, n, replace=n > kept)]


ALGORITHM = SL
PAPER = SL(chains=1, candidates=10_000, warmup=1000)
