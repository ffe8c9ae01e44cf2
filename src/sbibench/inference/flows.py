"""Conditional normalizing flows q(θ | x), as pure functions of their parameters."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.precision import SINGLE
from sbibench.inference.networks import ResidualNet
from sbibench.inference.spline import inverse_spline, spline
from sbibench.inference.standardize import Standardizer


class Coupling(eqx.Module):
    """A coupling layer, or a stack of them: what bends the later coordinates, and a new order."""

    network: ResidualNet
    order: Int[Array, "*layers d"]


@dataclass(frozen=True)
class SplineFlow:
    """Architecture of a neural spline flow with coupling layers (Durkan et al. 2019).

    In each layer the coordinates from d // 2 on are bent by splines that the others and x
    determine, then all are put in a new order.

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

    def __post_init__(self) -> None:
        for name, least in (("transforms", 1), ("hidden", 1), ("blocks", 0), ("bins", 2)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is {least} or more, not {getattr(self, name)}")
        if not 0 < self.bound < math.inf:
            raise UsageError(f"bound is positive and finite, not {self.bound}")
        if self.bins > 100:
            raise UsageError(f"bins are 100 at most, not {self.bins}")

    def init(self, key: PRNGKeyArray, d: int, p: int) -> Coupling:
        """Return fresh weights of all layers, stacked along the first axis."""

        def network(key: PRNGKeyArray) -> ResidualNet:
            return ResidualNet(
                key,
                inputs=d // 2 + p,
                outputs=(3 * self.bins - 1) * (d - d // 2),
                hidden=self.hidden,
                blocks=self.blocks,
            )

        network_key, order_key = jax.random.split(key)
        networks = jax.vmap(network)(jax.random.split(network_key, self.transforms))
        orders = jnp.asarray(_orders(numpy_rng(order_key), self.transforms, d))
        return Coupling(networks, orders)

    def to_noise(
        self, layers: Coupling, v: Float[Array, "d n"], x: Float[Array, "p n"]
    ) -> tuple[Float[Array, "d n"], Float[Array, " n"]]:
        """Return the noise behind the columns of v given those of x, and log |dz/dv| [n]."""

        def layer(carry: tuple[Array, Array], weights: Coupling) -> tuple[Any, None]:
            v, log_det = carry
            bent, log_slope = self._bend(spline, weights.network, v, x)
            return (_reorder(bent, weights.order), log_det + log_slope), None

        (z, log_det), _ = jax.lax.scan(layer, (v, jnp.zeros_like(v[0])), layers)
        return z, log_det

    def from_noise(
        self, layers: Coupling, z: Float[Array, "d n"], x: Float[Array, "p n"]
    ) -> tuple[Float[Array, "d n"], Float[Array, " n"]]:
        """Return what `to_noise` maps to the columns of z, and log |dv/dz| [n]."""

        def layer(carry: tuple[Array, Array], weights: Coupling) -> tuple[Any, None]:
            z, log_det = carry
            bent = _reorder(z, jnp.argsort(weights.order))
            v, log_slope = self._bend(inverse_spline, weights.network, bent, x)
            return (v, log_det + log_slope), None

        (v, log_det), _ = jax.lax.scan(layer, (z, jnp.zeros_like(z[0])), layers, reverse=True)
        return v, log_det

    def _bend(
        self, bend: Callable[..., Any], network: ResidualNet, v: Array, x: Array
    ) -> tuple[Array, Array]:
        half = len(v) // 2
        raw = network(jnp.concatenate([v[:half], x]))
        raw = raw.reshape(3 * self.bins - 1, len(v) - half, -1)
        bent, log_slope = bend(raw, v[half:], self.bound)
        return jnp.concatenate([v[:half], bent]), log_slope.sum(0)


def _reorder(v: Array, order: Array) -> Array:
    return v.at[order].get(unique_indices=True, mode="promise_in_bounds")


def _orders(rng: np.random.Generator, layers: int, d: int) -> np.ndarray:
    """Draw orders [layers, d] under which every coordinate is bent about as often as any other."""
    if d <= 2:
        return np.tile(np.arange(d)[::-1], (layers, 1))

    def least_bent(orders: np.ndarray) -> int:
        at, bent = np.arange(d), np.zeros(d, int)
        for order in orders:
            bent[at[d // 2 :]] += 1
            at = at[order]
        return int(bent.min())

    drawn = [np.array([rng.permutation(d) for _ in range(layers)]) for _ in range(200)]
    return max(drawn, key=least_bent)


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
        self._architecture, self._d, self._p = architecture, d, p

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
def conditional_flow(architecture: SplineFlow, d: int, p: int) -> Flow:
    """Return the flow of this architecture for θ [d] and x [p]."""
    return Flow(architecture, d, p)
