"""Neural spline flows with coupling layers (Durkan et al. 2019)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.settings import check_types
from sbibench.inference.networks import ResidualNet
from sbibench.inference.spline import SLOPE_1, inverse_spline, spline

START = 0.1
"""How large the last layers of fresh conditioners are, as a share of what is usual."""


class Coupling(eqx.Module):
    """A coupling layer, or a stack of them: what bends the later coordinates, and a new order."""

    network: ResidualNet
    order: Int[Array, "*layers d"]


@dataclass(frozen=True)
class SplineFlow:
    """Architecture of a neural spline flow with coupling layers (Durkan et al. 2019).

    In each layer the coordinates from d // 2 on are bent by splines that the others and x
    determine, then all are put in a new order. Fresh layers are near the identity; what random
    ones do to θ would have to be unlearned first.

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
        check_types(self)
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
            net = ResidualNet(
                key,
                inputs=d // 2 + p,
                outputs=(3 * self.bins - 1) * (d - d // 2),
                hidden=self.hidden,
                blocks=self.blocks,
            )
            last = jax.tree.map(lambda w: START * w, net.last)
            slopes = jnp.repeat(jnp.arange(3 * self.bins - 1) >= 2 * self.bins, d - d // 2)
            last = eqx.tree_at(lambda n: n.bias, last, last.bias + SLOPE_1 * slopes)
            found: ResidualNet = eqx.tree_at(lambda n: n.last, net, last)
            return found

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
