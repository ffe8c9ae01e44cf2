"""A network that corrects given log odds, as long as rows that it doesn't learn from agree.

It starts at zero correction, and what is returned are running means of its weights at the round
where the loss of the rows held out was lowest, which may be the start.
"""

import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float32, Int, PRNGKeyArray

from sbibench.core.precision import SINGLE

BATCH = 400
RATE, BETA_1, BETA_2, EPSILON = 1e-2, 0.9, 0.99, 1e-8
MEMORY = 8
"""The running means are over the last one in nine of all steps so far."""
PATIENCE, MOST_ROUNDS = 8, 200
PENALTY = 1e-4
Network = list[tuple[Float32[Array, "_ _"], Float32[Array, " _"]]]
"""Weights and biases, layer by layer."""


class Rows(NamedTuple):
    """Rows, as columns; the first `meant` of them count, the others repeat them."""

    xs: Float32[Array, "f n"]
    ys: Float32[Array, " n"]
    """Labels, 0 or 1."""
    given: Float32[Array, " n"]
    """The log odds of label 1 that are to be corrected."""
    meant: Int[Array, ""]


def rows(xs: np.ndarray, ys: np.ndarray, given: np.ndarray) -> Rows:
    """Pack rows [n, f], filled up to a multiple of `BATCH`, so that few shapes are compiled.

    There is one batch more than there are rows, so that every row can start one.
    """
    n = len(xs)
    filled = np.arange((-(-n // BATCH) + 1) * BATCH) % n
    columns, labels, odds = (jnp.asarray(a[filled].T, SINGLE) for a in (xs, ys, given))
    return Rows(columns, labels, odds, jnp.int32(n))


def _initial(key: PRNGKeyArray, learn: Rows, hidden: int) -> Network:
    """Draw weights; the first units have their hinges at rows, and the last layer is zero."""
    inputs = learn.xs.shape[0]
    keys = jax.random.split(key, 3)
    network = [
        (jax.random.normal(k, (b, a), SINGLE) * (2 / a) ** 0.5, jnp.zeros(b, SINGLE))
        for k, (a, b) in zip(keys, itertools.pairwise((inputs, hidden, hidden)), strict=False)
    ]
    hinges = jax.random.randint(keys[2], (hidden,), 0, learn.meant, jnp.int32)
    first, _ = network[0]
    network[0] = first, -(first * learn.xs[:, hinges].T).sum(1)
    return [*network, (jnp.zeros((1, hidden), SINGLE), jnp.zeros(1, SINGLE))]


def _log_odds(network: Network, xs: Float32[Array, "f n"], given: Array) -> Float32[Array, " n"]:
    *hidden, (weight, bias) = network
    for w, b in hidden:
        xs = jax.nn.relu(w @ xs + b[:, None])
    return (weight @ xs)[0] + bias + given


def _entropy(f: Array, ys: Array) -> Array:
    return jax.nn.softplus(f) - ys * f


@functools.partial(jax.jit, static_argnames="hidden")
def corrected(
    key: PRNGKeyArray, learn: Rows, judge: Rows, asked: Rows, *, hidden: int
) -> Float32[Array, " m"]:
    """Train on `learn` while `judge` improves; return the log odds of the rows `asked`.

    Two hidden layers of `hidden` units each; the labels of `asked` are not looked at.
    """
    key_network, key_order = jax.random.split(key)
    start, unravel = ravel_pytree(_initial(key_network, learn, hidden))
    steps = min(max(learn.xs.shape[1] // BATCH - 1, 10), 50)

    def loss(network: Network, begin: Array) -> Array:
        # Rows come shuffled: any stretch of them is a batch, and is cut out faster than gathered.
        x, y, g = (
            jax.lax.dynamic_slice_in_dim(a, begin, BATCH, axis=a.ndim - 1) for a in learn[:3]
        )
        squares = sum((weight**2).sum() for weight, _ in network)
        return _entropy(_log_odds(network, x, g), y).mean() + PENALTY / 2 * squares

    def step(state: tuple[Array, ...], begin: Array) -> tuple[tuple[Array, ...], None]:
        now, mean, square, average, t = state
        gradient, _ = ravel_pytree(jax.grad(loss)(unravel(now), begin))
        mean = BETA_1 * mean + (1 - BETA_1) * gradient
        square = BETA_2 * square + (1 - BETA_2) * gradient**2
        t = t + 1
        rate = RATE * jnp.sqrt(1 - BETA_2**t) / (1 - BETA_1**t)
        now = now - rate * mean / (jnp.sqrt(square) + EPSILON)
        average = average + (now - average) * ((MEMORY + 1) / (MEMORY + t))
        return (now, mean, square, average, t), None

    counts = jnp.arange(judge.ys.shape[0]) < judge.meant

    def judged(average: Array) -> Array:
        f = _log_odds(unravel(average), judge.xs, judge.given)
        return jnp.where(counts, _entropy(f, judge.ys), 0).sum() / judge.meant.astype(SINGLE)

    def one_round(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        state, best, lowest, stale, number = carry
        key_round = jax.random.fold_in(key_order, number)
        begins = jax.random.randint(key_round, (steps,), 0, learn.meant, jnp.int32)
        state, _ = jax.lax.scan(step, state, begins)
        value = judged(state[3])
        better = value < lowest
        best, lowest = jnp.where(better, state[3], best), jnp.where(better, value, lowest)
        return state, best, lowest, jnp.where(better, 0, stale + 1), number + 1

    def going(carry: tuple[Any, ...]) -> Array:
        go: Array = (carry[3] < PATIENCE) & (carry[4] < MOST_ROUNDS)
        return go

    zeros = jnp.zeros_like(start)
    state = (start, zeros, zeros, start, jnp.zeros((), SINGLE))
    carry = (state, start, judged(start), jnp.int32(0), jnp.int32(0))
    best = jax.lax.while_loop(going, one_round, carry)[1]
    return _log_odds(unravel(best), asked.xs, asked.given)
