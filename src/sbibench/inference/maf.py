"""Masked autoregressive flows with affine steps (Papamakarios et al. 2017)."""

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.precision import SINGLE
from sbibench.core.settings import check_types

SMALLEST = 1e-3
"""Least factor by which a step scales a coordinate."""


class Step(eqx.Module):
    """One autoregressive step, or a stack of them: the weights of its network, and a new order."""

    matrices: list[Float[Array, "*layers _ _"]]
    biases: list[Float[Array, "*layers _"]]
    order: Int[Array, "*layers d"]


@dataclass(frozen=True)
class MaskedFlow:
    """Architecture of a masked autoregressive flow.

    Step by step coordinate i is shifted and scaled by what a masked network makes of the
    coordinates before it and of x; then all are put in a new order. Papamakarios et al. 2017 put
    batch normalisation between the steps; here nothing stands there: data are z-scored once, and
    each step starts near the identity.

    Attributes
    ----------
    transforms
        Number of steps.
    hidden, blocks
        Width and number of the hidden layers of each step's network; tanh.
    """

    transforms: int = 5
    hidden: int = 50
    blocks: int = 2

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("transforms", "hidden", "blocks"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is 1 or more, not {getattr(self, name)}")

    def _masks(self, d: int, p: int) -> list[np.ndarray]:
        """Return which weights may differ from zero: eq. 8 and 9 of Germain et al. 2015.

        A unit of degree k sees the coordinates up to k, and x; degree 0 sees x alone.
        """
        degrees = np.round(np.linspace(0, d - 1, self.hidden)).astype(int)
        inputs = np.concatenate([np.arange(1, d + 1), np.zeros(p, int)])
        outputs = np.tile(np.arange(1, d + 1), 2)
        inner = degrees[:, None] >= degrees
        return [
            degrees[:, None] >= inputs,
            *[inner] * (self.blocks - 1),
            outputs[:, None] > degrees,
        ]

    def init(self, key: PRNGKeyArray, d: int, p: int) -> Step:
        """Return fresh weights of all steps, stacked along the first axis."""
        rng = numpy_rng(key)
        masks = self._masks(d, p)
        orders = [np.arange(d)[::-1], *(rng.permutation(d) for _ in range(self.transforms - 1))]
        if d <= 2:
            orders = [np.arange(d)[::-1]] * self.transforms

        def matrix(mask: np.ndarray, size: float) -> Array:
            seen = np.maximum(mask.sum(1, keepdims=True), 1)
            scale = size / np.sqrt(seen)
            drawn = rng.uniform(-1, 1, (self.transforms, *mask.shape)) * scale
            return jnp.asarray(drawn * mask, SINGLE)

        return Step(
            [*(matrix(mask, 1.0) for mask in masks[:-1]), matrix(masks[-1], 0.01)],
            [jnp.zeros((self.transforms, len(mask)), SINGLE) for mask in masks],
            jnp.asarray(np.array(orders)),
        )

    def _shift_and_scale(self, step: Step, v: Array, x: Array) -> tuple[Array, Array]:
        h = jnp.concatenate([v, x])
        masks = self._masks(len(v), len(x))
        for i, (matrix, bias, mask) in enumerate(
            zip(step.matrices, step.biases, masks, strict=True)
        ):
            h = (matrix * mask.astype(np.float32)) @ (jnp.tanh(h) if i else h) + bias[:, None]
        shift, raw = jnp.split(h, 2)
        return shift, jax.nn.softplus(raw + math.log(math.e - 1)) + SMALLEST

    def to_noise(
        self, layers: Step, v: Float[Array, "d n"], x: Float[Array, "p n"]
    ) -> tuple[Float[Array, "d n"], Float[Array, " n"]]:
        """Return the noise behind the columns of v given those of x, and log |dz/dv| [n]."""

        def step(carry: tuple[Array, Array], layer: Step) -> tuple[Any, None]:
            v, log_det = carry
            shift, scale = self._shift_and_scale(layer, v, x)
            return ((v * scale + shift)[layer.order], log_det + jnp.log(scale).sum(0)), None

        (z, log_det), _ = jax.lax.scan(step, (v, jnp.zeros_like(v[0])), layers)
        return z, log_det

    def from_noise(
        self, layers: Step, z: Float[Array, "d n"], x: Float[Array, "p n"]
    ) -> tuple[Float[Array, "d n"], Float[Array, " n"]]:
        """Return what `to_noise` maps to the columns of z, and log |dv/dz| [n]."""

        def step(carry: tuple[Array, Array], layer: Step) -> tuple[Any, None]:
            z, log_det = carry
            wanted = z[jnp.argsort(layer.order)]

            # One more coordinate is right after each pass, since it depends on those before.
            def coordinate(_: Any, v: Array) -> Array:
                shift, scale = self._shift_and_scale(layer, v, x)
                found: Array = (wanted - shift) / scale
                return found

            v = jax.lax.fori_loop(0, len(z), coordinate, jnp.zeros_like(z))
            _, scale = self._shift_and_scale(layer, v, x)
            return (v, log_det - jnp.log(scale).sum(0)), None

        (v, log_det), _ = jax.lax.scan(step, (z, jnp.zeros_like(z[0])), layers, reverse=True)
        return v, log_det
