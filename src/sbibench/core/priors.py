"""What algorithms ask of a prior, on top of what numpyro gives.

A prior is a numpyro distribution over one vector θ [d]: event shape (d,), batch shape ().
Functions of many rows take and return NumPy arrays and compile once per prior.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from numpyro.distributions import (
    Delta,
    Distribution,
    ExpandedDistribution,
    ImproperUniform,
    Independent,
    constraints,
)
from numpyro.distributions.transforms import biject_to

from sbibench.core.blocks import map_rows
from sbibench.core.errors import UsageError
from sbibench.core.product import Product
from sbibench.core.resolution import unresolved, warn_of


def _parts(prior: Distribution) -> list[Distribution]:
    """Return the distributions that a prior is put together of."""
    if isinstance(prior, Product):
        return [part for factor in prior.parts for part in _parts(factor)]
    if isinstance(prior, ExpandedDistribution | Independent):
        return _parts(prior.base_dist)
    return [prior]


def check_prior(prior: Distribution) -> None:
    """Raise `UsageError` unless `prior` is a distribution over one vector."""
    if not isinstance(prior, Distribution):
        raise UsageError(
            "a prior is a distribution of numpyro, or frozen ones of scipy.stats, not "
            f"{type(prior).__name__}"
        )
    for part in _parts(prior):
        if part.support.is_discrete:
            raise UsageError(
                f"a prior over real numbers is wanted, {type(part).__name__} is discrete; leave "
                "whole numbers to the simulator"
            )
        if isinstance(part, Delta | ImproperUniform):
            raise UsageError(f"{type(part).__name__} is no prior: it has no density or no samples")
    if prior.batch_shape != () or len(prior.event_shape) != 1:
        raise UsageError(
            f"a prior has batch shape () and event shape (d,), this one has {prior.batch_shape} "
            f"and {prior.event_shape}; call .to_event(1) on a distribution over d numbers"
        )
    if biject_to(prior.support).inverse_shape(prior.event_shape) != prior.event_shape:
        raise UsageError(
            f"the support of the prior, {type(prior).__name__}, has fewer dimensions than θ has "
            "numbers, so it has no density over them; leave out the parameters that the others "
            "determine"
        )


def inside(prior: Distribution, theta: Float[Array, " d"]) -> Bool[Array, ""]:
    """Return whether θ [d] lies in the prior's support; pure JAX."""
    return jnp.asarray(prior.support(theta))


def unbounded(prior: Distribution) -> bool:
    """Return whether the prior's support is all of R^d."""
    return bool(prior.support == constraints.real_vector)


def log_prob(prior: Distribution, theta: Float[Array, " d"]) -> Float[Array, ""]:
    """Return the log density of the prior at θ [d], -inf outside its support; pure JAX.

    Outside the support the density is evaluated at a point inside, so that gradients stay finite.
    """
    ok = inside(prior, theta)
    somewhere = biject_to(prior.support)(jnp.zeros(prior.event_shape, theta.dtype))
    return jnp.where(ok, prior.log_prob(jnp.where(ok, theta, somewhere)), -jnp.inf)


def to_support(prior: Distribution, u: Float[Array, " d"]) -> Float[Array, " d"]:
    """Map u [d] in R^d into the prior's support (numpyro's bijection); pure JAX."""
    theta: Array = biject_to(prior.support)(u)
    return theta


def from_support(prior: Distribution, theta: Float[Array, " d"]) -> Float[Array, " d"]:
    """Map θ [d] inside the prior's support to R^d, the inverse of `to_support`; pure JAX."""
    u: Array = biject_to(prior.support).inv(theta)
    return u


def log_prob_unconstrained(prior: Distribution, u: Float[Array, " d"]) -> Float[Array, ""]:
    """Return the log density of u = `from_support`(θ), with θ from the prior; pure JAX."""
    bijection = biject_to(prior.support)
    theta = bijection(u)
    density: Array = prior.log_prob(theta) + bijection.log_abs_det_jacobian(u, theta)
    return density


def log_volume(prior: Distribution, u: Float[Array, " d"]) -> Float[Array, ""]:
    """Return log |dθ/du| of `to_support` at u [d]; pure JAX."""
    bijection = biject_to(prior.support)
    volume: Array = bijection.log_abs_det_jacobian(u, bijection(u))
    return volume


class Rows:
    """The functions above for many rows at once, compiled once per prior: see `rows`."""

    def __init__(self, prior: Distribution) -> None:
        def bound(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda theta: function(prior, theta)

        self.prior = prior
        self._sample = prior.sample
        self._seen = False
        self._inside = bound(inside)
        self.log_density = bound(log_prob)
        """θ [d] -> log p(θ), pure JAX, the same object always."""
        self._to_support = bound(to_support)
        self._from_support = bound(from_support)

    def sample(self, key: PRNGKeyArray, n: int) -> np.ndarray:
        """Draw n samples [n, d], float32; the first rows do not depend on n."""
        thetas = map_rows(self._sample, key=key, n=n)
        if not self._seen and (coarse := unresolved(thetas)) is not None:
            self._seen = True
            if coarse.any():
                warn_of("parameters", coarse, thetas, "in the prior and add it in the simulator")
        return self.single(thetas)

    def single(self, thetas: Any) -> np.ndarray:
        """Round rows θ [n, d] to float32 so that none inside the support is rounded out of it.

        A box that ends at 0.1, say, has its edge between two float32 numbers.
        """
        rounded = np.asarray(thetas).astype(np.float32)
        out = ~self.inside(rounded)
        if out.any():
            middle = self.to_support(np.zeros((1, rounded.shape[1]))).astype(np.float32)
            rounded[out] = np.nextafter(rounded[out], middle)
        return rounded

    def inside(self, thetas: Any) -> np.ndarray:
        """Return which rows of θ [n, d] lie in the support, bool [n]."""
        return np.asarray(map_rows(self._inside, thetas))

    def log_prob(self, thetas: Any) -> np.ndarray:
        """Return the log densities [n] of rows θ [n, d]."""
        return np.asarray(map_rows(self.log_density, thetas))

    def to_support(self, us: Any) -> np.ndarray:
        """Map rows u [n, d] from R^d into the support."""
        return np.asarray(map_rows(self._to_support, us))

    def from_support(self, thetas: Any) -> np.ndarray:
        """Map rows θ [n, d] from the support to R^d; one on the edge as if it were just inside."""
        us = np.array(map_rows(self._from_support, thetas))
        edge = ~np.isfinite(us).all(1)
        if edge.any():
            on_edge = np.asarray(thetas, np.float64)[edge]
            middle = self.to_support(np.zeros((1, us.shape[1])))
            us[edge] = map_rows(self._from_support, on_edge + 1e-9 * (middle - on_edge))
        return us


_KNOWN: dict[int, Rows] = {}


def rows(prior: Distribution) -> Rows:
    """Return the functions of many rows that belong to this prior object, made once."""
    if id(prior) not in _KNOWN:  # Rows keeps the prior alive, so its id stays its own
        _KNOWN[id(prior)] = Rows(prior)
    return _KNOWN[id(prior)]
