"""A posterior that is sampled by slice-sampling chains: an estimated likelihood times the prior."""

import functools
import math
from dataclasses import dataclass, field
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
from jax import random
from jaxtyping import Array, Float, PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.blocks import map_rows
from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.precision import SINGLE
from sbibench.core.problem import Progress, checked_x, silent
from sbibench.core.settings import check_types
from sbibench.inference import packing
from sbibench.inference.estimator import Estimator
from sbibench.inference.features import Features
from sbibench.inference.saving import Portable
from sbibench.inference.slice import SliceSampling, slice_chains


@dataclass(frozen=True)
class MCMC:
    """Settings of the chains (Lueckmann et al. 2021, appendix A.3).

    Attributes
    ----------
    chains
        How many run side by side.
    candidates
        Draws of the prior from which the chains' first places are resampled, weighted by the
        estimated likelihood.
    slice
        Of slice sampling along the axes.
    """

    chains: int = 100
    candidates: int = 10_000
    slice: SliceSampling = field(default_factory=SliceSampling)

    def __post_init__(self) -> None:
        check_types(self)
        if self.chains < 1 or self.candidates < self.chains:
            raise UsageError("chains are 1 or more, and candidates no fewer than chains")


@functools.lru_cache(maxsize=64)
def _log_density(estimator: Estimator, prior: priors.Rows) -> Any:
    """Return (params, x, u) -> log of likelihood times prior where u [d] is unconstrained."""

    def log_density(params: Any, x: Float[Array, " p"], u: Float[Array, " d"]) -> Array:
        theta = priors.to_support(prior.prior, u).astype(SINGLE)
        log_likelihood = estimator.log_likelihood(params, x, theta)
        value: Array = log_likelihood + priors.log_prob_unconstrained(prior.prior, u)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    return log_density


class MCMCPosterior(Portable):
    """prior(θ) · exp log_likelihood(x | θ), up to a constant, sampled by chains.

    Parameters
    ----------
    estimator, params
        The estimate of the likelihood.
    features
        How the estimate sees x.
    prior, x_obs
        The prior, and the observation [p] that it was fitted for.
    info
        Facts about the fit; those of the chains of the last call of `sample` are added.
    settings
        Of the chains.
    amortized
        Whether it may be asked at another x; a sequential fit sets it to False.
    progress
        Is called while samples are drawn.
    """

    def __init__(
        self,
        estimator: Estimator,
        params: Any,
        features: Features,
        prior: Distribution,
        x_obs: np.ndarray,
        info: Info,
        settings: MCMC,
        *,
        amortized: bool = True,
        progress: Progress = silent,
    ) -> None:
        self.params = params
        self.features = features
        self.info = info
        self.amortized = amortized
        self._estimator = estimator
        self._prior, self._x_obs = prior, x_obs
        self._rows = priors.rows(prior)
        self._progress = progress
        self._settings = settings
        self._log_density = _log_density(estimator, self._rows)
        self._log_evidence: dict[bytes, float] = {}

    def parts(self) -> dict[str, Any]:
        """Return the arguments that it is made from, the weights as leaves."""
        return super().parts() | {"params": packing.kept(self._estimator, self.params)}

    @classmethod
    def from_parts(cls, parts: dict[str, Any]) -> Self:
        """Return the posterior that is made from these parts."""
        return cls(**parts | {"params": packing.refilled(parts["estimator"], parts["params"])})

    def _x(self, x: Any) -> np.ndarray:
        if not self.amortized:
            check_same_x(x, self._x_obs)
        return self.features(self._x_obs if x is None else checked_x(x, self._x_obs))

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, at x [p], by default the x_obs it was fitted for.

        Raises
        ------
        UsageError
            If n < 1 or x is not a finite vector of the right length.
        SamplingError
            If the estimate is finite at no candidate for the first places.
        """
        check_count(n)
        us, info = self._unconstrained(key, n, self._x(x))
        self.info |= info
        return self._rows.single(self._rows.to_support(us))

    def _unconstrained(self, key: PRNGKeyArray, n: int, x: np.ndarray) -> tuple[np.ndarray, Info]:
        """Draw n rows u [n, d], and say how."""
        start_key, choice_key, chain_key = random.split(key, 3)
        chains = self._settings.chains
        thetas = self._rows.sample(start_key, self._settings.candidates)
        weights = map_rows(self._estimator.log_likelihood, thetas, fixed=(self.params, x))
        weights = np.where(np.isfinite(weights), weights.astype(np.float64), -np.inf)
        if not np.isfinite(weights.max()):
            raise SamplingError(
                f"the estimated likelihood is finite at none of {len(thetas)} draws of the prior"
            )
        weights = np.exp(weights - weights.max())
        chosen = numpy_rng(choice_key).choice(len(thetas), chains, p=weights / weights.sum())
        us = self._rows.from_support(thetas.astype(np.float64))
        drawn, info = slice_chains(
            chain_key,
            self._log_density,
            us[chosen],
            math.ceil(n / chains),
            self._settings.slice,
            fixed=(self.params, x),
            width=4 * us.std(0),
            progress=self._progress,
        )
        return drawn.transpose(1, 0, 2).reshape(-1, drawn.shape[-1])[:n], info

    def log_prob(self, thetas: Any, x: Any = None) -> np.ndarray:
        """Return log densities [n] of rows θ [n, d] at x [p]; -inf outside the support.

        The normalising constant is estimated by importance sampling, with a Student-t
        distribution around draws of the chains in unconstrained coordinates.

        Raises
        ------
        SamplingError
            If it can't be estimated: the effective number of draws is below 100.
        """
        x = self._x(x)
        thetas = np.asarray(thetas, np.float64)
        if x.tobytes() not in self._log_evidence:
            self._log_evidence[x.tobytes()] = self._estimated_log_evidence(x)
        inside = self._rows.inside(thetas)
        log_likelihood = map_rows(
            self._estimator.log_likelihood, thetas.astype(np.float32), fixed=(self.params, x)
        )
        log_density = log_likelihood + self._rows.log_prob(thetas)
        return np.where(inside, log_density - self._log_evidence[x.tobytes()], -np.inf)

    def _estimated_log_evidence(self, x: np.ndarray, draws: int = 50_000) -> float:
        freedom = 5
        # A fixed key: asked twice, the density is the same.
        chain_key, key = random.split(random.key(0))
        us, _ = self._unconstrained(chain_key, 10 * self._settings.chains, x)
        d = us.shape[1]
        factor = np.linalg.cholesky(1.5 * np.cov(us.T).reshape(d, d) + 1e-12 * np.eye(d))
        rng = numpy_rng(key)
        t = rng.normal(size=(draws, d)) / np.sqrt(rng.chisquare(freedom, (draws, 1)) / freedom)
        log_f = map_rows(self._log_density, us.mean(0) + t @ factor.T, fixed=(self.params, x))
        log_g = (
            math.lgamma((freedom + d) / 2)
            - math.lgamma(freedom / 2)
            - 0.5 * d * math.log(freedom * math.pi)
            - np.log(np.diag(factor)).sum()
            - 0.5 * (freedom + d) * np.log1p((t**2).sum(1) / freedom)
        )
        log_w = np.where(np.isfinite(log_f), log_f - log_g, -np.inf)
        w = np.exp(log_w - log_w.max())
        effective = w.sum() ** 2 / (w**2).sum()
        if not effective >= 100:
            raise SamplingError(
                f"the density can't be normalised: {draws} draws count as {effective:.0f}"
            )
        return float(np.log(w.mean()) + log_w.max())
