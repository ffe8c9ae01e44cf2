"""A neural estimate of the posterior, cut to the prior's support."""

import functools
import math
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
from sbibench.inference import many, packing
from sbibench.inference.features import Features
from sbibench.inference.saving import Portable
from sbibench.inference.slice import SliceSampling, slice_chains

PROPOSALS = 10_000
"""Draws at a time."""

HITS = 2000
"""Draws inside the support from which the mass there is known to about 2 %, or much better."""

CHAINS = 100
"""They go on where draws of the estimate hit the support too rarely."""


@functools.lru_cache(maxsize=64)
def _unconstrained(density: Any, rows: priors.Rows) -> Any:
    """Return (params, x, u) -> log q(θ(u) | x) · |dθ/du| for u [d] in R^d."""

    def log_density(params: Any, x: Float[Array, " p"], u: Float[Array, " d"]) -> Array:
        theta = priors.to_support(rows.prior, u).astype(SINGLE)
        value: Array = density.log_prob(params, x, theta) + priors.log_volume(rows.prior, u)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    return log_density


class TruncatedPosterior(Portable):
    """q(θ | x) restricted to the prior's support and normalised there.

    A density estimate on R^d leaks mass out of the support. Draws outside are rejected, and the
    density inside is divided by the share of q's mass that lies inside (Greenberg et al. 2019,
    section 4 on leakage), estimated from draws of q. Where too few of them lie inside, chains of
    slice sampling in unconstrained coordinates take over from those that do.

    Parameters
    ----------
    density, params
        The estimate: an object with `sample(params, x, key)` and `log_prob(params, x, θ)`, such as
        a `Flow`, and its parameters.
    features
        How the estimate sees x.
    prior, x_obs
        What it is cut to, and the observation [p] that it was fitted for.
    info
        Facts about the fit; the acceptance rate of the last call of `sample` is added.
    max_proposals
        After how many draws of q chains take over.
    amortized
        Whether it may be asked at another x; a sequential fit sets it to False.
    progress
        Is called while samples are drawn.
    """

    def __init__(
        self,
        density: Any,
        params: Any,
        features: Features,
        prior: Distribution,
        x_obs: np.ndarray,
        info: Info,
        max_proposals: int,
        *,
        amortized: bool = True,
        progress: Progress = silent,
    ) -> None:
        self._density = density
        self.params = params
        self.features = features
        self._prior, self._x_obs = prior, x_obs
        self._rows = priors.rows(prior)
        self._progress = progress
        self._max_proposals = max_proposals
        self._many = many.Many(density, params, self._rows)
        self._log_mass: dict[bytes, float] = {}
        self.info = info
        self.amortized = amortized

    def parts(self) -> dict[str, Any]:
        """Return the arguments that it is made from, the weights as leaves."""
        return super().parts() | {"params": packing.kept(self._density, self.params)}

    @classmethod
    def from_parts(cls, parts: dict[str, Any]) -> Self:
        """Return the posterior that is made from these parts."""
        return cls(**parts | {"params": packing.refilled(parts["density"], parts["params"])})

    def _x(self, x: Any) -> np.ndarray:
        if not self.amortized:
            check_same_x(x, self._x_obs)
        return self.features(self._x_obs if x is None else checked_x(x, self._x_obs))

    def propose(self, key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
        """Draw n rows θ [n, d] of q(θ | x), x [p] as features, inside the support or not."""
        thetas: np.ndarray = map_rows(self._density.sample, fixed=(self.params, x), key=key, n=n)
        return thetas

    def _propose(self, key: PRNGKeyArray, x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        thetas = self.propose(key, x, n)
        return thetas, self._rows.inside(thetas)

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, at x [p], by default the x_obs it was fitted for.

        Raises
        ------
        UsageError
            If n < 1 or x is not a finite vector of the right length.
        SamplingError
            If not one draw lies inside the support before the cap on proposals.
        """
        x = self._x(x)
        check_count(n)
        kept: list[np.ndarray] = []
        accepted = proposed = 0
        while accepted < n:
            size = min(max(n, 1000), PROPOSALS)
            thetas, inside = self._propose(random.fold_in(key, proposed), x, size)
            kept.append(thetas[inside])
            accepted += int(inside.sum())
            proposed += size
            self._progress("sampling", min(accepted, n), n)
            if accepted < n and proposed >= self._max_proposals:
                break
        self.info["acceptance_rate"] = accepted / proposed
        found = np.concatenate(kept)[:n]
        if len(found) < n:
            return self._prolonged(key, x, found, n, proposed)
        return self._rows.single(found)

    def _prolonged(
        self, key: PRNGKeyArray, x: np.ndarray, found: np.ndarray, n: int, proposed: int
    ) -> np.ndarray:
        """Return n samples by slice-sampling chains that start at the ones that were found."""
        if not len(found):
            fewer = "" if self.info.get("rounds", 1) == 1 else " or fewer rounds"
            raise SamplingError(
                f"none of {proposed} draws of the estimate lies inside the prior's support; x may "
                f"be far from all data of the prior, or more simulations{fewer} may help"
            )
        start_key, width_key, chain_key = random.split(random.fold_in(key, proposed), 3)
        us = self._rows.from_support(found.astype(np.float64))
        us = us[numpy_rng(start_key).permutation(np.resize(np.arange(len(us)), CHAINS))]
        drawn, info = slice_chains(
            chain_key,
            _unconstrained(self._density, self._rows),
            us,
            math.ceil(n / CHAINS),
            SliceSampling(),
            fixed=(self.params, x),
            width=4 * self._rows.from_support(self._rows.sample(width_key, 1000)).std(0),
            progress=self._progress,
        )
        self.info |= info
        us = drawn.transpose(1, 0, 2).reshape(-1, drawn.shape[-1])[:n]
        return self._rows.single(self._rows.to_support(us))

    def log_prob(self, thetas: Any, x: Any = None) -> np.ndarray:
        """Return log densities [n] of rows θ [n, d] at x [p]; -inf outside the support.

        Raises
        ------
        SamplingError
            If not one draw of the estimate lies inside the support: there is no density then.
        """
        x = self._x(x)
        thetas = np.asarray(thetas, np.float64)
        if x.tobytes() not in self._log_mass:
            self._log_mass[x.tobytes()] = self._log_mass_inside(x)
        log_q = map_rows(self._density.log_prob, thetas.astype(np.float32), fixed=(self.params, x))
        inside = self._rows.inside(thetas)
        return np.where(inside, log_q - self._log_mass[x.tobytes()], -np.inf)

    def sample_each(self, key: PRNGKeyArray, n: int, xs: Any) -> np.ndarray:
        """Draw n samples at each of xs [N, p]: [N, n, d], float32; faster than one x at a time.

        Errors are those of `sample`.
        """
        check_count(n)
        drawn = self._many.sample(key, n, np.stack([self._x(x) for x in xs]))
        for i, thetas in enumerate(drawn):
            if len(thetas) < n:
                drawn[i] = self.sample(random.fold_in(key, i), n, xs[i])
        return self._rows.single(np.concatenate(drawn)).reshape(len(drawn), n, -1)

    def log_prob_each(self, thetas: Any, xs: Any) -> np.ndarray:
        """Return log densities [N, L] of θ [N, L, d] at each of xs [N, p].

        The mass inside comes from fewer draws than in `log_prob`; it is known to 10 % or better.
        Errors are those of `log_prob`.
        """
        seen = np.stack([self._x(x) for x in xs])
        log_q = self._many.log_probs(np.asarray(thetas, np.float64), seen)
        if priors.unbounded(self._prior):
            return log_q
        log_masses = [
            np.log(mass) if mass else self._log_mass_inside(x)
            for mass, x in zip(self._many.mass(seen), seen, strict=True)
        ]
        normalised: np.ndarray = log_q - np.array(log_masses)[:, None]
        return normalised

    def _log_mass_inside(self, x: np.ndarray) -> float:
        if priors.unbounded(self._prior):
            return 0.0
        # Fixed keys: the density is a function, asked twice it answers the same.
        hits = draws = 0
        while draws < 10 * PROPOSALS or (hits < HITS and draws < self._max_proposals):
            _, inside = self._propose(random.fold_in(random.key(0), draws), x, PROPOSALS)
            hits, draws = hits + int(inside.sum()), draws + PROPOSALS
        if not hits:
            raise SamplingError("none of the estimate's mass lies inside the prior's support")
        return float(np.log(hits / draws))


def check_proposals(max_proposals: int) -> None:
    """Raise `UsageError` unless this is a cap on proposals."""
    if max_proposals < 1:
        raise UsageError(f"max_proposals is 1 or more, not {max_proposals}")
