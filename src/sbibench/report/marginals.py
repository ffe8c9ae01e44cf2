"""What samples of a posterior tell of each parameter."""

from collections.abc import Sequence

import numpy as np
from rich.markup import escape
from rich.table import Table


def marginals(samples: np.ndarray) -> np.ndarray:
    """Return mean, deviation and 2.5 % and 97.5 % quantile of samples [n, d] as [d, 4], float64."""
    values = samples.astype(np.float64)
    return np.stack([values.mean(0), values.std(0), *np.quantile(values, [0.025, 0.975], 0)], 1)


def marginal_table(names: Sequence[str], samples: np.ndarray) -> Table:
    """Return a table with a row for each of the d parameters of samples [n, d], by these names."""
    shown = Table(title="The posterior")
    shown.add_column("parameter")
    for name in ("mean", "sd", "2.5 %", "97.5 %"):
        shown.add_column(name, justify="right", no_wrap=True)
    for name, row in zip(names, marginals(samples), strict=True):
        shown.add_row(escape(name), *(f"{value:.4g}" for value in row))
    return shown
