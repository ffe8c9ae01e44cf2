"""From the table of all runs to the table that people read: one row per cell of the benchmark."""

import polars as pl

CELL = [
    "task",
    "label",
    "budget",
    "samples",
    "task_version",
    "fingerprint",
    "settings",
    "share_fit",
]


def error_of_mean(column: str) -> pl.Expr:
    """Return the standard error of a mean, by those of its terms that have one; null for none."""
    return (pl.col(column).pow(2).sum().sqrt() / pl.col(column).count()).fill_nan(None)


def summary(runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per task, algorithm with its settings, and budget.

    Columns: those of `CELL`, runs, failed, for every `metric.*` of `runs` its mean `METRIC`
    and its standard deviation over observations and seeds `METRIC.sd` (null for one run), for
    those that tell their standard error that of the mean, `METRIC.error`, and `seconds`, the mean
    time of fitting, simulating and sampling. The error is that of measuring these runs; how much
    runs differ is in the deviation.
    """
    metrics = [c for c in runs.columns if c.startswith("metric.")]
    stages = [f"seconds.{s}" for s in ("fit", "simulate", "sample")]
    present = [s for s in stages if s in runs.columns]
    return (
        runs.group_by(CELL)
        .agg(
            pl.len().alias("runs"),
            (pl.col("status") != "done").sum().alias("failed"),
            *(pl.col(m).mean().alias(m.removeprefix("metric.")) for m in metrics),
            *(pl.col(m).std().alias(f"{m.removeprefix('metric.')}.sd") for m in metrics),
            *(
                error_of_mean(e).alias(f"{e.removeprefix('error.')}.error")
                for e in runs.columns
                if e.startswith("error.")
            ),
            (pl.sum_horizontal(present) if present else pl.lit(None, pl.Float64))
            .mean()
            .alias("seconds"),
        )
        .sort(CELL)
    )
