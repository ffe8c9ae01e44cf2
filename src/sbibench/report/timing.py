"""What runs cost: their seconds, which are shown as if they were one more metric."""

import polars as pl

from sbibench.core.errors import UsageError

SECONDS = "seconds"
"""The name of this metric."""


def run_seconds(runs: pl.DataFrame) -> pl.Expr:
    """Return the seconds of simulating, fitting and sampling; those of metrics are not a run's."""
    stages = [c for c in (f"seconds.{s}" for s in ("fit", "simulate", "sample")) if c in runs]
    return pl.sum_horizontal(stages) if stages else pl.lit(None, pl.Float64)


def timed(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs with their seconds as one more metric, the last: costs compare like values.

    Runs that did not end by themselves have none.

    Raises
    ------
    UsageError
        If a metric of the runs has this name already.
    """
    if f"metric.{SECONDS}" in runs.columns:
        raise UsageError(
            f"a metric of these results is called {SECONDS!r}, which is the name of the time of "
            "runs here; give the metric another name"
        )
    done = pl.when(pl.col("status") == "done").then(run_seconds(runs).clip(1e-3))
    return runs.with_columns(done.alias(f"metric.{SECONDS}"))
