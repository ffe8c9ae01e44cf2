"""How sure means over observations are."""

import numpy as np
import polars as pl
from scipy.special import stdtrit

from sbibench.report.cells import BOUNDED


def intervals(cells: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Add `low` and `high` to cells: 95 % intervals of their means; null for one value.

    They are those of Student's t distribution.

    Parameters
    ----------
    cells
        With mean, sd and n.
    metric
        What they are of: C2ST is not above 1.
    """
    n = cells["n"].to_numpy()
    quantile = np.where(n > 1, stdtrit(np.maximum(n - 1, 1), 0.975), np.nan)
    half = pl.Series(quantile / np.sqrt(np.maximum(n, 1))).fill_nan(None) * cells["sd"]
    low, high = (cells["mean"] - half).alias("low"), (cells["mean"] + half).alias("high")
    return cells.with_columns(low, high.clip(None, 1.0) if metric in BOUNDED else high)
