"""Weights that a regression forest gives to simulations, for one observation.

Meinshausen 2006, as used by Raynal et al. 2019: the weight of a simulation is the mean over trees
of its share of the leaf in which x_o lies, counted with the repetitions of the bootstrap.

Only that leaf matters, and a node's split depends on nothing but the simulations in it. So of each
tree only the path from the root to the leaf is grown: the leaf has the same distribution as in the
whole tree, for about the cost of its first two levels.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sbibench.core.deadline import FOREVER, Deadline
from sbibench.core.errors import UsageError
from sbibench.core.problem import Progress, silent
from sbibench.core.settings import check_types
from sbibench.inference.pls import pls_axes
from sbibench.inference.standardize import constant_columns

FILTER = 16
"""A node with more than one in so many of the simulations takes its order from the root's."""

LONG = 4096
"""Rows of a node from which columns are searched one at a time."""

TREES_AT_A_TIME = 10
"""Trees of each parameter between two looks at the deadline."""


@dataclass(frozen=True)
class Forest:
    """Settings of a regression forest (Breiman 2001).

    Attributes
    ----------
    trees
        Trees for each parameter.
    min_node
        A node with so many bootstrap draws or fewer is a leaf.
    tried
        Columns of x that are tried at each node; a third of them by default.
    linear
        A parameter's forest also sees its first axes of partial least squares, as many as explain
        this share of what is linear in x; 0 for none. abcranger (Collin et al. 2020) has 0.9, too.
    """

    trees: int = 500
    min_node: int = 20
    tried: int | None = None
    linear: float = 0.9

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("trees", "min_node", "tried"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is 1 or more, not {value}")
        if not 0 <= self.linear <= 1:
            raise UsageError(f"linear is a share from 0 to 1, not {self.linear}")

    def columns(self, p: int) -> int:
        """Return how many of p columns are tried at each node."""
        return max(1, p // 3) if self.tried is None else min(self.tried, p)


class Sorted(NamedTuple):
    """Data x as columns [p, n], and the order [p, n] of each column's rows."""

    columns: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, xs: np.ndarray) -> "Sorted":
        """Return the columns of x [n, p] and their order."""
        columns = np.ascontiguousarray(xs.T)
        return cls(columns, np.argsort(columns, axis=1, kind="stable"))

    def among(self, features: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return these rows [m] in the order of each of the features [k]: [k, m]."""
        n = self.columns.shape[1]
        if len(rows) * FILTER < n:
            return rows[np.argsort(self.columns[features[:, None], rows], axis=1)]
        member = np.zeros(n, bool)
        member[rows] = True
        # Twice as fast as indexing by a mask.
        return np.stack([order.compress(member.take(order)) for order in self.order[features]])


def leaf(
    rng: np.random.Generator,
    data: Sorted,
    seen: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    forest: Forest,
) -> tuple[np.ndarray, np.ndarray]:
    """Grow one tree along the path of x [p]; return the leaf's rows and their bootstrap counts.

    Each node is split where the squared deviations of y [n] on both sides add up to the least, by
    one of the columns that the tree has `seen`.
    """
    n = data.columns.shape[1]
    counts = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
    sums = counts * y
    rows = np.flatnonzero(counts)
    while (size := counts.take(rows).sum()) > forest.min_node:
        features = rng.permutation(seen)[: forest.columns(len(seen))]
        mean = sums.take(rows).sum() / size
        # Long rows one by one, which stay in the cache.
        groups = [features] if len(rows) < LONG else features[:, None]
        found = [_best_split(data, group, rows, counts, sums, mean) for group in groups]
        best = max(found, key=lambda split: split.gain)
        if best.gain < 0:
            break
        rows = best.low if x[best.feature] <= best.threshold else best.high
    return rows, counts[rows]


class _Split(NamedTuple):
    gain: float
    """Below 0 where there is nothing to split."""
    feature: int
    threshold: float
    low: np.ndarray
    high: np.ndarray


def _best_split(
    data: Sorted,
    features: np.ndarray,
    rows: np.ndarray,
    counts: np.ndarray,
    sums: np.ndarray,
    mean: float,
) -> _Split:
    """Return the best split of a node's rows by one of these features."""
    ordered = data.among(features, rows)
    count, total = counts.take(ordered).cumsum(1), sums.take(ordered).cumsum(1)
    size = count[0, -1]
    total -= mean * count  # of deviations from the node's mean: as much on the left as on the right
    np.square(total, out=total)
    gain = (total[:, :-1] * size) / (count[:, :-1] * (size - count[:, :-1]))
    for _ in range(2):
        feature, last = divmod(int(gain.argmax()), gain.shape[1]) if gain.size else (0, 0)
        ends = data.columns[features[feature], ordered[feature, last : last + 2]]
        if len(ends) < 2 or ends[0] < ends[1]:
            break
        # A column with ties: only then is it worth while to look at all values.
        values = data.columns[features[:, None], ordered]
        gain[values[:, :-1] == values[:, 1:]] = -1.0
    if len(ends) < 2 or ends[0] == ends[1]:
        return _Split(-1.0, 0, 0.0, rows, rows)
    return _Split(
        float(gain[feature, last]),
        int(features[feature]),
        float(ends.mean(dtype=np.float64)),
        ordered[feature, : last + 1],
        ordered[feature, last + 1 :],
    )


def forest_weights(
    rng: np.random.Generator,
    xs: np.ndarray,
    ys: np.ndarray,
    x: np.ndarray,
    forest: Forest,
    deadline: Deadline = FOREVER,
    progress: Progress = silent,
) -> tuple[np.ndarray, int]:
    """Return the weights of rows x [n, p] that a forest for each column of y [n, d] gives at x [p].

    Returns
    -------
    weights, trees
        Weights [n, d], each column of which adds up to 1; how many trees a forest has, fewer than
        asked for if the deadline came first.

    Raises
    ------
    DeadlineError
        If the time is over before each forest has some trees.
    """
    constant = constant_columns(xs)
    if constant.any() and not constant.all():  # a node that draws only these can't be split
        xs, x = xs[:, ~constant], x[~constant]
    data, x, seen = _columns(xs, ys, x, forest)
    centred = np.asfortranarray(ys - ys.mean(0, dtype=np.float64))
    weights = np.zeros(ys.shape)
    grown = 0
    while grown < forest.trees and not (grown and deadline.passed):
        more = min(TREES_AT_A_TIME, forest.trees - grown)
        for j in range(ys.shape[1]):
            if not grown:
                deadline.check("growing the first trees")
            for _ in range(more):
                rows, counts = leaf(rng, data, seen[j], centred[:, j], x, forest)
                weights[rows, j] += counts / counts.sum()
        grown += more
        progress("growing trees", grown, forest.trees)
    return weights / grown, grown


def _columns(
    xs: np.ndarray, ys: np.ndarray, x: np.ndarray, forest: Forest
) -> tuple[Sorted, np.ndarray, list[np.ndarray]]:
    """Return x with all linear axes beside it, the same of the observation, and who sees what."""
    p = xs.shape[1]
    if forest.linear == 0:
        return Sorted.of(xs), x, [np.arange(p)] * ys.shape[1]
    parts, observed, seen, total = [xs], [x], [], p
    for y in ys.T:
        axes = pls_axes(xs, y, forest.linear)
        parts.append(axes.project(xs))
        observed.append(axes.project(x[None])[0])
        k = len(observed[-1])
        seen.append(np.r_[:p, total : total + k])
        total += k
    return Sorted.of(np.concatenate(parts, 1)), np.concatenate(observed), seen
