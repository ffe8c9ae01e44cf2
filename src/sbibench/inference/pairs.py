"""Sums of a function of two rows over all pairs of rows, block by block, in float64."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64
from scipy.spatial.distance import pdist

import sbibench.core.precision  # noqa: F401 - float64 from the first computation on
from sbibench.core.errors import SbibenchError, UsageError

BLOCK = 500
"""Rows of each side whose matrix is in memory at a time: 2 MB, which fits into the cache."""

MEDIAN_ROWS = 2000
"""Rows whose pairs the median is taken of: two millions, about 1 % off the median of all."""

Kernel = Callable[[Any, Any, Any], Any]
"""(fixed, rows, rows) -> [BLOCK, BLOCK], symmetric in the rows, pure JAX: one object always."""


def median_distance(xs: Float64[np.ndarray, "n d"]) -> float:
    """Return the median Euclidean distance between rows, of `MEDIAN_ROWS` evenly spaced ones."""
    rows = np.linspace(0, len(xs) - 1, min(len(xs), MEDIAN_ROWS)).round()
    return float(np.median(pdist(xs[rows.astype(int)])))


def exponent(*arrays: Float64[np.ndarray, "..."]) -> int:
    """Return e such that no number is as large as 2^e; over it, squares don't overflow.

    Multiplying by a power of two rounds nothing: take `np.ldexp(x, -e)`, and `times_power` of what
    comes out.
    """
    return math.frexp(max(float(np.abs(x).max(initial=0.0)) for x in arrays))[1]


def times_power(value: float, e: int) -> float:
    """Return value times 2^e.

    Raises
    ------
    SbibenchError
        If that is too large for float64.
    """
    try:
        return math.ldexp(value, e)
    except OverflowError as error:
        raise SbibenchError("the value is too large for float64; rescale both sets") from error


def gaussian_scale(given: float | None, xs: Float64[np.ndarray, "n d"], what: str) -> float:
    """Return 1 / (2 s²) for a Gaussian kernel of bandwidth s.

    Parameters
    ----------
    given
        s, or None for the median distance between rows of xs.
    xs
        [n, d], called `what` in the message.

    Raises
    ------
    UsageError
        If s is not positive, or so small or large that 1 / s² is not a number.
    """
    s = median_distance(xs) if given is None else given
    scale = 0.5 / s / s if s > 0 else math.inf
    if not 0 < scale < math.inf:
        why = "" if given is not None else f", the median distance in the {what},"
        raise UsageError(f"the bandwidth{why} must be positive and finite, it is {s}")
    return scale


def squares(xs: Float[Array, "n d"], ys: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """Return the squared distances between rows; pure JAX.

    Coordinate by coordinate: |x|² + |y|² - 2 x·y would lose the digits of near pairs.
    """

    def add(total: Array, column: tuple[Array, Array]) -> tuple[Array, None]:
        x, y = column
        return total + (x[:, None] - y[None, :]) ** 2, None

    summed: Array = jax.lax.scan(add, jnp.zeros((len(xs), len(ys))), (xs.T, ys.T))[0]
    return summed


class Sums(NamedTuple):
    """Sums of h over pairs of different rows.

    Attributes
    ----------
    rows
        Of each set, [n, sets]: row i with all rows of each set.
    squares
        [sets, sets]: h² over all rows of one set with all of the other.
    groups
        [groups, groups]: h over all rows of one group with all of the other.
    """

    rows: tuple[np.ndarray, ...]
    squares: np.ndarray
    groups: np.ndarray


class _Block(NamedTuple):
    number: int
    of: slice
    values: Any
    marks: np.ndarray
    ids: np.ndarray


@functools.partial(jax.jit, static_argnames=("kernel", "same"))
def _sums(kernel: Kernel, fixed: Any, a: Any, b: Any, *, same: bool) -> tuple[Array, ...]:
    """Return sums of h with what is marked in b, of rows, transposed, of marks; and of h²."""
    (xs, x_marks), (ys, y_marks) = a, b
    h = kernel(fixed, xs, ys)
    if same:
        h = jnp.where(jnp.eye(BLOCK, dtype=bool), 0.0, h)
    h = jax.lax.optimization_barrier(h)  # else it is computed again for each of the sums
    right = h @ y_marks
    return right, x_marks[:, 0] @ h, x_marks.T @ right, x_marks[:, 0] @ h**2 @ y_marks[:, 0]


def pair_sums(
    kernel: Kernel, fixed: Any, sets: Sequence[Any], groups: Sequence[np.ndarray]
) -> Sums:
    """Return the sums of h over all pairs of different rows of all sets.

    Parameters
    ----------
    kernel, fixed
        h(fixed, ·, ·).
    sets
        Of each set its rows, a pytree of arrays [n, ...] that share their first axis.
    groups
        Of each set the group of every row, int [n], ascending; groups are numbered through all
        sets, from 0.
    """
    sizes = [len(numbers) for numbers in groups]
    blocks = list(_blocks(sets, groups))
    k = 1 + max(int(numbers[-1]) for numbers in groups)
    rows = tuple(np.zeros((n, len(sets))) for n in sizes)
    total, between = np.zeros((len(sets), len(sets))), np.zeros((k, k))
    for i, a in enumerate(blocks):
        for b in blocks[i:]:
            marked = (a.values, a.marks), (b.values, b.marks)
            sums = _sums(kernel, fixed, *marked, same=a is b)
            right, left, both, squared = (np.asarray(s) for s in sums)
            marks = both[1 : 1 + len(a.ids), 1 : 1 + len(b.ids)]
            rows[a.number][a.of, b.number] += right[: a.of.stop - a.of.start, 0]
            total[a.number, b.number] += squared
            between[np.ix_(a.ids, b.ids)] += marks
            if a is not b:
                rows[b.number][b.of, a.number] += left[: b.of.stop - b.of.start]
                total[b.number, a.number] += squared
                between[np.ix_(b.ids, a.ids)] += marks.T
    return Sums(rows, total, between)


def _blocks(sets: Sequence[Any], groups: Sequence[np.ndarray]) -> list[_Block]:
    """Cut the sets into blocks, filled up with rows that no mark counts."""
    parts = []
    for number, (rows, numbers) in enumerate(zip(sets, groups, strict=True)):
        for start in range(0, len(numbers), BLOCK):
            of = slice(start, min(start + BLOCK, len(numbers)))
            parts.append((number, of, rows, *np.unique(numbers[of], return_inverse=True)))
    most = max(len(ids) for *_, ids, _ in parts)
    blocks = []
    for number, of, rows, ids, inverse in parts:
        m = of.stop - of.start
        marks = np.zeros((BLOCK, 1 + most))
        marks[:m, 0] = 1
        marks[np.arange(m), 1 + inverse] = 1
        values = jax.tree.map(
            lambda x, of=of, m=m: np.pad(x[of], ((0, BLOCK - m),) + ((0, 0),) * (x.ndim - 1)), rows
        )
        blocks.append(_Block(number, of, values, marks, ids))
    return blocks
