"""For those who come from sbibm: its names, its files of results, and its tasks' files in ours.

sbibm is the code of Lueckmann et al. 2021 (arXiv:2101.04653). `task` and `algorithm` take its
names, `runs` reads a file of results as one table of runs, `Checkout` the files of its tasks.
"""

import math
import re
from pathlib import Path
from typing import Any

import polars as pl

from sbibench.core import registry
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.store.sbibm_checkout import Checkout
from sbibench.store.table import COLUMNS, ORDER

__all__ = ["ALGORITHMS", "LABELS", "METRICS", "Checkout", "algorithm", "runs", "task"]

LABELS = {
    "rej_abc": "REJ-ABC",
    "smc_abc": "SMC-ABC",
    "nle": "NLE",
    "snle": "SNLE",
    "npe": "NPE",
    "snpe_c": "SNPE",
    "nre": "NRE",
    "snre": "SNRE",
    "rf_abc": "RF-ABC",
    "sl": "SL",
}
"""What its files of results, and the published tables, call our algorithms."""

ALGORITHMS = (
    {name: name for name in LABELS}
    | {label: name for name, label in LABELS.items()}
    | {"snpe": "snpe_c", "mcabc": "rej_abc", "smcabc": "smc_abc", "rf": "rf_abc"}
    | {"prior": "prior", "posterior": "reference"}
)
"""Our algorithms by its names: of modules, of configuration files and of results."""

METRICS = {"C2ST": "c2st", "MMD": "mmd", "MEDDIST": "meddist"}
"""Our metrics by its columns. Its KSD is another estimator, its NLTP has no values: both are left
out."""

LARGEST = 1e18
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_NEEDED = ("task", "algorithm", "num_simulations")


def task(name: str) -> Any:
    """Return the task that sbibm calls so; all ten have the same name here.

    Raises
    ------
    UsageError
        If there is none.
    """
    return registry.TASKS.get(name)


def algorithm(name: str, num_rounds: int | None = None) -> Any:
    """Return the algorithm that sbibm calls so, with the settings of the 2021 paper.

    Parameters
    ----------
    name
        As in `sbibm.algorithms` (snpe, rej_abc, ...), its configuration files or its results.
    num_rounds
        As its `snpe`, `snle` and `snre` take it: one round makes them NPE, NLE and NRE.

    Raises
    ------
    UsageError
        If there is none.
    """
    ours = ALGORITHMS.get(name) or ALGORITHMS.get(name.lower().replace("-", "_"))
    if ours is None:
        raise unknown("algorithm of sbibm", name, ALGORITHMS)
    if num_rounds == 1:
        ours = {"snpe_c": "npe", "snle": "nle", "snre": "nre"}.get(ours, ours)
    return registry.ALGORITHMS.preset(ours, "paper")


def runs(path: Path | str) -> pl.DataFrame:
    """Return a file of results of sbibm as one table of runs, with the columns of ours.

    Parameters
    ----------
    path
        CSV with one row per run; columns `task`, `algorithm`, `num_simulations` (a number, or a
        power of ten like 10³ or >10⁸), metrics in capitals, and where there are `num_observation`,
        `seed`, `num_simulations_simulator`, RT (minutes), `folder`.

    Returns
    -------
    DataFrame
        `label` is its name of the algorithm and `algorithm` ours, where we have it; `metric.c2st`
        and others; `seconds.total`. Its tables don't say how the algorithms were set: `settings`
        is {}. What is not known is null.

    Raises
    ------
    UsageError
        If the file can't be read, lacks a column, or holds a value that is no number.
    """
    path = Path(path)
    try:
        found = pl.read_csv(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{path}: {error}") from error
    lacking = set(_NEEDED) - {*found.columns}
    metrics = [column for column in METRICS if column in found.columns]
    if lacking or not metrics:
        needed = ", ".join(sorted(lacking)) or "a metric: C2ST, MMD or MEDDIST"
        raise UsageError(f"{path} lacks {needed}; it has {', '.join(found.columns)}")
    whole = {
        "num_observation": "observation",
        "seed": "seed",
        "num_simulations_simulator": "calls",
    }
    budgets = [_budget(path, row + 2, v) for row, v in enumerate(found["num_simulations"])]
    told = {
        "id": _text(found, "folder"),
        "task": _text(found, "task"),
        "algorithm": _text(found, "algorithm").replace(ALGORITHMS),
        "label": _text(found, "algorithm"),
        "budget": pl.Series(budgets, dtype=pl.Int64),
        "samples": _constant(found, 10_000),
        "task_version": _constant(found, 1),
        "settings": _constant(found, "{}"),
        "share_fit": _constant(found, False),  # noqa: FBT003 - a value of the table
        "status": _constant(found, "done"),
        "reason": _constant(found, f"read from {path.name}"),
    }
    told |= {
        ours: _numbers(path, found, theirs).cast(pl.Int64)
        for theirs, ours in whole.items()
        if theirs in found.columns
    }
    told |= {f"metric.{METRICS[m]}": _numbers(path, found, m) for m in metrics}
    if "RT" in found.columns:
        told["seconds.total"] = 60 * found["RT"].cast(pl.Float64, strict=False)
    absent = {name: pl.Series([None] * len(found)) for name in COLUMNS if name not in told}
    measured = [name for name in told if name not in COLUMNS]
    schema = COLUMNS | dict.fromkeys(measured, pl.Float64)
    columns = told | absent
    return pl.DataFrame({name: columns[name] for name in schema}, schema_overrides=schema).sort(
        ORDER
    )


def _text(found: pl.DataFrame, column: str) -> pl.Series:
    if column not in found.columns:
        return pl.Series([None] * len(found), dtype=pl.String)
    return found[column].cast(pl.String)


def _constant(found: pl.DataFrame, value: Any) -> pl.Series:
    return pl.Series([value] * len(found))


def _numbers(path: Path, found: pl.DataFrame, column: str) -> pl.Series:
    """Return a column as numbers; one that is missing is null."""
    values = found[column].cast(pl.Float64, strict=False)
    wrong = found[column].is_not_null() & ~values.is_finite().fill_null(value=False)
    if wrong.any():
        line = int(wrong.arg_true()[0]) + 2
        raise UsageError(f"{path}, line {line}: {column} is not a finite number")
    return values


def _budget(path: Path, line: int, text: object) -> int:
    """Return the number that is written as 1000, 1e3, 10³, 10^3 or >10³."""
    written = str(text).strip()
    bare = written.removeprefix(">")
    power = re.fullmatch(r"(\d+?)(?:\^(\d+)|([⁰¹²³⁴⁵⁶⁷⁸⁹]+))", bare)
    try:
        exponent = int(power[2] or power[3].translate(_DIGITS)) if power else 1
        number = float(power[1] if power else bare) ** exponent
    except (ValueError, OverflowError):
        number = math.nan
    if not (1 <= number < LARGEST and number == int(number)):
        raise UsageError(
            f"{path}, line {line}: num_simulations {written!r} is not a number of simulations"
        )
    return int(number)
