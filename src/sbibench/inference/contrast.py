"""Contrastive sets: for each x the θ that made it, and others from the same batch.

Batches are shuffled anew every epoch, so the others are the next rows of the batch.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from sbibench.core.errors import UsageError


def others(rows: Float[Array, "n *d"], size: int) -> Float[Array, "k n *d"]:
    """Return for each row itself and the next ones, around the end: [size, n, ...]."""
    return jnp.stack([jnp.roll(rows, -k, 0) for k in range(size)])


def check_size(size: int, batch_size: int) -> None:
    """Raise `UsageError` unless a batch has so many θ for each x."""
    if size > batch_size:
        raise UsageError(
            f"a contrastive set of {size} is more than the batch of {batch_size}; raise batch_size"
        )


def contrast(
    score: Callable[[Array, Array], Array],
    thetas: Float[Array, "n d"],
    xs: Float[Array, "n p"],
    size: int,
) -> tuple[Float[Array, "k n"], Float[Array, "k n"]]:
    """Return scores [size, n] of each x with its own θ (row 0) and others, and their weights.

    A row that meets its own θ again, in a batch with repeated rows, gets the weight 0 for it.

    Parameters
    ----------
    score
        (θ [m, d], x [m, p]) -> scores [m].
    thetas, xs
        A batch.
    size
        How many θ each x meets, its own among them.
    """
    n = len(xs)
    sets = others(thetas, size)
    scores = score(sets.reshape(size * n, -1), jnp.tile(xs, (size, 1))).reshape(size, n)
    again = jnp.all(sets[1:] == thetas[None], -1)
    weights: Any = jnp.concatenate([jnp.ones((1, n), bool), ~again]).astype(scores.dtype)
    return scores, weights
