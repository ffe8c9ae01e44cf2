"""Independent draws from any posterior with a likelihood: the scheme of the paper's references.

Approximate draws train a neural spline flow; the mixture g of the flow and the prior proposes; a
constant M with f <= M g is searched; rejection makes the draws exact. Densities and M are float64.
The flow's noise has Student's t distribution once it is trained: where f has more mass than the
flow has learnt, g is not far below. Source: Lueckmann et al. 2021, appendix (reference posterior
samples); Martino et al. 2018.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core.blocks import map_rows
from sbibench.core.errors import SamplingError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info
from sbibench.core.problem import Progress, silent
from sbibench.inference.coupling import SplineFlow
from sbibench.inference.flows import Flow, FlowParams, conditional_flow
from sbibench.inference.training import Training, train
from sbibench.reference.scaling import Scaling
from sbibench.reference.target import Target
from sbibench.reference.tempering import Tempering, tempered

FREEDOM = 6
"""Degrees of freedom of the noise: an even number, whose chi-square is a sum of exponentials."""

Propose = Callable[[PRNGKeyArray, int], tuple[np.ndarray, np.ndarray]]
"""(key, n) -> u [n, d] drawn from g, and log f(u) / g(u) [n]."""


@dataclass(frozen=True)
class FlowRejection:
    """Settings of the scheme.

    Attributes
    ----------
    tempering
        How the approximate draws are made that train the flow.
    draws
        How many of them.
    flow, training
        The flow and its training.
    from_prior
        Weight of the prior in the proposal g.
    margin
        By what factor M exceeds the largest f / g seen.
    quiet
        Draws of g without a larger f / g after which M stands.
    batch
        Draws of g at a time.
    max_proposals
        Draws of g after which the sampler gives up, in the search and in the rejection.
    """

    tempering: Tempering = field(default_factory=Tempering)
    draws: int = 50_000
    flow: SplineFlow = field(default_factory=SplineFlow)
    training: Training = field(
        default_factory=lambda: Training(
            batch_size=500, learning_rate=1e-3, averaging=0, patience=4, max_epochs=20
        )
    )
    from_prior: float = 0.1
    margin: float = 1.2
    quiet: int = 100_000
    batch: int = 20_000
    max_proposals: int = 10_000_000

    def sample(
        self, key: PRNGKeyArray, target: Target, n: int, progress: Progress = silent
    ) -> tuple[np.ndarray, Info]:
        """Draw n independent samples θ [n, d], float32, and say how.

        Raises
        ------
        SamplingError
            If the likelihood vanishes at all prior draws, or the cap on proposals comes first.
        """
        tempering_key, init_key, train_key, search_key, draw_key = jax.random.split(key, 5)
        draws, info = tempered(tempering_key, target, self.tempering, self.draws, progress)
        flow = conditional_flow(self.flow, target.task.d, 0)
        scaling = Scaling.fit(draws)
        rows = scaling.forward(draws).astype(np.float32), np.zeros((len(draws), 0), np.float32)
        params, fit = train(
            train_key,
            flow.loss,
            flow.init(init_key, *rows),
            rows,
            self.training,
            progress=progress,
        )
        propose = _proposals(flow, _double(params), scaling, target, self.from_prior)
        bound = _Bound(self.margin)
        while bound.quiet < self.quiet and bound.seen < self.max_proposals:
            bound.see(propose(jax.random.fold_in(search_key, bound.seen), self.batch)[1])
            progress("searching M", bound.quiet, self.quiet)
        us, facts = self._reject(draw_key, propose, bound, n, progress)
        return target.thetas(us), info | {"epochs": fit["epochs"]} | facts

    def _reject(
        self, key: PRNGKeyArray, propose: Propose, bound: "_Bound", n: int, progress: Progress
    ) -> tuple[np.ndarray, Info]:
        """Draw until n are accepted; if a draw raises M, all kept so far face the new one."""
        rng_key, key = jax.random.split(key)
        rng = numpy_rng(rng_key)
        kept: list[np.ndarray] = []
        height: list[np.ndarray] = []  # log f / (g v), v uniform: accepted while above log M
        log_sum, drawn, accepted = -math.inf, 0, 0
        while accepted < n or bound.quiet < self.quiet:
            if drawn >= self.max_proposals:
                raise SamplingError(
                    f"rejection kept {accepted} of {drawn} draws of the proposal, {n} were asked "
                    f"for; M was last raised {bound.quiet} draws ago"
                )
            us, log_ratio = propose(jax.random.fold_in(key, drawn), self.batch)
            bound.see(log_ratio)
            drawn += len(us)
            log_sum = float(np.logaddexp(log_sum, np.logaddexp.reduce(log_ratio)))
            kept.append(us)
            height.append(log_ratio + rng.exponential(size=len(us)))
            above = [h > bound.log_m for h in height]
            kept = [u[a] for u, a in zip(kept, above, strict=True)]
            height = [h[a] for h, a in zip(height, above, strict=True)]
            accepted = sum(map(len, kept))
            progress("rejection", min(accepted, n), n)
        return np.concatenate(kept)[:n], {
            "acceptance_rate": accepted / drawn,
            "draws_since_m_was_raised": bound.quiet,
            "times_m_was_raised": bound.raised,
            "log_m": bound.log_m,
            "log_evidence": log_sum - math.log(drawn),
        }


class _Bound:
    """The constant M of f <= M g, raised whenever a draw shows it too small.

    It starts at the first draws' estimate of the integral of f, which is 1 for a normalised f.
    """

    def __init__(self, margin: float) -> None:
        self._margin = math.log(margin)
        self.log_m = math.nan
        self.seen = self.quiet = self.raised = 0

    def see(self, log_ratio: np.ndarray) -> None:
        """Look at log f / g [n] of further draws, in order."""
        if math.isnan(self.log_m):
            self.log_m = float(np.logaddexp.reduce(log_ratio) - math.log(len(log_ratio)))
        self.seen += len(log_ratio)
        left = log_ratio
        while (above := np.flatnonzero(left > self.log_m)).size:
            self.log_m = float(left[above[0]]) + self._margin
            left = left[above[0] + 1 :]
            self.quiet, self.raised = 0, self.raised + 1
        self.quiet += len(left)


def _proposals(
    flow: Flow, params: FlowParams, scaling: Scaling, target: Target, from_prior: float
) -> Propose:
    """Return draws of g = (1 - w) flow + w prior."""
    draw, log_density = _student_flow(flow, target.task.d)
    fixed = params, scaling

    def propose(key: PRNGKeyArray, n: int) -> tuple[np.ndarray, np.ndarray]:
        order_key, flow_key, prior_key = jax.random.split(key, 3)
        rng = numpy_rng(order_key)
        m = int(rng.binomial(n, from_prior))
        theirs = target.prior_draws(prior_key, m)
        ours, log_q = map_rows(draw, fixed=fixed, key=flow_key, n=n - m)
        order = rng.permutation(n)
        us = np.concatenate([ours, theirs])[order]
        log_q = np.concatenate([log_q, map_rows(log_density, theirs, fixed=fixed)])[order]
        log_prior, log_likelihood = target.parts(us)
        log_g = np.logaddexp(np.log1p(-from_prior) + log_q, np.log(from_prior) + log_prior)
        return us, log_prior + log_likelihood - log_g

    return propose


@functools.lru_cache(maxsize=64)
def _student_flow(flow: Flow, d: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the flow with noise of Student's t distribution, as functions of one row.

    (flow, scaling, key) -> u [d] and its log density, and (flow, scaling, u [d]) -> log density.
    """
    nothing = np.zeros(0)
    constant = gammaln((FREEDOM + d) / 2) - gammaln(FREEDOM / 2) - d / 2 * np.log(FREEDOM * np.pi)

    def student(z: Array) -> Array:
        value: Array = constant - (FREEDOM + d) / 2 * jnp.log1p(jnp.sum(z**2) / FREEDOM)
        return value

    def log_scale(scaling: Scaling) -> Array:
        return jnp.sum(jnp.log(jnp.diag(scaling.factor)))

    def draw(params: FlowParams, scaling: Scaling, key: PRNGKeyArray) -> tuple[Array, Array]:
        normal, radius = jax.random.split(key)
        chi_square = 2 * jnp.sum(jax.random.exponential(radius, (FREEDOM // 2,)))
        z = jax.random.normal(normal, (d,)) * jnp.sqrt(FREEDOM / chi_square)
        v, log_det = flow.from_noise(params, nothing, z)
        return scaling.mean + scaling.factor @ v, student(z) - log_det - log_scale(scaling)

    def log_density(params: FlowParams, scaling: Scaling, u: Float[Array, " d"]) -> Array:
        v = solve_triangular(scaling.factor, u - scaling.mean, lower=True)
        z, log_det = flow.to_noise(params, nothing[None], v[None])
        value: Array = student(z) + log_det[0] - log_scale(scaling)
        return value

    return draw, log_density


def _double(params: FlowParams) -> FlowParams:
    """Return the same flow in float64."""

    def cast(leaf: Any) -> Any:
        return leaf.astype(np.float64) if np.issubdtype(leaf.dtype, np.floating) else leaf

    doubled: FlowParams = jax.tree.map(cast, params)
    return doubled
