"""A small classifier, trained as scikit-learn trains its `MLPClassifier` by default.

Adam on batches of 200, shuffled every epoch, an L2 penalty of the weights, and a stop when the
training loss has stopped falling; one compiled program.
"""

import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float32, Int, PRNGKeyArray

from sbibench.core.precision import SINGLE

BATCH = 200
LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8
PENALTY = 1e-4
TOLERANCE, PATIENCE = 1e-4, 10
Network = list[tuple[Float32[Array, "_ _"], Float32[Array, " _"]]]
"""Weights and biases, layer by layer."""


class Fit(NamedTuple):
    """What became of one fold."""

    accuracy: Float32[Array, ""]
    """Fraction of the held-out rows that are told right."""
    epochs: Int[Array, ""]
    loss: Float32[Array, ""]
    """Training loss of the last epoch."""


def initial(key: PRNGKeyArray, sizes: tuple[int, ...]) -> Network:
    """Draw weights and biases within ±b of Glorot & Bengio 2010, equation 16."""
    limits, unravel = ravel_pytree(
        [
            (jnp.full((inputs, outputs), b, SINGLE), jnp.full(outputs, b, SINGLE))
            for inputs, outputs in itertools.pairwise(sizes)
            for b in [(6 / (inputs + outputs)) ** 0.5]
        ]
    )
    # One draw for all: six of them take seconds to compile.
    network: Network = unravel(limits * jax.random.uniform(key, limits.shape, SINGLE, -1, 1))
    return network


def logits(network: Network, xs: Float32[Array, "n d"]) -> Float32[Array, " n"]:
    """Return the log odds that each row is of the second class."""
    *hidden, (weight, bias) = network
    for w, b in hidden:
        xs = jax.nn.relu(xs @ w + b[None, :])
    return (xs @ weight)[:, 0] + bias


def permutation(key: PRNGKeyArray, n: int) -> Int[Array, " n"]:
    """Shuffle the numbers below n; ten times faster on a CPU than `jax.random.permutation`.

    That takes as long as an epoch of training when d is small.
    """
    # Random bits above, row numbers below: one sort of one array.
    bits = jax.random.bits(key, (n,), jnp.uint32).astype(jnp.uint64)
    numbered = (bits << 32) | jnp.arange(n, dtype=jnp.uint64)
    return jnp.sort(numbered).astype(jnp.uint32).astype(jnp.int32)


@functools.partial(jax.jit, static_argnames="hidden")
def fit(
    key: PRNGKeyArray,
    xs: Float32[Array, "n d"],
    ys: Float32[Array, " n"],
    held_out: tuple[Float32[Array, "k d"], Bool[Array, " k"]],
    *,
    hidden: int,
    max_epochs: Array | int,
) -> Fit:
    """Train a network of two hidden layers to tell ys = 1 from 0; judge it by the held-out rows."""
    n, d = xs.shape
    size = min(BATCH, n)
    batches = -(-n // size)
    # The last batch is filled up with rows that don't count.
    counts = (jnp.arange(batches * size) < n).astype(SINGLE).reshape(batches, size)
    key_network, key_order = jax.random.split(key)
    start, unravel = ravel_pytree(initial(key_network, (d, hidden, hidden, 1)))

    def loss(network: Network, x: Array, y: Array, count: Array) -> Array:
        z = logits(network, x)
        cross_entropy = count @ (jax.nn.softplus(z) - y * z)
        squares = sum((weight**2).sum() for weight, _ in network)
        return (cross_entropy + PENALTY / 2 * squares) / count.sum()

    def step(state: tuple[Array, ...], batch: tuple[Array, ...]) -> tuple[tuple[Array, ...], Array]:
        parameters, mean, square, t = state
        # One vector for Adam, but the gradient is that of the parts: differentiating through
        # `unravel` would add up six padded vectors, which costs half as much as all the rest.
        value, parts = jax.value_and_grad(loss)(unravel(parameters), *batch)
        gradient, _ = ravel_pytree(parts)
        mean = BETA_1 * mean + (1 - BETA_1) * gradient
        square = BETA_2 * square + (1 - BETA_2) * gradient**2
        t = t + 1
        rate = LEARNING_RATE * jnp.sqrt(1 - BETA_2**t) / (1 - BETA_1**t)
        parameters = parameters - rate * mean / (jnp.sqrt(square) + EPSILON)
        return (parameters, mean, square, t), value * batch[-1].sum()

    def epoch(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        state, epochs, _, best, stale = carry
        order = permutation(jax.random.fold_in(key_order, epochs), n)
        order = jnp.pad(order, (0, batches * size - n))
        shuffled = xs[order].reshape(batches, size, d), ys[order].reshape(batches, size)
        state, losses = jax.lax.scan(step, state, (*shuffled, counts))
        value = losses.sum() / n
        stale = jnp.where(value > best - TOLERANCE, stale + 1, 0)
        return state, epochs + 1, value, jnp.minimum(best, value), stale

    def going(carry: tuple[Any, ...]) -> Array:
        _, epochs, value, _, stale = carry
        go: Array = (stale <= PATIENCE) & (epochs < max_epochs) & ~jnp.isnan(value)
        return go

    zeros, infinity = jnp.zeros_like(start), jnp.asarray(jnp.inf, SINGLE)
    state = (start, zeros, zeros, jnp.zeros((), SINGLE))
    state, epochs, value, _, _ = jax.lax.while_loop(
        going, epoch, (state, jnp.int32(0), infinity, infinity, jnp.int32(0))
    )
    x_held, y_held = held_out
    right = (logits(unravel(state[0]), x_held) > 0) == y_held
    return Fit(right.mean(dtype=SINGLE), epochs, value)
