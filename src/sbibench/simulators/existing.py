"""Simulations that exist already, in place of a simulator."""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
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

    # All simulators are called alike.
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
        theta_2, ... and x_1, x_2, ... All of them may have others that `parameters` and `data`
        name. Rows whose data are not finite are simulations that failed.
    parameters, data
        Names of columns, in their order; of NPZ those of arrays [n] or [n, k].

    Raises
    ------
    UsageError
        If the file can't be read, these are no pairs, a column is taken as both, or names are one
        text in place of a list.
    """
    for what, names in (("parameters", parameters), ("data", data)):
        if isinstance(names, str):
            raise UsageError(f"{what} are a list of names: {what}=[{names!r}], not {names!r}")
    twice = [name for name in parameters or () if name in (data or ())]
    if twice:
        raise UsageError(f"{twice[0]!r} can't be both a parameter and data")
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
    if kind == ".npz":
        return _of_arrays(path, parameters or ["thetas"], data or ["xs"])
    try:
        table = (
            pl.read_csv(path, null_values=["NA", "NaN", "nan"])
            if kind == ".csv"
            else pl.read_parquet(path)
        )
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{path} can't be read: {_first_line(error)}") from error
    if kind == ".csv":
        _check_header(path, table.columns, named=parameters is not None and data is not None)
    table.columns = _stripped(path, table.columns)
    return _picked(path, table, "theta", parameters), _picked(path, table, "x", data)


def _of_arrays(path: Path, parameters: Sequence[str], data: Sequence[str]) -> tuple[Any, Any]:
    """Return θ and x of the arrays of an NPZ file."""
    try:
        with zipfile.ZipFile(path):  # numpy takes other files, too, for what they are not
            pass
        with np.load(path) as file:
            arrays = {name: np.atleast_1d(file[name]) for name in file}
    except zipfile.BadZipFile as error:
        raise UsageError(
            f"{path} is no NPZ file, or a damaged one; np.savez(path, thetas=..., xs=...) makes one"
        ) from error
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} can't be read: {_first_line(error)}") from error
    missing = [name for name in (*parameters, *data) if name not in arrays]
    if missing:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "none"
        raise UsageError(
            f"{path} has no array {missing[0]!r}; its arrays are: {found}. Wanted are 'thetas' "
            "[n, d] and 'xs' [n, p], or say which are parameters=[...] and data=[...]"
        )
    return _together(path, arrays, parameters), _together(path, arrays, data)


def _together(path: Path, arrays: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    """Return the arrays of these names side by side."""
    if len(names) == 1:
        return arrays[names[0]]
    columns = [arrays[name] for name in names]
    if any(a.ndim > 2 or len(a) != len(columns[0]) for a in columns):
        shapes = ", ".join(f"{name} {arrays[name].shape}" for name in names)
        raise UsageError(
            f"{path}: arrays {shapes} do not go side by side; each is [n] or [n, k] with the same n"
        )
    return np.column_stack(columns)


def _first_line(error: BaseException) -> str:
    """Return what an error says, without the advice on how to call its library."""
    return str(error).partition("\n")[0]


def _stripped(path: Path, columns: Sequence[str]) -> list[str]:
    """Return names of columns without blanks around them, which several must not share."""
    found = [name.strip() for name in columns]
    twice = [name for name in dict.fromkeys(found) if found.count(name) > 1]
    if twice:
        raise UsageError(f"{path}: several columns are named {twice[0]!r}; name each differently")
    return found


def _check_header(path: Path, columns: Sequence[str], *, named: bool) -> None:
    """Raise `UsageError` if the first line of a CSV file names no columns; numbers may be names."""
    wanted = "begin with a line of names, as theta_1,theta_2,x_1"
    if len(columns) == 1 and (mark := next((m for m in ";\t|" if m in columns[0]), None)):
        raise UsageError(f"{path}: columns are separated by {mark!r}; separate them by commas")
    if not named and all(_is_number(name) for name in columns):
        raise UsageError(f"{path}: the first line holds numbers, not names of columns; {wanted}")


def _is_number(text: str) -> bool:
    try:
        float(text.partition("_duplicated_")[0])
    except ValueError:
        return False
    return True


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
        raise UsageError(
            f"{path}: columns {stem} are not all numbers: {_first_line(error)}"
        ) from error
