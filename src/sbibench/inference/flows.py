"""Conditional normalizing flows q(θ | x), as pure functions of their parameters."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core.precision import SINGLE
from sbibench.inference.standardize import Standardizer


class Architecture(Protocol):
    """A frozen dataclass: maps between v [d, n] and noise z [d, n], given x [p, n], columns."""

    def init(self, key: PRNGKeyArray, d: int, p: int) -> Any:
        """Return fresh weights."""
        ...

    def to_noise(self, layers: Any, v: Array, x: Array) -> tuple[Array, Array]:
        """Return the noise behind the columns of v given those of x, and log |dz/dv| [n]."""
        ...

    def from_noise(self, layers: Any, z: Array, x: Array) -> tuple[Array, Array]:
        """Return what `to_noise` maps to the columns of z, and log |dv/dz| [n]."""
        ...


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

    def __init__(self, architecture: Architecture, d: int, p: int) -> None:
        self._architecture, self._d, self._p = architecture, d, p
        self.made = ("flow", (architecture, d, p))

        def to_noise(
            params: FlowParams, xs: Float[Array, "n p"], thetas: Float[Array, "n d"]
        ) -> tuple[Float[Array, "d n"], Float[Array, " n"]]:
            z, log_det = architecture.to_noise(
                params.weights, params.theta.columns(thetas), params.x.columns(xs)
            )
            return z, log_det + params.theta.log_det()

        def log_probs(
            params: FlowParams, thetas: Float[Array, "n d"], xs: Float[Array, "n p"]
        ) -> Float[Array, " n"]:
            z, log_det = to_noise(params, xs, thetas)
            value: Array = -0.5 * jnp.sum(z**2, 0) - 0.5 * d * math.log(2 * math.pi) + log_det
            return value

        def log_prob(
            params: FlowParams, x: Float[Array, " p"], theta: Float[Array, " d"]
        ) -> Float[Array, ""]:
            return log_probs(params, theta[None], x[None])[0]

        def from_noise(
            params: FlowParams, x: Float[Array, " p"], z: Float[Array, " d"]
        ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
            v, log_det = architecture.from_noise(
                params.weights, z[:, None], params.x.columns(x[None])
            )
            return params.theta.inverse(v[:, 0]), log_det[0] - params.theta.log_det()

        def sample(
            params: FlowParams, x: Float[Array, " p"], key: PRNGKeyArray
        ) -> Float[Array, " d"]:
            theta: Array = from_noise(params, x, jax.random.normal(key, (d,), SINGLE))[0]
            return theta

        def loss(
            params: FlowParams,
            key: PRNGKeyArray,
            thetas: Float[Array, "n d"],
            xs: Float[Array, "n p"],
        ) -> Float[Array, " n"]:
            del key
            return -log_probs(params, thetas, xs)

        self.log_prob: Callable[..., Any] = log_prob
        """(params, x [p], θ [d]) -> log q(θ | x)."""
        self.to_noise: Callable[..., Any] = to_noise
        """(params, x [n, p], θ [n, d]) -> the noise z [d, n] behind θ, and log |dz/dθ| [n]."""
        self.from_noise: Callable[..., Any] = from_noise
        """(params, x [p], z [d]) -> θ [d], the map from standard normal noise, and log |dθ/dz|."""
        self.sample: Callable[..., Any] = sample
        """(params, x [p], key) -> θ [d]."""
        self.loss: Callable[..., Any] = loss
        """(params, key, θ [n, d], x [n, p]) -> -log q per row [n]."""

    def init(self, key: PRNGKeyArray, thetas: np.ndarray, xs: np.ndarray) -> FlowParams:
        """Return fresh weights, and scalings fitted to θ [n, d] and x [n, p]."""
        weights = self._architecture.init(key, self._d, self._p)
        return FlowParams(weights, Standardizer.fit(thetas), Standardizer.fit(xs))


@functools.lru_cache(maxsize=64)
def conditional_flow(architecture: Architecture, d: int, p: int) -> Flow:
    """Return the flow of this architecture for θ [d] and x [p]."""
    return Flow(architecture, d, p)
