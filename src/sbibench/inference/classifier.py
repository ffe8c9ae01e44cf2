"""A small classifier, trained as scikit-learn trains its `MLPClassifier` by default.

Adam on batches of 200, shuffled every epoch, an L2 penalty of the weights, and a stop when the
training loss has stopped falling. Samples are the columns of matrices here.
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


class State(NamedTuple):
    """A training as far as it has come; weights are transposed, [outputs, inputs]."""

    network: Network
    mean: Network
    square: Network
    """Running means of the gradient and of its square."""
    steps: Float32[Array, ""]
    epochs: Int[Array, ""]
    loss: Float32[Array, ""]
    """Training loss of the last epoch."""
    best: Float32[Array, ""]
    stale: Int[Array, ""]
    """Epochs in a row that did not improve on the best loss."""


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


@functools.partial(jax.jit, static_argnames=("d", "hidden"))
def start(key: PRNGKeyArray, d: int, hidden: int) -> State:
    """Return the state before the first step, of a network with two hidden layers."""
    network = [(w.T, b) for w, b in initial(key, (d, hidden, hidden, 1))]
    zeros = jax.tree.map(jnp.zeros_like, network)
    infinity, none = jnp.asarray(jnp.inf, SINGLE), jnp.int32(0)
    return State(network, zeros, zeros, jnp.zeros((), SINGLE), none, infinity, infinity, none)


@jax.jit
def logits(network: Network, xs: Float32[Array, "n d"]) -> Float32[Array, " n"]:
    """Return the log odds that each row is of the second class."""
    *hidden, (weight, bias) = network
    h = xs.T
    for w, b in hidden:
        h = jax.nn.relu(w @ h + b[:, None])
    return (weight @ h)[0] + bias


def loss_and_gradient(
    network: Network,
    x: Float32[Array, "d n"],
    y: Float32[Array, " n"],
    count: Float32[Array, " n"],
) -> tuple[Float32[Array, ""], Network]:
    """Return the penalised mean cross-entropy of the columns that count, and its gradient.

    Written out, not left to autodiff: a step is one and a half times as fast, since nothing but the
    five large products is left.
    """
    (w1, b1), (w2, b2), (w3, b3) = network
    total = count.sum()
    z1 = w1 @ x + b1[:, None]
    h1 = jax.nn.relu(z1)
    z2 = w2 @ h1 + b2[:, None]
    h2 = jax.nn.relu(z2)
    z = w3[0] @ h2 + b3
    squares = sum(jnp.vdot(w, w) for w in (w1, w2, w3))
    loss = (count @ (jax.nn.softplus(z) - y * z) + PENALTY / 2 * squares) / total

    shrink = PENALTY / total
    dz = count * (jax.nn.sigmoid(z) - y) / total
    dz2 = jnp.where(z2 > 0, w3[0][:, None] * dz[None, :], 0)
    dz1 = jnp.where(z1 > 0, w2.T @ dz2, 0)
    return loss, [
        (dz1 @ x.T + shrink * w1, dz1.sum(1)),
        (dz2 @ h1.T + shrink * w2, dz2.sum(1)),
        ((h2 @ dz)[None, :] + shrink * w3, dz.sum(keepdims=True)),
    ]


def permutation(key: PRNGKeyArray, n: int) -> Int[Array, " n"]:
    """Shuffle the numbers below n; ten times faster on a CPU than `jax.random.permutation`.

    That takes as long as an epoch of training when d is small.
    """
    # Random bits above, row numbers below: one sort of one array.
    bits = jax.random.bits(key, (n,), jnp.uint32).astype(jnp.uint64)
    numbered = (bits << 32) | jnp.arange(n, dtype=jnp.uint64)
    return jnp.sort(numbered).astype(jnp.uint32).astype(jnp.int32)


@jax.jit
def going(state: State, max_epochs: Array | int) -> Bool[Array, ""]:
    """Return whether there is more to train: the loss still falls and epochs are left."""
    stop = (state.stale > PATIENCE) | (state.epochs >= max_epochs) | jnp.isnan(state.loss)
    return jnp.logical_not(stop)


@jax.jit
def advance(
    state: State,
    key: PRNGKeyArray,
    xs: Float32[Array, "n d"],
    ys: Float32[Array, " n"],
    max_epochs: Array | int,
) -> State:
    """Train on, to tell ys = 1 from 0, until the loss has stopped falling or at most this epoch.

    The order of an epoch comes from the key and the epoch's number: a training in parts, with the
    same key, is the same training.
    """
    n, d = xs.shape
    size = min(BATCH, n)
    batches = -(-n // size)
    # The last batch is filled up with rows that don't count.
    counts = (jnp.arange(batches * size) < n).astype(SINGLE).reshape(batches, size)

    def step(carry: tuple[Any, ...], batch: tuple[Array, ...]) -> tuple[tuple[Any, ...], Array]:
        network, mean, square, t = carry
        value, gradient = loss_and_gradient(network, *batch)
        t = t + 1
        rate = LEARNING_RATE * jnp.sqrt(1 - BETA_2**t) / (1 - BETA_1**t)
        mean = jax.tree.map(lambda m, g: BETA_1 * m + (1 - BETA_1) * g, mean, gradient)
        square = jax.tree.map(lambda v, g: BETA_2 * v + (1 - BETA_2) * g**2, square, gradient)
        network = jax.tree.map(
            lambda w, m, v: w - rate * m / (jnp.sqrt(v) + EPSILON), network, mean, square
        )
        return (network, mean, square, t), value * batch[-1].sum()

    def epoch(state: State) -> State:
        order = permutation(jax.random.fold_in(key, state.epochs), n)
        order = jnp.pad(order, (0, batches * size - n))
        columns = xs[order].reshape(batches, size, d).transpose(0, 2, 1)
        batch = columns, ys[order].reshape(batches, size), counts
        carry, losses = jax.lax.scan(
            step, (state.network, state.mean, state.square, state.steps), batch
        )
        loss = losses.sum() / n
        stale = jnp.where(loss > state.best - TOLERANCE, state.stale + 1, 0)
        return State(*carry, state.epochs + 1, loss, jnp.minimum(state.best, loss), stale)

    return jax.lax.while_loop(lambda state: going(state, max_epochs), epoch, state)
