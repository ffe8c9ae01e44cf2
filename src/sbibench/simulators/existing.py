"""Simulations that exist already, in place of a simulator."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sbibench.core.errors import UsageError
from sbibench.core.forward import NO_SIMULATOR
from sbibench.core.outputs import numbers


@dataclass(frozen=True, eq=False)
class Stored:
    """See `stored`: parameters [n, d] from the prior and their data [n, p], float64."""

    thetas: np.ndarray
    xs: np.ndarray

    probed = False

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Parameters and data: by these a `Simulator` knows that there is nothing to run."""
        return self.thetas, self.xs

    def __call__(self, rng: np.random.Generator, thetas: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Refuse to simulate."""
        raise UsageError(NO_SIMULATOR)


def stored(
    where: str | Path | tuple[Any, Any],
    *,
    parameters: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
) -> Stored:
    """Return simulations to be used as `simulate_batch`: a Task then needs no simulator.

    Methods that draw all their parameters from the prior (npe, nle, nre, rej_abc, rf_abc with one
    round) take as many of the pairs as their budget says, in an order that their key decides. All
    others refuse, since they need data of new parameters.

    Parameters
    ----------
    where
        θ [n, d], drawn from the prior, and x [n, p]: as two arrays, or a file. NPZ has arrays
        `thetas` and `xs`. CSV and Parquet have a row for each simulation, with columns theta_1,
        theta_2, ... and x_1, x_2, ... unless `parameters` and `data` say which. Rows whose data are
        not finite are simulations that failed.
    parameters, data
        Names of columns, in their order.

    Raises
    ------
    UsageError
        If the file can't be read, or these are no pairs.
    """
    if isinstance(where, tuple):
        if len(where) != 2:
            raise UsageError(f"stored simulations are a pair (thetas, xs), not {len(where)} things")
        thetas, xs = where
    else:
        thetas, xs = _read(Path(where), parameters, data)
    thetas, xs = (_columns(numbers(v, n), n) for v, n in ((thetas, "thetas"), (xs, "xs")))
    if len(thetas) != len(xs):
        raise UsageError(f"stored simulations: {len(thetas)} parameters, but {len(xs)} data sets")
    bad = int((~np.isfinite(thetas).all(1)).sum())
    if bad:
        raise UsageError(f"stored simulations: {bad} of {len(thetas)} parameters are not finite")
    return Stored(thetas, xs)


def _columns(array: np.ndarray, what: str) -> np.ndarray:
    """Return an array [n, k] with n, k ≥ 1; (n,) is [n, 1]."""
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not array.size:
        raise UsageError(f"stored simulations: {what} have shape {array.shape}, not [n, k]")
    return array


def _read(
    path: Path, parameters: Sequence[str] | None, data: Sequence[str] | None
) -> tuple[Any, Any]:
    """Return θ and x of a file."""
    kind = path.suffix.lower()
    if kind not in {".npz", ".csv", ".parquet"}:
        raise UsageError(f"stored simulations are in .npz, .csv or .parquet, not {path.name!r}")
    try:
        if kind == ".npz":
            with np.load(path) as file:
                return file["thetas"], file["xs"]
        table = (
            pl.read_csv(path, null_values=["NA", "NaN", "nan"])
            if kind == ".csv"
            else pl.read_parquet(path)
        )
    except KeyError as error:
        raise UsageError(f"{path} has no array 'thetas' or none 'xs'") from error
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{path} can't be read: {error}") from error
    return _picked(path, table, "theta", parameters), _picked(path, table, "x", data)


def _picked(path: Path, table: pl.DataFrame, stem: str, names: Sequence[str] | None) -> np.ndarray:
    """Return the columns of these names, or stem_1, stem_2, ... as far as there are."""
    if names is None:
        names = []
        while f"{stem}_{len(names) + 1}" in table.columns:
            names.append(f"{stem}_{len(names) + 1}")
    missing = [name for name in names if name not in table.columns]
    if missing or not names:
        raise UsageError(
            f"{path} has no column {missing[0] if missing else f'{stem}_1'!r}; its columns are "
            f"{', '.join(table.columns)}; say which with parameters=[...] and data=[...]"
        )
    try:
        return table.select(pl.col(*names).cast(pl.Float64)).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"{path}: columns {stem} are not all numbers: {error}") from error
