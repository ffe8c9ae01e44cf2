"""Whether float32, in which networks and algorithms see data and θ, tells their values apart."""

import warnings

import numpy as np

LEAST = 1000
"""Steps of float32 in the spread of a column, at least.

The spread is that of data from the prior. A posterior is often tens to hundreds of times narrower,
and then what tells its parameters apart is a few steps.
"""

ENOUGH = 50
"""Rows that the spread is told from, where the budget has as many."""

_ROWS = 4
"""From fewer rows no spread can be told."""

_WHOLE = 2.0**24
"""Whole numbers up to this are held without rounding."""


class PrecisionWarning(UserWarning):
    """Data or parameters whose values float32 can't tell apart well enough."""


class Resolution:
    """Collects the first finite data of a simulator, and warns once of columns too coarse."""

    def __init__(self) -> None:
        self._found: np.ndarray | None = None
        self._rows: list[np.ndarray] = []
        self._over = False

    @property
    def unresolved(self) -> np.ndarray | None:
        """Columns that float32 rounds too coarsely, bool [p], by the rows so far; None for few."""
        return unresolved(np.concatenate(self._rows)) if self._rows else self._found

    def see(self, xs: np.ndarray, *, last: bool) -> None:
        """Look at data [n, p], float64; warn when there are `ENOUGH` rows, or these are the last.

        However many a call simulates, all of its first block is looked at.
        """
        if self._over:
            return
        self._rows.append(xs[np.isfinite(xs).all(1)])
        self._over = last or sum(map(len, self._rows)) >= ENOUGH
        if not self._over:
            return
        finite = np.concatenate(self._rows)
        self._rows.clear()
        self._found = unresolved(finite)
        if self._found is not None and self._found.any():
            warn_of("data columns", self._found, finite, "in the simulator and from x_obs alike")


def spread(xs: np.ndarray) -> np.ndarray:
    """Return how much the columns of finite data [n, p] spread, as deviations [p].

    From the quartiles, or one outlier would be the spread; where they are one value, the rest.
    """
    low, high = np.quantile(xs, [0.25, 0.75], axis=0)
    found: np.ndarray = np.where(high > low, (high - low) / 1.35, xs.std(0))
    return found


def unresolved(xs: np.ndarray) -> np.ndarray | None:
    """Return which columns of finite values [n, p], float64, float32 rounds too coarsely, bool [p].

    A column whose spread is less than `LEAST` steps of float32 at its median: its values are large
    and differ by little. Constant columns, which tell nothing in any precision, and whole numbers
    that float32 holds exactly are none of them. None where there are too few rows to say.
    """
    if len(xs) < _ROWS:
        return None
    with np.errstate(over="ignore"):  # what is beyond float32 is no finite row later
        wide = spread(xs)
        step = np.spacing(np.abs(np.median(xs, 0)).astype(np.float32)).astype(np.float64)
    exact = ((xs == np.rint(xs)) & (np.abs(xs) <= _WHOLE)).all(0)
    constant = (xs == xs[:1]).all(0)
    return np.asarray((wide < LEAST * step) & ~exact & ~constant)


def warn_of(what: str, columns: np.ndarray, xs: np.ndarray, where: str) -> None:
    """Warn that these columns, bool [p], of values [n, p] are rounded too coarsely."""
    first = int(np.flatnonzero(columns)[0])
    middle, wide = float(np.median(xs[:, first])), float(spread(xs[:, [first]])[0])
    warnings.warn(
        f"{what} {np.flatnonzero(columns).tolist()} (counted from 0) hold large numbers that "
        f"differ by little (column {first}: about {middle:.6g}, spread {wide:.2g}), and "
        "algorithms see them in float32, which rounds the difference away. Subtract a constant "
        f"{where}, or change the unit",
        PrecisionWarning,
        stacklevel=2,
    )
