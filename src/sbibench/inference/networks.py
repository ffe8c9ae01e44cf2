"""Small networks that flows and classifiers are made of.

They take matrices [features, n] whose columns are the samples: the long axis is the last one, so
that what follows a network runs along contiguous memory.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core.precision import SINGLE


def _affine(layer: eqx.nn.Linear, h: Float[Array, "inputs n"]) -> Float[Array, "outputs n"]:
    assert layer.bias is not None
    out: Array = layer.weight @ h + layer.bias[:, None]
    return out


class ResidualNet(eqx.Module):
    """A residual network: linear, `blocks` times h + W ReLU(W ReLU(h)), linear; float32.

    The residual form of He et al. 2016 with pre-activation, as conditioner of spline flows in
    Durkan et al. 2019 (neural spline flows), section 5.
    """

    first: eqx.nn.Linear
    blocks: list[tuple[eqx.nn.Linear, eqx.nn.Linear]]
    last: eqx.nn.Linear

    def __init__(
        self, key: PRNGKeyArray, *, inputs: int, outputs: int, hidden: int, blocks: int
    ) -> None:
        def linear(i: int, n_in: int, n_out: int) -> eqx.nn.Linear:
            return eqx.nn.Linear(n_in, n_out, dtype=SINGLE, key=jax.random.fold_in(key, i))

        self.first = linear(0, inputs, hidden)
        self.blocks = [
            (linear(2 * i + 1, hidden, hidden), linear(2 * i + 2, hidden, hidden))
            for i in range(blocks)
        ]
        self.last = linear(2 * blocks + 1, hidden, outputs)

    def __call__(self, xs: Float[Array, "inputs n"]) -> Float[Array, "outputs n"]:
        """Return the network's values at the columns of xs."""
        h = _affine(self.first, xs)
        for inner, outer in self.blocks:
            h = h + _affine(outer, jax.nn.relu(_affine(inner, jax.nn.relu(h))))
        return _affine(self.last, h)


class NormalizedNet(eqx.Module):
    """A plain network: `blocks` layers of ReLU, each sample normalised after each; float32.

    Layer normalisation (Ba et al. 2016) in place of batch normalisation: what a sample becomes does
    not depend on the others beside it, in training or later.
    """

    layers: list[eqx.nn.Linear]
    scales: list[Float[Array, " hidden"]]
    last: eqx.nn.Linear

    def __init__(
        self, key: PRNGKeyArray, *, inputs: int, outputs: int, hidden: int, blocks: int
    ) -> None:
        widths = [inputs, *[hidden] * blocks]
        self.layers = [
            eqx.nn.Linear(n_in, hidden, dtype=SINGLE, key=jax.random.fold_in(key, i))
            for i, n_in in enumerate(widths[:-1])
        ]
        self.scales = [jnp.ones(hidden, SINGLE) for _ in self.layers]
        self.last = eqx.nn.Linear(
            hidden, outputs, dtype=SINGLE, key=jax.random.fold_in(key, blocks)
        )

    def __call__(self, xs: Float[Array, "inputs n"]) -> Float[Array, "outputs n"]:
        """Return the network's values at the columns of xs."""
        h = xs
        for layer, scale in zip(self.layers, self.scales, strict=True):
            h = jax.nn.relu(jax.nn.standardize(_affine(layer, h), axis=0) * scale[:, None])
        return _affine(self.last, h)
