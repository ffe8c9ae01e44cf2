"""Classifier two-sample test: how well a network tells the samples from the reference.

1/2 means that it can't, 1 that it always can. Protocol of Lueckmann et al. 2021 (arXiv:2101.04653,
appendix A.4), whose classifier was scikit-learn's `MLPClassifier`; the training here has its rules:
Adam on batches of 200, shuffled every epoch, an L2 penalty of the weights, and a stop when the
training loss has stopped falling.
"""

import functools
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float32, Float64, Int, PRNGKeyArray

from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import Evidence, checked_pair
from sbibench.core.precision import SINGLE

BATCH = 200
LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8
PENALTY = 1e-4
TOLERANCE, PATIENCE = 1e-4, 10
FARTHEST = 1e6
"""Standardised values end here: the squared gradients of farther ones overflow in float32."""

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


def standardized(
    samples: Float64[np.ndarray, "n d"], reference: Float64[np.ndarray, "m d"]
) -> tuple[Float32[np.ndarray, "n d"], Float32[np.ndarray, "m d"]]:
    """Centre both by the mean and divide both by the standard deviation of the reference.

    Columns in which the reference is constant are centred only.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = reference.mean(0), reference.std(0, ddof=1)
    if not np.isfinite(deviation).all():
        raise UsageError("the reference is too large for its standard deviation to be computed")
    # Rounding leaves the deviation of a constant column a little above zero.
    deviation[np.ptp(reference, axis=0) == 0] = 1
    with np.errstate(over="ignore"):
        a, b = ((x - mean) / deviation for x in (samples, reference))
    return (
        np.clip(a, -FARTHEST, FARTHEST).astype(np.float32),
        np.clip(b, -FARTHEST, FARTHEST).astype(np.float32),
    )


def cross_validate(
    key: PRNGKeyArray,
    samples: Float32[np.ndarray, "n d"],
    reference: Float32[np.ndarray, "n d"],
    *,
    folds: int,
    hidden: int,
    max_epochs: int,
    threads: int,
) -> list[Fit]:
    """Train once per fold on all other folds, each on a thread, and judge by that fold."""
    key_order, key_folds = jax.random.split(key)
    xs = np.concatenate([reference, samples])
    ys = np.repeat(np.array([False, True]), [len(reference), len(samples)])
    order = numpy_rng(key_order).permutation(len(xs))
    parts = np.array_split(order, folds)

    def one(i: int, key: PRNGKeyArray) -> Fit:
        rest = np.concatenate(parts[:i] + parts[i + 1 :])
        held_out = xs[parts[i]], ys[parts[i]]
        labels = ys[rest].astype(np.float32)
        done: Fit = fit(key, xs[rest], labels, held_out, hidden=hidden, max_epochs=max_epochs)
        jax.block_until_ready(done)
        return done

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(folds), jax.random.split(key_folds, folds)))


def c2st(
    key: PRNGKeyArray,
    samples: Any,
    reference: Any,
    *,
    folds: int = 5,
    units: int = 10,
    max_epochs: int = 1000,
    threads: int | None = None,
) -> float:
    """Return the mean held-out accuracy of a network that tells the samples from the reference.

    Of two sets of unequal size a random part of the larger one is used, as many rows as the smaller
    one has: else the accuracy could not fall below the share of the larger one.

    Parameters
    ----------
    samples, reference
        [n, d] and [m, d]; both are standardised by the reference.
    folds
        Into how many parts the data are split for cross-validation.
    units
        Units of each of the two hidden layers, per dimension d.
    max_epochs
        Where training ends that has not stopped by itself.
    threads
        How many folds are trained at the same time; by default one on each core that the process
        may use. The value does not depend on it.

    Returns
    -------
    float
        Between 0 and 1. Below 1/2 where the two sets share rows.

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has fewer rows than there are folds, or another d.
    SbibenchError
        If the training diverged.

    References
    ----------
    Lopez-Paz & Oquab 2017 (arXiv:1610.06545); Lueckmann et al. 2021 (arXiv:2101.04653).
    """
    if folds < 2 or units < 1 or max_epochs < 1 or (threads is not None and threads < 1):
        raise UsageError("c2st needs 2 folds and 1 of units, max_epochs and threads, or more")
    a, b = checked_pair(samples, reference, at_least=folds)
    n = min(len(a), len(b))
    key_part, key_folds = jax.random.split(key)
    rng = numpy_rng(key_part)
    a, b = (x if len(x) == n else rng.choice(x, n, replace=False) for x in standardized(a, b))
    fits = cross_validate(
        key_folds,
        a,
        b,
        folds=folds,
        hidden=units * a.shape[1],
        max_epochs=max_epochs,
        threads=min(folds, threads or cores()),
    )
    if not all(np.isfinite(fit.loss) for fit in fits):
        raise SbibenchError("the classifier's training diverged")
    return float(np.mean([fit.accuracy for fit in fits]))


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class C2ST:
    """The accuracy of `c2st`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    folds: int = 5
    units: int = 10
    max_epochs: int = 1000
    threads: int | None = None

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> float:
        """Return the accuracy between 0 and 1."""
        return c2st(
            key,
            evidence.samples,
            evidence.reference,
            folds=self.folds,
            units=self.units,
            max_epochs=self.max_epochs,
            threads=self.threads,
        )


METRIC = C2ST
