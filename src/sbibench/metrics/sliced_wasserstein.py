"""Sliced Wasserstein distance: the distance that mass must be moved, seen along random lines."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float64, PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import Estimate, Evidence, checked_pair
from sbibench.inference.norms import length_error, number_of_groups
from sbibench.inference.pairs import exponent, times_power

AT_ONCE = 2_000_000
"""Projected numbers of one set that are in memory at a time."""


def frames(key: PRNGKeyArray, d: int, projections: int) -> Float64[np.ndarray, "f d d"]:
    """Return random orthonormal frames [f, d, d], whose rows are directions, uniform on the sphere.

    As many frames as have `projections` directions or more, and two at least; of d = 1 only one.
    Frames in place of independent directions, since the squares of what is seen along the lines of
    a frame add up: the distance of two sets that are only shifted comes out exactly.
    """
    if d == 1:
        return np.ones((1, 1, 1))
    shape = (max(2, math.ceil(projections / d)), d, d)
    q, r = np.linalg.qr(numpy_rng(key).standard_normal(shape))
    signs = np.sign(np.diagonal(r, axis1=1, axis2=2))  # makes them uniform (Mezzadri 2007)
    return np.asarray(np.swapaxes(q * signs[:, None, :], 1, 2))


class _Cells(NamedTuple):
    """Intervals on which two quantile functions, of n and of m rows, are both constant."""

    widths: np.ndarray
    in_a: np.ndarray
    in_b: np.ndarray


def _cells(n: int, m: int) -> _Cells:
    """Return the widths of the intervals, and which row each of them belongs to, in order."""
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)  # times n m: whole numbers
    return _Cells(np.diff(ends, prepend=0) / (n * m), (ends - 1) // m, (ends - 1) // n)


def squared_distances(
    a: Float64[np.ndarray, "n d"],
    b: Float64[np.ndarray, "m d"],
    directions: Float64[np.ndarray, "k d"],
) -> Float64[np.ndarray, " k"]:
    """Return the squared Wasserstein-2 distance along each direction.

    In one dimension it is the mean square of the difference of the quantile functions, which are
    steps at multiples of 1/n and 1/m: exact for any n and m.
    """
    cells, step = _cells(len(a), len(b)), max(1, AT_ONCE // max(len(a), len(b)))
    found = []
    for start in range(0, len(directions), step):
        some = directions[start : start + step]
        x, y = (np.sort(some @ z.T, axis=1) for z in (a, b))
        found.append((x[:, cells.in_a] - y[:, cells.in_b]) ** 2 @ cells.widths)
    return np.concatenate(found)


def _error_of_rows(
    a: Float64[np.ndarray, "n d"],
    b: Float64[np.ndarray, "m d"],
    directions: Float64[np.ndarray, "k d"],
) -> float:
    """Return the standard error for given directions.

    Quantile functions are vectors, and that of all rows is the mean of those of groups of rows, but
    for terms that are smaller and the same for all groups; the distance is the length of their
    difference.
    """
    sorted_groups = []
    for x in (a, b):
        groups = number_of_groups(len(x))
        size = len(x) // groups
        projected = x[: groups * size] @ directions.T
        by_group = np.moveaxis(projected.reshape(groups, size, -1), 1, 2)
        sorted_groups.append(np.sort(by_group, axis=2))
    one, other = sorted_groups
    cells = _cells(one.shape[2], other.shape[2])
    roots = np.sqrt(cells.widths / len(directions))
    ours = (one[:, :, cells.in_a] * roots).reshape(len(one), -1)
    theirs = (other[:, :, cells.in_b] * roots).reshape(len(other), -1)
    return length_error(ours.mean(0) - theirs.mean(0), ours, theirs)


def sliced_wasserstein(
    key: PRNGKeyArray, samples: Any, reference: Any, *, projections: int = 200
) -> Estimate:
    """Return the sliced Wasserstein-2 distance: the root of the mean W2² along random lines.

    Parameters
    ----------
    key
        For the directions.
    samples, reference
        [n, d] and [m, d]; as they are, not standardised. Sets of unequal size are compared as they
        are, by their quantile functions.
    projections
        Directions, rounded up to a multiple of d; there are 2 d of them at least.

    Returns
    -------
    Estimate
        0 or more, in the units of the samples; of a shift by v it is |v| / √d. For equal
        distributions it falls as 1 / √n, and is not 0. `error` is from the spread over groups of
        rows, see `length_error`, and over the directions.

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has fewer than two rows or another d, or if there are no
        projections.
    SbibenchError
        If the value is too large for float64.

    References
    ----------
    Bonneel et al. 2015 (J. Math. Imaging Vis. 51:22); frames: Rowland et al. 2019, "Orthogonal
    estimation of Wasserstein distances" (AISTATS).
    """
    if projections < 1:
        raise UsageError(f"sliced_wasserstein needs one projection or more, not {projections}")
    a, b = checked_pair(samples, reference, at_least=2)
    e = exponent(a, b)  # squares of the largest numbers would be infinite
    a, b = np.ldexp(a, -e), np.ldexp(b, -e)
    lines = frames(key, a.shape[1], projections)
    directions = lines.reshape(-1, a.shape[1])
    found = squared_distances(a, b, directions).reshape(len(lines), -1).mean(1)
    value = math.sqrt(found.mean())

    some = directions[: max(1, AT_ONCE // max(len(a), len(b)))]
    of_rows = _error_of_rows(a, b, some)
    square_error = found.std(ddof=1) / math.sqrt(len(found)) if len(found) > 1 else 0.0
    of_lines = float(square_error) / (2 * value) if value > 0 else 0.0
    return Estimate(times_power(value, e), times_power(math.hypot(of_rows, of_lines), e))


@dataclass(frozen=True, kw_only=True)
class SlicedWasserstein:
    """The distance of `sliced_wasserstein`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    projections: int = 200

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the distance and its standard error."""
        return sliced_wasserstein(
            key, evidence.samples, evidence.reference, projections=self.projections
        )


METRIC = SlicedWasserstein
