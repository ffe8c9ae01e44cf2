"""Published results by cell of the benchmark: those that ship, and anybody's files of runs.

What ships are means and spreads over ten observations, computed from the public result files of
Lueckmann et al. 2021 (arXiv:2101.04653, main results and supplement). The figures of
gaussian_mixture are those of a later rerun, since the task was corrected after publication;
in tables that the rerun has no figures for, gaussian_mixture is left out.
"""

import math
import re
from pathlib import Path

import polars as pl

from sbibench.core.errors import UsageError
from sbibench.core.names import unknown

FOLDER = Path(__file__).parents[1] / "data" / "published"
CORRECTED = "gaussian_mixture"
"""The task whose figures are taken from its rerun."""
LARGEST = 1e18
METRICS = ("c2st", "mmd", "meddist")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def studies() -> list[str]:
    """Return the names of the published tables."""
    return sorted(path.stem for path in FOLDER.glob("*.csv"))


def table(study: str) -> pl.DataFrame:
    """Return one published table as it is: task, algorithm, budget, n, `METRIC_mean`, ...

    Raises
    ------
    UsageError
        If there is no table of this name.
    """
    if study not in studies():
        raise unknown("published table", study, studies())
    return pl.read_csv(FOLDER / f"{study}.csv")


def cells(study: str = "main_paper") -> pl.DataFrame:
    """Return the published cells to compare with.

    Columns: task, label, budget, n (runs), and for each metric its mean `METRIC` and its standard
    deviation over observations `METRIC.sd`.

    Raises
    ------
    UsageError
        If there is no table of this name.
    """
    found = table(study)
    if study != "gaussian_mixture_rerun":
        labels = found["algorithm"].unique().implode()
        rerun = table("gaussian_mixture_rerun").filter(pl.col("algorithm").is_in(labels))
        found = pl.concat([found.filter(pl.col("task") != CORRECTED), rerun])
    return found.select(
        "task",
        pl.col("algorithm").alias("label"),
        "budget",
        "n",
        *(pl.col(f"{m}_mean").cast(pl.Float64).alias(m) for m in METRICS),
        *(
            pl.col(f"{m}_std").cast(pl.Float64).alias(f"{m}.sd")
            for m in METRICS
            if f"{m}_std" in found.columns
        ),
    )


def read_runs(path: Path) -> pl.DataFrame:
    """Return the cells of a file of runs as sbibm distributes them.

    One row per run; columns `task`, `algorithm`, `num_simulations` (a number, or a power of ten
    like 10³), `num_observation`, and metrics in capitals: C2ST, MMD, MEDDIST.

    Raises
    ------
    UsageError
        If the file can't be read or lacks a column.
    """
    try:
        runs = pl.read_csv(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{path}: {error}") from error
    lacking = {"task", "algorithm", "num_simulations"} - {*runs.columns}
    metrics = [m for m in METRICS if m.upper() in runs.columns]
    if lacking or not metrics:
        needed = ", ".join(sorted(lacking)) or "a metric: C2ST, MMD or MEDDIST"
        raise UsageError(f"{path} lacks {needed}; it has {', '.join(runs.columns)}")
    for metric in metrics:
        values = runs[metric.upper()].cast(pl.Float64, strict=False)
        wrong = runs[metric.upper()].is_not_null() & ~values.is_finite().fill_null(value=False)
        if wrong.any():
            line = int(wrong.arg_true()[0]) + 2
            raise UsageError(f"{path}, line {line}: {metric.upper()} is not a finite number")
        runs = runs.with_columns(values.alias(metric.upper()))
    budgets = [_number(path, row + 2, v) for row, v in enumerate(runs["num_simulations"])]
    return (
        runs.with_columns(pl.Series("budget", budgets, pl.Int64))
        .rename({"algorithm": "label"})
        .group_by("task", "label", "budget")
        .agg(
            pl.col(metrics[0].upper()).count().alias("n"),
            *(pl.col(m.upper()).mean().alias(m) for m in metrics),
            *(pl.col(m.upper()).std().alias(f"{m}.sd") for m in metrics),
        )
        .filter(pl.col("n") > 0)
        .sort("task", "label", "budget")
    )


def _number(path: Path, line: int, text: object) -> int:
    """Return the number that is written as 1000, 1e3, 10³ or 10^3."""
    written = str(text).strip()
    power = re.fullmatch(r"(\d+?)(?:\^(\d+)|([⁰¹²³⁴⁵⁶⁷⁸⁹]+))", written)
    try:
        exponent = int(power[2] or power[3].translate(_DIGITS)) if power else 1
        number = float(power[1] if power else written) ** exponent
    except (ValueError, OverflowError):
        number = math.nan
    if not (1 <= number < LARGEST and number == int(number)):
        raise UsageError(
            f"{path}, line {line}: num_simulations {written!r} is not a number of simulations"
        )
    return int(number)
