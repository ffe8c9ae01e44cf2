"""Conditional normalizing flows q(θ | x), on flowjax, as pure functions of their parameters."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from flowjax.bijections import AbstractBijection, Chain, Permute, Scan
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core.precision import SINGLE
from sbibench.inference.spline import SplineCoupling
from sbibench.inference.standardize import Standardizer


@dataclass(frozen=True)
class SplineFlow:
    """Architecture of a neural spline flow with coupling layers (Durkan et al. 2019).

    Attributes
    ----------
    transforms
        Number of coupling layers.
    hidden, blocks
        Width and number of the residual blocks of each layer's conditioner.
    bins
        Bins of the rational-quadratic spline.
    bound
        The spline acts on [-bound, bound] of the standardized variable, the identity outside.
    """

    transforms: int = 5
    hidden: int = 50
    blocks: int = 2
    bins: int = 10
    bound: float = 4.0

    def build(self, key: PRNGKeyArray, d: int, p: int) -> AbstractBijection:
        """Return a bijection of [d] given [p] with fresh weights: noise to data by its inverse."""

        def layer(key: PRNGKeyArray) -> AbstractBijection:
            network_key, order_key = jax.random.split(key)
            coupling = SplineCoupling(
                network_key,
                d=d,
                p=p,
                hidden=self.hidden,
                blocks=self.blocks,
                bins=self.bins,
                bound=self.bound,
            )
            if d == 1:
                return coupling
            order = jax.random.permutation(order_key, d) if d > 2 else jnp.array([1, 0])
            return Chain([coupling, Permute(order)])

        layers = eqx.filter_vmap(layer)(jax.random.split(key, self.transforms))
        return Scan(layers)


class FlowParams(NamedTuple):
    """All that a fitted flow is: weights and the two scalings."""

    weights: Any
    theta: Standardizer
    x: Standardizer


class Flow:
    """A conditional density q(θ | x) of one architecture and shape: pure functions of parameters.

    Get one from `conditional_flow`, which returns the same object for the same arguments, so that
    what is compiled for one fit serves all others.
    """

    def __init__(self, architecture: SplineFlow, d: int, p: int) -> None:
        self._build = lambda key: architecture.build(key, d, p)
        _, self._static = eqx.partition(self._build(jax.random.key(0)), eqx.is_array)

        def bijection(params: FlowParams) -> Any:
            return paramax.unwrap(eqx.combine(params.weights, self._static))

        def log_prob(
            params: FlowParams, theta: Float[Array, " d"], x: Float[Array, " p"]
        ) -> Float[Array, ""]:
            z, log_det = bijection(params).transform_and_log_det(
                params.theta.forward(theta), params.x.forward(x)
            )
            normal = -0.5 * jnp.sum(z**2) - 0.5 * d * math.log(2 * math.pi)
            value: Array = normal + log_det.astype(SINGLE) + params.theta.log_det()
            return value

        def from_noise(
            params: FlowParams, x: Float[Array, " p"], z: Float[Array, " d"]
        ) -> Float[Array, " d"]:
            theta: Array = bijection(params).inverse(z, params.x.forward(x))
            return params.theta.inverse(theta)

        def sample(
            params: FlowParams, x: Float[Array, " p"], key: PRNGKeyArray
        ) -> Float[Array, " d"]:
            return from_noise(params, x, jax.random.normal(key, (d,), SINGLE))

        def loss(
            params: FlowParams,
            key: PRNGKeyArray,
            thetas: Float[Array, "n d"],
            xs: Float[Array, "n p"],
        ) -> Float[Array, " n"]:
            del key
            return -jax.vmap(lambda theta, x: log_prob(params, theta, x))(thetas, xs)

        def log_prob_at(
            params: FlowParams, x: Float[Array, " p"], theta: Float[Array, " d"]
        ) -> Float[Array, ""]:
            return log_prob(params, theta, x)

        self.log_prob_at: Callable[..., Any] = log_prob_at
        """(params, x [p], θ [d]) -> log q(θ | x), for many θ at one x."""
        self.log_prob: Callable[..., Any] = log_prob
        """(params, θ [d], x [p]) -> log q(θ | x)."""
        self.from_noise: Callable[..., Any] = from_noise
        """(params, x [p], z [d]) -> θ [d], the map from standard normal noise."""
        self.sample: Callable[..., Any] = sample
        """(params, x [p], key) -> θ [d]."""
        self.loss: Callable[..., Any] = loss
        """(params, key, θ [n, d], x [n, p]) -> -log q per row [n]."""

    def init(self, key: PRNGKeyArray, thetas: np.ndarray, xs: np.ndarray) -> FlowParams:
        """Return fresh weights, and scalings fitted to θ [n, d] and x [n, p]."""
        weights, _ = eqx.partition(self._build(key), eqx.is_array)
        return FlowParams(weights, Standardizer.fit(thetas), Standardizer.fit(xs))


@functools.lru_cache(maxsize=64)
def conditional_flow(architecture: SplineFlow, d: int, p: int) -> Flow:
    """Return the flow of this architecture for θ [d] and x [p]."""
    return Flow(architecture, d, p)
