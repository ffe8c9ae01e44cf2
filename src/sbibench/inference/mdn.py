"""Mixture density networks: a mixture of Gaussians whose parameters a network reads off x.

Bishop 1994, with full precision matrices by their Cholesky factors as in Papamakarios & Murray
2016, section 2.3.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.precision import SINGLE
from sbibench.core.settings import check_types
from sbibench.inference.mixture import Mixture
from sbibench.inference.networks import ResidualNet
from sbibench.inference.standardize import Standardizer

STEEPEST = 10.0
"""Logarithms of a precision's Cholesky factor, of standardized u, lie within ± this."""


@dataclass(frozen=True)
class MixtureDensity:
    """Settings of a mixture density network.

    Attributes
    ----------
    components
        Gaussians of the mixture.
    hidden, blocks
        Width and number of the network's residual blocks.
    """

    components: int = 8
    hidden: int = 50
    blocks: int = 2

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("components", "hidden", "blocks"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is 1 or more, not {getattr(self, name)}")


class MDNParams(NamedTuple):
    """All that a fitted network is: weights and the two scalings."""

    weights: ResidualNet
    u: Standardizer
    x: Standardizer


class MDN:
    """q(u | x) for u [d] and x [p], as pure functions of parameters; one object a shape."""

    def __init__(self, settings: MixtureDensity, d: int, p: int) -> None:
        self._settings, self._d, self._p = settings, d, p
        k, outputs = settings.components, 1 + d + d * (d + 1) // 2
        self._outputs = outputs
        below = np.tril_indices(d, -1)

        def parts(
            params: MDNParams, xs: Float[Array, "n p"]
        ) -> tuple[Float[Array, "k n"], Float[Array, "k d n"], Float[Array, "k d d n"]]:
            """Return logits, means and Cholesky factors of precisions, of standardized u."""
            raw = params.weights(params.x.columns(xs)).reshape(k, outputs, -1)
            logits, means, log_diagonal = raw[:, 0], raw[:, 1 : d + 1], raw[:, d + 1 : 2 * d + 1]
            factors = jnp.zeros((k, d, d, raw.shape[-1]), SINGLE)
            factors = factors.at[:, np.arange(d), np.arange(d)].set(
                jnp.exp(jnp.clip(log_diagonal, -STEEPEST, STEEPEST))
            )
            return logits, means, factors.at[:, *below].set(raw[:, 2 * d + 1 :])

        def loss(
            params: MDNParams,
            key: PRNGKeyArray,
            us: Float[Array, "n d"],
            xs: Float[Array, "n p"],
        ) -> Float[Array, " n"]:
            del key
            logits, means, factors = parts(params, xs)
            z = jnp.einsum("kijn,kin->kjn", factors, params.u.columns(us)[None] - means)
            log_dets = jnp.log(jnp.diagonal(factors, axis1=1, axis2=2)).sum(-1)
            inner = log_dets - 0.5 * (z**2).sum(1) - 0.5 * d * math.log(2 * math.pi)
            log_q = jax.nn.logsumexp(inner + jax.nn.log_softmax(logits, 0), 0)
            value: Array = -log_q - params.u.log_det()
            return value

        self.loss = loss
        """(params, key, u [n, d], x [n, p]) -> -log q per row [n]."""
        self._parts = jax.jit(parts)

    def init(self, key: PRNGKeyArray, us: np.ndarray, xs: np.ndarray) -> MDNParams:
        """Return fresh weights, and scalings fitted to u [n, d] and x [n, p]."""
        network = ResidualNet(
            key,
            inputs=self._p,
            outputs=self._settings.components * self._outputs,
            hidden=self._settings.hidden,
            blocks=self._settings.blocks,
        )
        return MDNParams(network, Standardizer.fit(us), Standardizer.fit(xs))

    def grown(self, key: PRNGKeyArray, params: MDNParams) -> MDNParams:
        """Return the parameters of a network with one component, multiplied to this one's.

        The components start as copies that differ by a little noise.
        """

        def multiply(a: Any, axis_key: PRNGKeyArray) -> Any:
            copies = jnp.concatenate([a] * self._settings.components)
            return copies + 0.005 * jax.random.normal(axis_key, copies.shape, copies.dtype)

        weight_key, bias_key = jax.random.split(key)
        last = params.weights.last
        weights = eqx.tree_at(
            lambda n: (n.last.weight, n.last.bias),
            params.weights,
            (multiply(last.weight, weight_key), multiply(last.bias, bias_key)),
        )
        return params._replace(weights=weights)

    def at(self, params: MDNParams, x: np.ndarray) -> Mixture:
        """Return the mixture q(u | x) at x [p], in float64."""
        logits, means, factors = (
            np.asarray(a[..., 0], float) for a in self._parts(params, x[None])
        )
        mean, scale = (np.asarray(a, float) for a in params.u)
        scaled = factors / scale[None, :, None]
        precisions = scaled @ scaled.transpose(0, 2, 1)
        return Mixture(logits, means * scale + mean, precisions)


@functools.lru_cache(maxsize=64)
def mixture_density(settings: MixtureDensity, d: int, p: int) -> MDN:
    """Return the network of these settings for u [d] and x [p]."""
    return MDN(settings, d, p)
