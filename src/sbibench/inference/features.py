"""How a network sees the data: as they are, or columns on a logarithmic scale."""

from dataclasses import dataclass

import numpy as np

SPAN = 100.0
"""A positive column whose largest value is more than so many times the smallest is seen as log."""


@dataclass(frozen=True)
class Features:
    """An increasing map of each column of x: its logarithm from `floor` on, a line below.

    Data that span orders of magnitude, as those of a population model do, have no scale on which
    both ends can be told apart; a posterior does not depend on the scale that data are written in.
    """

    logarithmic: np.ndarray
    """Which columns, bool [p]."""
    floor: np.ndarray
    """Their smallest value, float32 [p], where the line goes on at the slope of the logarithm."""

    @classmethod
    def fit(cls, xs: np.ndarray, *, log_data: bool) -> "Features":
        """Return the map for data like xs [n, p]; without `log_data` it leaves all as they are."""
        least, most = xs.min(0), xs.max(0)
        chosen = (least > 0) & (most > SPAN * least.astype(np.float64))
        return cls(chosen & log_data, np.where(chosen, least, 1).astype(np.float32))

    def __call__(self, xs: np.ndarray) -> np.ndarray:
        """Return features [..., p], float32, of x [..., p]."""
        above = np.maximum(xs, self.floor)
        below = np.where(
            self.logarithmic, (np.minimum(xs, self.floor) - self.floor) / self.floor, 0
        )
        seen: np.ndarray = np.where(self.logarithmic, np.log(above) + below, xs)
        return seen.astype(np.float32)
