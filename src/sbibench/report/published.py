"""Published results by cell of the benchmark: those that ship, and anybody's files of runs.

What ships are means and spreads over ten observations, computed from the public result files of
Lueckmann et al. 2021 (arXiv:2101.04653, main results and supplement). The figures of
gaussian_mixture are those of a later rerun, since the task was corrected after publication;
in tables that the rerun has no figures for, gaussian_mixture is left out.
"""

from pathlib import Path

import polars as pl

from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.store import sbibm
from sbibench.store.index import read

FOLDER = Path(__file__).parents[1] / "data" / "published"
CORRECTED = "gaussian_mixture"
"""The task whose figures are taken from its rerun."""
SUPPLEMENT = {"RF-ABC": "supplement_rf_abc", "SL": "supplement_sl"}
"""Algorithms that the main table lacks, and the table that has them."""

METRICS = tuple(sbibm.METRICS.values())


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


def of_all() -> pl.DataFrame:
    """Return the cells of the main table and, of the algorithms that it lacks, the supplement's."""
    more = [cells(study).filter(pl.col("label") == label) for label, study in SUPPLEMENT.items()]
    return pl.concat([cells(), *more])


def read_runs(path: Path) -> pl.DataFrame:
    """Return the cells of a file of runs as sbibm distributes them, or of a directory of ours.

    For files see `store.sbibm.runs`.

    Raises
    ------
    UsageError
        If the file can't be read or lacks a column.
    """
    if path.is_dir():
        runs = read(path).filter(pl.col("status") == "done")
        cell = ["task", "label", "budget", "algorithm", "settings"]
    else:
        runs, cell = sbibm.runs(path), ["task", "label", "budget"]
    metrics = [m for m in METRICS if f"metric.{m}" in runs.columns]
    if not metrics:
        raise UsageError(f"no run in {path} has one of the metrics {', '.join(METRICS)}")
    return (
        runs.group_by(cell)
        .agg(
            pl.col(f"metric.{metrics[0]}").count().alias("n"),
            *(pl.col(f"metric.{m}").mean().alias(m) for m in metrics),
            *(pl.col(f"metric.{m}").std().alias(f"{m}.sd") for m in metrics),
        )
        .filter(pl.col("n") > 0)
        .sort(cell)
    )
