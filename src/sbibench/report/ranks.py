"""Mean ranks of algorithms over the tasks and observations that all of them were run on."""

from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from sbibench.report.cells import checked, named

RESAMPLES = 2000


class Rank(NamedTuple):
    """The mean rank of an algorithm, 1 for the best, with a 95 % interval."""

    mean: float
    low: float
    high: float


def mean_ranks(runs: pl.DataFrame, metric: str, budget: int) -> tuple[dict[str, Rank], int]:
    """Return the mean rank of each algorithm at a budget, and over how many observations.

    Ranks are within one observation and seed of one task, over those where every algorithm that has
    the metric was run and one has a value; a run that failed ranks last. They are averaged over
    tasks, and the interval is that of a bootstrap of tasks, with observations inside: another
    choice of tasks is what would change them.

    Parameters
    ----------
    runs
        The table of all runs.
    metric
        Smaller is better.
    budget
        The number of simulations.
    """
    column = checked(runs, metric)
    here = named(runs.filter(pl.col("budget") == budget))
    names = here.filter(pl.col(column).is_not_null())["name"].unique().sort().to_list()
    here = here.filter(pl.col("name").is_in(names))
    where = ["task", "observation", "seed"]
    value = pl.when(pl.col("status") == "done").then(pl.col(column)).otherwise(np.inf)
    here = here.with_columns(value.alias("value"))
    wide = here.pivot("name", index=where, values="value").drop_nulls().sort(where)
    wide = wide.filter(pl.min_horizontal(names).is_finite()) if names else wide
    if not len(wide) or len(names) < 2:
        return {}, 0
    ranks = stats.rankdata(wide.select(names).to_numpy(), axis=1)
    tasks = wide["task"].to_numpy()
    groups = [ranks[tasks == task] for task in np.unique(tasks)]
    rng = np.random.default_rng(0)
    chosen = rng.multinomial(len(groups), np.full(len(groups), 1 / len(groups)), RESAMPLES)
    means = np.zeros((RESAMPLES, len(names)))
    for group, times in zip(groups, chosen.T, strict=True):
        # A task that is chosen k times has k resamples of its n observations.
        n = len(group)
        means += rng.multinomial(n * times, np.full(n, 1 / n)) @ group / (n * len(groups))
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    mean = np.mean([g.mean(0) for g in groups], axis=0)
    found = {n: Rank(*map(float, r)) for n, *r in zip(names, mean, low, high, strict=True)}
    return dict(sorted(found.items(), key=lambda item: item[1].mean)), len(wide)
