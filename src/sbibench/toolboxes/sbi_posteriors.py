"""Posteriors of the toolbox `sbi`, asked as ours are."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.problem import Problem, checked_x
from sbibench.toolboxes.guest import guest

LEAKAGE_DRAWS = 10_000
"""Draws that say how much of an estimate lies inside the prior's support, as many as sbi takes."""


def tensor(rows: np.ndarray) -> Any:
    """Return an array as a float32 tensor of its own memory."""
    return torch.as_tensor(np.array(rows, np.float32))


@dataclass(frozen=True)
class SbiChains:
    """How sbi samples by MCMC: slice sampling of many chains at once; the names are sbi's.

    Attributes
    ----------
    num_chains
        How many chains.
    warmup_steps
        Steps of each that are dropped.
    """

    num_chains: int = 20
    warmup_steps: int = 200

    def __post_init__(self) -> None:
        if self.num_chains < 1 or self.warmup_steps < 0:
            raise UsageError(
                f"num_chains is 1 or more and warmup_steps 0 or more, not {self.num_chains} and "
                f"{self.warmup_steps}"
            )


class SbiPosterior:
    """A posterior of sbi, asked as ours are."""

    def __init__(self, native: Any, problem: Problem, info: Info) -> None:
        self.native = native
        self.amortized = True
        self.info = info
        self._prior: Distribution = problem.prior
        self._x_obs = problem.x_obs
        self._options: dict[str, Any] = {}

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, by the toolbox's own method for this posterior.

        Raises
        ------
        SamplingError
            If the toolbox gives up, as it does when too few draws lie inside the prior's support.
        """
        check_count(n)
        with guest(key, self.info) as seed, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            try:
                drawn = self.native.sample(
                    (n,), x=self._at(x), show_progress_bars=False, **self._options
                )
            except RuntimeError as error:
                raise SamplingError(f"sbi: {error}") from error
        return priors.rows(self._prior).single(drawn.detach().numpy())

    def _at(self, x: Any) -> Any:
        """Return where it is asked, x or x_obs, as a tensor [1, p]."""
        if not self.amortized:
            check_same_x(x, self._x_obs)
        return tensor(self._x_obs if x is None else checked_x(x, self._x_obs))[None]


class ChainsPosterior(SbiPosterior):
    """A posterior of sbi that is sampled by MCMC, and has no density that sums to one."""

    def __init__(self, native: Any, problem: Problem, info: Info, chains: SbiChains) -> None:
        super().__init__(native, problem, info)
        self._options = asdict(chains)


class RejectingPosterior(SbiPosterior):
    """A posterior of sbi that is drawn directly; what lies outside the support is rejected."""

    def __init__(self, native: Any, problem: Problem, info: Info, seconds: float) -> None:
        super().__init__(native, problem, info)
        self._options = {"max_sampling_time": seconds}


class DensityPosterior(RejectingPosterior):
    """The same with a density."""

    def log_prob(self, thetas: Any, x: Any = None) -> np.ndarray:
        """Return log densities [n] of rows θ [n, d], -inf outside the prior's support.

        They are divided by the share of draws inside, which sbi estimates, too; but by as many
        draws as it takes to find enough inside.

        Raises
        ------
        SamplingError
            If no draw lies inside.
        """
        at = self._at(x)
        rows = priors.rows(self._prior)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            draws = self.native.posterior_estimator.sample((LEAKAGE_DRAWS,), condition=at)
            logs = self.native.log_prob(tensor(thetas), x=at, norm_posterior=False)
        inside = rows.inside(draws[:, 0].numpy()).mean()
        if not inside:
            raise SamplingError("sbi: the estimate lies outside the prior's support")
        density = logs.numpy().astype(np.float64) - np.log(inside)
        return np.where(rows.inside(np.asarray(thetas)), density, -np.inf)
