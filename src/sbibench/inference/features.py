"""How a network sees the data: as they are, or columns on a scale on which they can be told."""

from dataclasses import dataclass

import numpy as np

SPAN = 100.0
"""A positive column whose largest value is more than so many times the smallest is seen as log."""

OUTLYING = 1e4
"""A column with values so many times its spread away from its median has outliers.

So high that the tails of Student's t with two degrees of freedom have none in 100 000 rows.
"""


@dataclass(frozen=True)
class Features:
    """An increasing map of each column of x: its logarithm from `floor` on, a line below.

    A column with outliers is seen as z = (x - centre) / spread up to |z| = 1, and beyond as
    1 + log(1 + log |z|) with the sign of z, which goes on at the same slope: divided by its
    standard deviation, counts up to ten beside a few of a million would all be the same.

    Data that span orders of magnitude, as those of a population model do, have no scale on which
    both ends can be told apart; a posterior does not depend on the scale that data are written in.
    """

    logarithmic: np.ndarray
    """Which columns, bool [p]."""
    floor: np.ndarray
    """Their smallest value, float32 [p], where the line goes on at the slope of the logarithm."""
    outlying: np.ndarray | None = None
    """Which columns have outliers, bool [p]; None if none has."""
    centre: np.ndarray | None = None
    spread: np.ndarray | None = None
    """Median, and distance between the 10 % and 90 % quantiles, of each column, float32 [p]."""

    @classmethod
    def fit(cls, xs: np.ndarray, *, log_data: bool) -> "Features":
        """Return the map for data like xs [n, p]; without `log_data` it leaves all as they are."""
        least, most = xs.min(0), xs.max(0)
        chosen = (least > 0) & (most > SPAN * least.astype(np.float64))
        floor = np.where(chosen, least, 1).astype(np.float32)
        centre = np.median(xs, 0).astype(np.float64)
        spread = _spread(xs.astype(np.float64), centre)
        far = np.maximum(most - centre, centre - least) > OUTLYING * spread
        outlying = far & (spread > 0) & ~chosen
        if not (log_data and outlying.any()):
            return cls(chosen & log_data, floor)
        spread = np.where(outlying, spread, 1)
        return cls(chosen, floor, outlying, centre.astype(np.float32), spread.astype(np.float32))

    def __call__(self, xs: np.ndarray) -> np.ndarray:
        """Return features [..., p], float32, of x [..., p]."""
        above = np.maximum(xs, self.floor)
        below = np.where(
            self.logarithmic, (np.minimum(xs, self.floor) - self.floor) / self.floor, 0
        )
        seen: np.ndarray = np.where(self.logarithmic, np.log(above) + below, xs)
        if self.outlying is not None:
            assert self.centre is not None
            assert self.spread is not None
            z = (xs - self.centre) / self.spread
            beyond = 1 + np.log1p(np.log(np.maximum(np.abs(z), 1)))
            seen = np.where(self.outlying, np.where(np.abs(z) > 1, np.sign(z) * beyond, z), seen)
        return seen.astype(np.float32)


def _spread(xs: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return how far apart most values of each column are; 0 for a constant one.

    Of a column that is nearly constant, the median of the deviations that there are.
    """
    low, high = np.quantile(xs, [0.1, 0.9], axis=0)
    away = np.abs(xs - centre)
    some = (away > 0).any(0)
    typical = np.zeros(xs.shape[1])
    typical[some] = np.nanmedian(np.where(away > 0, away, np.nan)[:, some], axis=0)
    return np.where(high > low, high - low, typical)
