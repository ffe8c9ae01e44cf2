"""Kernelised Stein discrepancy: how far samples lie from a density known up to a constant.

No reference samples are needed: the density enters by its score, the gradient of its logarithm.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.blocks import map_rows
from sbibench.core.errors import UsageError
from sbibench.core.metric import Estimate, Evidence, checked, present
from sbibench.inference.discrepancy import one_sample
from sbibench.inference.pairs import gaussian_scale

MOST_LEFT_OUT = 0.1
"""Share of the samples without a score that may be left out; with more there is no value."""


def _kernel(scale: Any, a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    """Return u(x, y) for k = exp(-scale |x - y|²), block of rows by block of rows."""
    (xs, x_scores), (ys, y_scores) = a, b

    def add(sums: tuple[Array, Array], column: tuple[Array, ...]) -> tuple[Any, None]:
        squares, others = sums
        x, s, y, t = column
        apart = x[:, None] - y[None, :]
        others += s[:, None] * t[None, :] + 2 * scale * (s[:, None] - t[None, :]) * apart
        return (squares + apart**2, others), None

    start = jnp.zeros((len(xs), len(ys)))
    columns = xs.T, x_scores.T, ys.T, y_scores.T
    (squares, others), _ = jax.lax.scan(add, (start, start), columns)
    trace = 2 * scale * xs.shape[1] - (2 * scale) ** 2 * squares
    return jnp.asarray(jnp.exp(-scale * squares) * (others + trace))


def ksd(
    key: PRNGKeyArray, samples: Any, scores: Any, *, bandwidth: float | None = None
) -> Estimate:
    """Return the squared kernelised Stein discrepancy of samples from a density.

    It is the U-statistic of Liu et al., unbiased and so around 0 for draws of the density, where
    the V-statistic of Chwialkowski et al. is above 0 by the mean of u(x, x) over n. It is blind to
    modes without samples and to the weights of modes that are far apart, and a few rows with huge
    scores can decide it: then its error is large. Draws of a density that jumps where it is not 0
    at the edge don't have 0 either.

    Parameters
    ----------
    key
        For the p-value; the value does not depend on it.
    samples
        [n, d], in coordinates in which the density is smooth and fills R^d.
    scores
        [n, d], ∇ log p at the samples, in the same coordinates; p need not be normalised.
    bandwidth
        s of the kernel exp(-|x - y|² / (2 s²)); by default the median distance between samples,
        of 2000 evenly spaced ones where there are more.

    Returns
    -------
    Estimate
        Around 0, also below, for draws of p. `error` holds for independent rows and a given
        bandwidth; `p_value` is that of the wild bootstrap, one sign for each of 100 groups of rows;
        `v_statistic` is never below 0.

    Raises
    ------
    UsageError
        If samples or scores are not finite matrices of one shape with two rows or more, or if the
        bandwidth is not positive.

    References
    ----------
    Liu, Lee & Jordan 2016 (arXiv:1602.03253), theorem 3.6; Chwialkowski, Strathmann & Gretton 2016
    (arXiv:1602.02964); Lueckmann et al. 2021 (arXiv:2101.04653), appendix A.4, which takes log n V
    of the V-statistic V.
    """
    xs, slopes = checked(samples, "samples", 2), checked(scores, "scores", 2)
    if xs.shape != slopes.shape:
        raise UsageError(f"scores have the shape of the samples, {xs.shape}, not {slopes.shape}")
    scale, n = gaussian_scale(bandwidth, xs, "samples"), len(xs)
    found = one_sample(key, _kernel, scale, (xs, slopes))
    same = 2 * scale * xs.shape[1] + float(np.sum(slopes**2)) / n
    return Estimate(
        found, found.error, **found.also, v_statistic=(float(found) * (n - 1) + same) / n
    )


@functools.lru_cache(maxsize=64)
def _density(
    prior: Distribution, log_likelihood: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """Return (x, u) -> log p(u | x) up to a constant and its gradient: one object a model."""

    def log_density(u: Array, x: Array) -> Array:
        log_prior = priors.log_prob_unconstrained(prior, u)
        return jnp.asarray(log_prior + log_likelihood(priors.to_support(prior, u), x))

    both = jax.value_and_grad(log_density)
    return lambda x, u: both(u, x)


def _inside(prior: Distribution, thetas: Float64[np.ndarray, "n d"]) -> np.ndarray:
    """Return the rows in the support; those that rounding to float32 moved out are moved back."""
    known = priors.rows(prior)
    moved = thetas.copy()
    out = ~known.inside(thetas)
    if out.any():
        middle = known.to_support(np.zeros((1, thetas.shape[1]))).astype(np.float32)
        moved[out] = np.nextafter(thetas[out].astype(np.float32), middle)
    found: np.ndarray = moved[known.inside(moved)]
    return found


def scored(
    prior: Distribution, log_likelihood: Callable[[Any, Any], Any], x_obs: Any, samples: Any
) -> tuple[Float64[np.ndarray, "m d"], Float64[np.ndarray, "m d"]]:
    """Return samples of a posterior in unconstrained coordinates, and its scores there.

    Left out are rows outside the prior's support, except by rounding to float32, those where the
    posterior's density is 0, and those where its gradient is not finite. A row on an edge of the
    support counts as just inside.

    Parameters
    ----------
    prior, log_likelihood
        Of θ [d], and (θ, x) -> log p(x | θ), pure JAX. Compiled once for each pair of objects.
    x_obs
        [p].
    samples
        θ [n, d].

    Returns
    -------
    us, scores
        [m, d] each, m ≤ n: u = `from_support`(θ) and ∇ log p(u | x_obs).

    Raises
    ------
    UsageError
        If samples or x_obs are of the wrong shape or not finite, or if more than a tenth of the
        samples, or all but one, would be left out.
    """
    thetas = checked(samples, "samples", 2)
    x = checked(np.asarray(x_obs, np.float64)[None], "x_obs")[0]
    d = prior.event_shape[0]
    if thetas.shape[1] != d:
        raise UsageError(f"samples have {thetas.shape[1]} columns, the prior has {d}")
    inside = _inside(prior, thetas)
    us = priors.rows(prior).from_support(inside) if len(inside) else inside
    n, outside = len(thetas), len(thetas) - len(inside)
    zero = no_slope = np.zeros(0, bool)
    scores = us
    if len(us):
        density, scores = map_rows(_density(prior, log_likelihood), us, fixed=(x,))
        zero = ~(density > -np.inf)  # NaN is no density either
        no_slope = ~zero & ~(np.isfinite(scores).all(1) & np.isfinite(us).all(1))
    kept = ~(zero | no_slope)
    if kept.sum() < max(2, (1 - MOST_LEFT_OUT) * n):
        raise UsageError(
            f"the posterior has no score at {n - kept.sum()} of {n} samples ({outside} are outside "
            f"the prior's support, {zero.sum()} have density 0, {no_slope.sum()} a gradient that "
            f"is not finite); at most {MOST_LEFT_OUT:.0%} may be left out"
        )
    return us[kept], scores[kept]


@dataclass(frozen=True, kw_only=True)
class KSD:
    """The squared discrepancy of `ksd` from the posterior, in unconstrained coordinates."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "prior", "log_likelihood", "x_obs")

    bandwidth: float | None = None

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the value; `left_out` is the share of samples that have no score, see `scored`."""
        samples, prior, log_likelihood, x_obs = present(evidence, self.needs)
        us, scores = scored(prior, log_likelihood, x_obs, samples)
        found = ksd(key, us, scores, bandwidth=self.bandwidth)
        return Estimate(found, found.error, **found.also, left_out=1 - len(us) / len(samples))


METRIC = KSD
