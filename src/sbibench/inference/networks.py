"""Small networks that flows and classifiers are made of."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core.precision import SINGLE


class ResidualNet(eqx.Module):
    """A residual network: linear, `blocks` times x + W ReLU(W ReLU(x)), linear.

    The residual form of He et al. 2016 with pre-activation, as conditioner of spline flows in
    Durkan et al. 2019 (neural spline flows), section 5.
    """

    first: eqx.nn.Linear
    blocks: list[tuple[eqx.nn.Linear, eqx.nn.Linear]]
    last: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray, *, inputs: int, outputs: int, hidden: int, blocks: int):
        def linear(i: int, n_in: int, n_out: int) -> eqx.nn.Linear:
            return eqx.nn.Linear(n_in, n_out, dtype=SINGLE, key=jax.random.fold_in(key, i))

        self.first = linear(0, inputs, hidden)
        self.blocks = [
            (linear(2 * i + 1, hidden, hidden), linear(2 * i + 2, hidden, hidden))
            for i in range(blocks)
        ]
        self.last = linear(2 * blocks + 1, hidden, outputs)

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """Return the network's value at x."""
        h = self.first(x)
        for inner, outer in self.blocks:
            h = h + outer(jax.nn.relu(inner(jax.nn.relu(h))))
        out: Array = self.last(h)
        return out
