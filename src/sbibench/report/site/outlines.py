"""Samples as outlines: marginal densities and the regions that hold 50 and 90 % of the mass.

What a page gets is a few hundred numbers a set, not its samples: paths in a square of `SIDE` units,
y downwards as in SVG.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import contourpy
import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

SIDE = 200
SHOWN = 5
"""Parameters that are drawn; a plot of more is too small to read."""
MASSES = (0.5, 0.9)
_CELLS = {1: 64, 2: 64, 3: 40, 4: 40, 5: 32}
_STEPS = 64
_KNEE, _TOP = 0.82, 0.98
"""Heights in the square up to which densities are to scale, and that none of them reaches."""


class Frame(NamedTuple):
    """The square that outlines are drawn in: for each parameter from where to where."""

    low: np.ndarray
    high: np.ndarray

    def place(self, values: np.ndarray) -> np.ndarray:
        """Return values [..., d] as units of the square."""
        shown = np.asarray(values)[..., : len(self.low)]
        placed: np.ndarray = (shown - self.low) / (self.high - self.low) * SIDE
        return placed


def frame(sets: Sequence[np.ndarray]) -> Frame:
    """Return a frame that holds nearly all of some sets of samples, with a margin.

    It is that of the first set, widened where others reach beyond it, at most to twice its width.
    """
    d = min(SHOWN, sets[0].shape[1])
    ends = [np.quantile(s[:, :d], [0.002, 0.998], axis=0) for s in sets]
    low, high = ends[0]
    half = np.where(high > low, (high - low) / 2, 0.5)
    low = np.maximum(np.min([e[0] for e in ends], axis=0), low - half)
    high = np.minimum(np.max([e[1] for e in ends], axis=0), high + half)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    return Frame(low - margin, high + margin)


def densities(samples: np.ndarray, square: Frame) -> np.ndarray:
    """Return the density of each parameter in the frame, in equal steps: [d, steps]."""
    bins = np.floor(square.place(samples) * (_STEPS / SIDE))
    counts = np.array(
        [
            np.bincount(b[(b >= 0) & (b < _STEPS)].astype(int), minlength=_STEPS)
            for b in np.ascontiguousarray(bins.T)
        ]
    )
    smooth: np.ndarray = gaussian_filter1d(counts / len(samples), 1.0, mode="nearest")
    return smooth


def marginals(found: np.ndarray, tallest: np.ndarray) -> list[str]:
    """Return the outlines of densities [d, steps], where `tallest` [d] is at `_KNEE` of the square.

    What is higher is drawn lower than it is: rounded off, always below the upper edge.
    """
    x = (np.arange(_STEPS) + 0.5) * SIDE / _STEPS
    height = _KNEE * found / np.maximum(tallest, 1e-12)[:, None]
    # Both parts meet with the same slope, and the second one has an end.
    room = _TOP - _KNEE
    beyond = np.maximum(height - _KNEE, 0) / room
    height = np.minimum(height, _KNEE) + room * beyond / (1 + beyond)
    return [_path(np.stack([x, row], axis=1)) for row in SIDE * (1 - height)]


def contours(samples: np.ndarray, square: Frame) -> dict[str, list[str]]:
    """Return for each pair of parameters "row-column" the outlines of the regions of `MASSES`."""
    placed = square.place(samples)
    d = placed.shape[1]
    cells = _CELLS[d]
    at = (np.arange(cells) + 0.5) * SIDE / cells
    bins = np.floor(placed / SIDE * cells).astype(int)
    ok = (bins >= 0) & (bins < cells)
    found = {}
    for row in range(1, d):
        for column in range(row):
            inside = ok[:, row] & ok[:, column]
            index = bins[inside, row] * cells + bins[inside, column]
            counts = np.bincount(index, minlength=cells * cells).reshape(cells, cells)
            density = gaussian_filter(counts.astype(float), 1.0, mode="constant")
            found[f"{row}-{column}"] = _levels(at, density)
    return found


def _levels(at: np.ndarray, density: np.ndarray) -> list[str]:
    total = density.sum()
    if not total > 0:
        return [""] * len(MASSES)
    falling = np.sort(density.ravel())[::-1]
    held = np.cumsum(falling) / total
    # A border of zeros closes the outlines of what reaches the edge.
    step = at[1] - at[0]
    around = np.concatenate([[at[0] - step], at, [at[-1] + step]])
    lines = contourpy.contour_generator(around, around, np.pad(density, 1))
    paths = []
    for mass in MASSES:
        level = falling[min(int(np.searchsorted(held, mass)), len(falling) - 1)]
        pieces: Any = lines.lines(level)
        paths.append("".join(_path(p * np.array([1, -1]) + np.array([0, SIDE])) for p in pieces))
    return paths


def _path(points: np.ndarray) -> str:
    """Return an SVG path of whole units through points [n, 2]: the first, and steps from there.

    It is empty if all of them are one point: what has no steps is no path.
    """
    whole = np.rint(points).astype(int)
    steps = np.diff(whole, axis=0)
    moved = steps[(steps != 0).any(1)].tolist()
    if not moved:
        return ""
    return f"M{whole[0, 0]},{whole[0, 1]}l" + " ".join(f"{x},{y}" for x, y in moved)
