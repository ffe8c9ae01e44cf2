"""Runs as the cells of a benchmark: task, algorithm, budget, with a mean and how sure it is."""

import polars as pl

from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.report.timing import SECONDS, run_seconds

_SETTINGS = ("label", "algorithm", "settings", "share_fit", "samples")
BOUNDED = ("c2st", "c2st_tuned")
"""Metrics between 1/2, the best, and 1, the worst; of all others smaller is better."""


def metrics(runs: pl.DataFrame) -> list[str]:
    """Return the metrics that runs have values of, C2ST first; not what metrics tell besides.

    `SECONDS` of runs that are `timed` come last.
    """
    names = [c.removeprefix("metric.") for c in runs.columns if c.startswith("metric.")]
    of_quality = {n for n in names if "." not in n}
    return sorted(of_quality, key=lambda n: (n == SECONDS, n != "c2st", n))


def checked(runs: pl.DataFrame, metric: str) -> str:
    """Return the column of a metric, or raise `UsageError` if no run has it."""
    if not metrics(runs):
        raise UsageError(
            "no run of these results has a metric: where no true posterior is known, sb.compare "
            "judges methods, and sb.plot.posterior shows samples"
        )
    if metric not in metrics(runs):
        raise unknown("metric of these results", metric, metrics(runs))
    return f"metric.{metric}"


def latest(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs of each task as it was last: with another model it is another task."""
    model = pl.struct("task_version", pl.col("fingerprint").fill_null(""))
    return runs.filter(model == model.sort_by("finished", nulls_last=False).last().over("task"))


def named(runs: pl.DataFrame) -> pl.DataFrame:
    """Add the column `name`: the label, numbered where one label has runs with other settings.

    Of each task the `latest` runs are left. What has names already keeps them: name all runs before
    some are chosen, so that one name is one algorithm.
    """
    if "name" in runs.columns:
        return runs
    runs = latest(runs)
    kinds = runs.select(_SETTINGS).unique(maintain_order=True).sort(_SETTINGS)
    number = pl.int_range(1, pl.len() + 1).over("label")
    several = pl.when(number > 1).then(pl.format("{} ({})", "label", number))
    kinds = kinds.with_columns(several.otherwise(pl.col("label")).alias("name"))
    return runs.join(kinds, on=_SETTINGS, how="left", nulls_equal=True)


def cells(runs: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return one row per task, name and budget.

    Parameters
    ----------
    runs
        The table of all runs.
    metric
        Which of `metrics`.

    Returns
    -------
    DataFrame
        task, name, budget, runs, done, n (observations with a value), mean and sd over them, error
        (standard error of measuring the mean) and seconds (mean, without metrics).

    Raises
    ------
    UsageError
        If no run has this metric.
    """
    value = pl.col(checked(runs, metric))
    error = pl.col(f"error.{metric}") if f"error.{metric}" in runs else pl.lit(None, pl.Float64)
    done = pl.col("status") == "done"
    cell = ["task", "name", "budget"]
    # Seeds of one observation are averaged first: they are not as good as other observations.
    of_observations = (
        named(runs)
        .group_by(*cell, "observation")
        .agg(
            pl.len().alias("runs"),
            done.sum().alias("done"),
            value.filter(done).mean().alias("value"),
            (error.filter(done).pow(2).sum().sqrt() / error.filter(done).count()).alias("error"),
            run_seconds(runs).filter(done).mean().alias("seconds"),
        )
        .with_columns(pl.col("error").fill_nan(None))
    )
    return (
        of_observations.group_by(cell)
        .agg(
            pl.col("runs", "done").sum(),
            pl.col("value").count().alias("n"),
            pl.col("value").mean().alias("mean"),
            pl.col("value").std().alias("sd"),
            (pl.col("error").pow(2).sum().sqrt() / pl.col("error").count()).fill_nan(None),
            pl.col("seconds").mean(),
        )
        .sort(cell)
    )


def of_task(runs: pl.DataFrame, task: str) -> pl.DataFrame:
    """Return the runs of one task, or raise `UsageError` if there are none."""
    found = runs.filter(pl.col("task") == task)
    if not len(found):
        known = runs["task"].unique().sort().to_list()
        if not known:
            raise UsageError("there are no runs")
        raise unknown("task of these results", task, known)
    return found


def bounds(found: pl.DataFrame, metric: str) -> tuple[list[float], list[float]]:
    """Return for each cell the values that are good and bad: fixed, or those of its task."""
    if metric in BOUNDED:
        return [0.5] * len(found), [1.0] * len(found)
    both = found.select(
        pl.col("mean").min().over("task").alias("low"),
        pl.col("mean").max().over("task").alias("high"),
    )
    return both["low"].to_list(), both["high"].to_list()


def short(value: float) -> str:
    """Return a number in five characters or so."""
    if 0.01 <= abs(value) < 10:
        return f"{value:.3f}"
    return f"{value:.3g}" if 10 <= abs(value) < 1000 else f"{value:.2g}"
