"""Results against others, cell by cell."""

import polars as pl

from sbibench.core.errors import UsageError
from sbibench.report.meeting import meet
from sbibench.report.published import METRICS
from sbibench.report.summary import error_of_mean

LIMIT = 2.0
"""Standard errors of the difference from which on a cell is called better or worse."""

_SAME = ("algorithm", "settings", "samples", "share_fit", "task_version")
"""What is the same in the runs of a cell; the same label with other settings is another cell."""


def compare(
    runs: pl.DataFrame, others: pl.DataFrame, metric: str = "c2st", *, by_algorithm: bool = False
) -> pl.DataFrame:
    """Return ours, theirs and the difference in every cell that both have.

    Parameters
    ----------
    runs
        The table of all runs; those that are done count.
    others
        Cells: task, label, budget, n, `METRIC`, `METRIC.sd`.
    metric
        Which metric; the smaller the better.
    by_algorithm
        Whether cells whose labels differ may be the same by their algorithm: see `meeting.meet`.

    Returns
    -------
    DataFrame
        task, label, budget, n (our runs), ours, error (the standard error of measuring that mean,
        null where the metric tells none), theirs, spread (their standard deviation over
        observations), difference, in_spreads, and verdict: "better" or "worse" where the
        difference is more than `LIMIT` standard errors (their spread, for both means), else
        "equal"; "unknown" where there is no spread. `their_label` and `matched` say what it was
        compared with, and by what.

    Raises
    ------
    UsageError
        If one of the two has no such metric.
    """
    if metric not in others.columns:
        known = ", ".join(m for m in METRICS if m in others.columns)
        raise UsageError(f"the figures to compare with have no metric {metric!r}, but {known}")
    if f"metric.{metric}" not in runs.columns:
        raise UsageError(
            f"no run has the metric {metric!r}; where there are samples `results rescore` adds it"
        )
    spread = pl.col(f"{metric}.sd") if f"{metric}.sd" in others else pl.lit(None, pl.Float64)
    tolerance = LIMIT * pl.col("spread") * (1 / pl.col("n") + 1 / pl.col("n_theirs")).sqrt()
    told = error_of_mean(f"error.{metric}") if f"error.{metric}" in runs.columns else pl.lit(None)
    ours = (
        runs.filter((pl.col("status") == "done") & pl.col(f"metric.{metric}").is_not_null())
        .group_by("task", "label", "budget", *_SAME)
        .agg(
            pl.len().alias("n"),
            pl.col(f"metric.{metric}").mean().alias("ours"),
            told.cast(pl.Float64).alias("error"),
        )
    )
    theirs = others.select(
        "task",
        "label",
        "budget",
        *(name for name in ("algorithm", "settings") if name in others.columns),
        pl.col("n").alias("n_theirs"),
        pl.col(metric).alias("theirs"),
        spread.alias("spread"),
    )
    return (
        meet(ours, theirs, by_algorithm=by_algorithm)
        .with_columns((pl.col("ours") - pl.col("theirs")).alias("difference"))
        .with_columns(
            pl.when(pl.col("spread") > 0)
            .then(pl.col("difference") / pl.col("spread"))
            .alias("in_spreads"),
            pl.when(pl.col("spread").is_null())
            .then(pl.lit("unknown"))
            .when(pl.col("difference") > tolerance)
            .then(pl.lit("worse"))
            .when(pl.col("difference") < -tolerance)
            .then(pl.lit("better"))
            .otherwise(pl.lit("equal"))
            .alias("verdict"),
        )
        .drop("n_theirs", *_SAME)
        .sort("task", "budget", "label")
    )


def verdict(cells: pl.DataFrame) -> str:
    """Return the comparison in one line."""
    if not len(cells):
        return "no cell is in both: tasks, labels and budgets have to be the same"
    counts = dict(cells["verdict"].value_counts().iter_rows())
    told = [f"{counts[v]} {v}" for v in ("better", "equal", "worse", "unknown") if v in counts]
    mean = cells["difference"].mean()
    assert isinstance(mean, float)
    side = "below" if mean < 0 else "above"
    said = f"{len(cells)} cells: {', '.join(told)}; on average {abs(mean):.3f} {side} theirs"
    guessed = int((cells["matched"] != "label").sum())
    return f"{said}; {guessed} matched by algorithm, not by label" if guessed else said
