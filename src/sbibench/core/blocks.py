"""Apply a function of one row to many rows, in blocks of one size, so that it is compiled once."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import sbibench.core.precision  # noqa: F401 - float64 from the first computation on

BLOCK = 1000
"""Rows per block: the usual budgets are multiples of it, and a block fits into the cache."""


@functools.lru_cache(maxsize=256)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    def block(fixed: Any, key: jax.Array | None, start: jax.Array, rows: Any) -> Any:
        if key is None:
            return jax.vmap(lambda row: function(*fixed, *row))(rows)
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(start + jnp.arange(BLOCK))
        return jax.vmap(lambda k, row: function(*fixed, k, *row))(keys, rows)

    return jax.jit(block)


def row_blocks(
    function: Callable[..., Any],
    *rows: Any,
    fixed: tuple[Any, ...] = (),
    key: jax.Array | None = None,
    n: int | None = None,
) -> Iterator[Any]:
    """Yield `function(*fixed, [key,] *row)` for all rows, block by block, as NumPy arrays.

    Parameters
    ----------
    function
        A pure function of one row of each array. It is compiled once per function object and row
        shape, whatever the number of rows: pass the same object every time.
    rows
        Arrays [n, ...] that share their first axis.
    fixed
        Arguments (pytrees of arrays) that are the same for all rows.
    key
        Row i gets `fold_in(key, i)`, so what it becomes does not depend on how many rows there are.
    n
        The number of rows, where there are no arrays to tell it.
    """
    arrays = tuple(np.asarray(a) for a in rows)
    total = len(arrays[0]) if n is None else n
    compiled = _compiled(function)
    for start in range(0, total, BLOCK):
        stop = min(start + BLOCK, total)
        last = np.minimum(np.arange(start, start + BLOCK), stop - 1)  # pads by repeating
        out = compiled(fixed, key, start, tuple(a[last] for a in arrays))
        yield jax.tree.map(lambda a, m=stop - start: np.asarray(a)[:m], out)


def map_rows(
    function: Callable[..., Any],
    *rows: Any,
    fixed: tuple[Any, ...] = (),
    key: jax.Array | None = None,
    n: int | None = None,
) -> Any:
    """Return `function(*fixed, [key,] *row)` for all rows, stacked; see `row_blocks`."""
    blocks = list(row_blocks(function, *rows, fixed=fixed, key=key, n=n))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *blocks)
