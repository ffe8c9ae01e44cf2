"""Whether float32, in which networks and algorithms see data, still tells data values apart."""

import warnings

import numpy as np

LEAST = 1000
"""Steps of float32 in the spread of a column, at least.

The spread is that of data from the prior. A posterior is often tens to hundreds of times narrower,
and then what tells its parameters apart is a few steps.
"""

_ROWS = 4
"""From so few rows no spread can be told."""

_WHOLE = 2.0**24
"""Whole numbers up to this are held without rounding."""


class PrecisionWarning(UserWarning):
    """Data whose values float32 can't tell apart well enough."""


def unresolved(xs: np.ndarray) -> np.ndarray | None:
    """Return which columns of finite data [n, p], float64, float32 rounds too coarsely, bool [p].

    A column whose spread is less than `LEAST` steps of float32 at its median: its values are large
    and differ by little. Constant columns, which tell nothing in any precision, and whole numbers
    that float32 holds exactly are none of them. None where there are too few rows to say.
    """
    if len(xs) < _ROWS:
        return None
    low, middle, high = np.quantile(xs, [0.25, 0.5, 0.75], axis=0)
    with np.errstate(over="ignore"):  # what is beyond float32 is no finite row later
        deviation = xs.std(0)
        # The quartiles, or one outlier would be the spread; where they are one value, the rest.
        spread = np.where(high > low, (high - low) / 1.35, deviation)
        step = np.spacing(np.abs(middle).astype(np.float32)).astype(np.float64)
    exact = ((xs == np.rint(xs)) & (np.abs(xs) <= _WHOLE)).all(0)
    constant = (xs == xs[:1]).all(0)
    return np.asarray((spread < LEAST * step) & ~exact & ~constant)


def warn_of(columns: np.ndarray, xs: np.ndarray) -> None:
    """Warn that these columns, bool [p], of data [n, p] are rounded too coarsely."""
    first = int(np.flatnonzero(columns)[0])
    middle, spread = float(np.median(xs[:, first])), float(xs[:, first].std())
    warnings.warn(
        f"data columns {np.flatnonzero(columns).tolist()} (counted from 0) hold large numbers that "
        f"differ by little (column {first}: about {middle:.6g}, deviation {spread:.2g}), and "
        "algorithms see them in float32, which rounds the difference away. Subtract a constant in "
        "the simulator and from x_obs alike, or change the unit",
        PrecisionWarning,
        stacklevel=2,
    )
