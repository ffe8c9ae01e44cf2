"""Charts of many runs: a metric against budgets, heat map, cost against quality."""

import math

import altair as alt
import polars as pl

from sbibench.report.cells import BOUNDED, bounds, cells, checked, named, of_task, short
from sbibench.report.intervals import intervals
from sbibench.report.shades import CIVIDIS, fraction, shade
from sbibench.report.style import COLOURS
from sbibench.report.timing import SECONDS

_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
_MORE = ["#882255", "#332288", "#999933", "#000000"]  # Tol 2021, chosen to differ from these
POINTS = 2000
"""Small points in a chart, at most."""
SCALE = {"c2st": "C2ST (0.5: can't be told from the truth)", SECONDS: "seconds of a run"}


def metric(runs: pl.DataFrame, task: str, metric: str = "c2st") -> alt.LayerChart:
    """Return a metric against the number of simulations on one task, a line per algorithm.

    Bands are 95 % intervals of the mean over observations; points are single observations, some of
    them where there are thousands.

    Parameters
    ----------
    runs
        The table of all runs: `sb.read_results("results")`.
    task
        Its name.
    metric
        Which metric of the runs; smaller is better.

    Raises
    ------
    UsageError
        If there are no runs of the task, or none with the metric.
    """
    here = of_task(runs, task)
    means = intervals(cells(here, metric).filter(pl.col("n") > 0), metric)
    points = (
        named(here)
        .filter((pl.col("status") == "done") & pl.col(checked(here, metric)).is_not_null())
        .group_by("name", "budget", "observation")
        .agg(pl.col(f"metric.{metric}").mean().alias("value"))
        .sort("name", "budget", "observation")
    )
    points = points.gather_every(1 + len(points) // POINTS)
    budgets = sorted(means["budget"].unique())
    alone = len(budgets) == 1  # then names are below the marks
    colour, shape = _encoded(means["name"].unique().sort().to_list(), legend=not alone)
    x = _x(budgets)
    if alone:
        x = alt.X("name:N", title=f"{budgets[0]:,} simulations", axis=alt.Axis(labelAngle=-40))
    if metric == SECONDS:
        # An interval may reach below 0, where a logarithmic scale has nothing.
        means = means.with_columns(pl.col("low").clip(min(points["value"])))
    domain, axis = _y(metric, points["value"])
    title = SCALE.get(metric, metric)
    y = alt.Y("mean:Q", title=title, scale=domain, axis=axis)
    base = alt.Chart(means)
    told = [
        alt.Tooltip("name:N", title="algorithm"),
        alt.Tooltip("budget:Q", title="simulations", format=","),
        alt.Tooltip("mean:Q", format=".4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=".4~g"),
        alt.Tooltip("high:Q", title="to", format=".4~g"),
        alt.Tooltip("n:Q", title="runs"),
    ]
    mark = base.mark_area(opacity=0.15, clip=True)
    if alone:
        mark = base.mark_rule(strokeWidth=10, opacity=0.25, clip=True)
    low = alt.Y("low:Q", title=title, scale=domain, axis=axis)
    band = mark.encode(x, low, alt.Y2("high:Q"), colour)
    lines = base.mark_line(strokeWidth=2).encode(x, y, colour)
    marks = base.mark_point(size=60, filled=True, opacity=1).encode(
        x, y, colour, shape, tooltip=told
    )
    single = (
        alt.Chart(points)
        .mark_circle(size=30 if alone else 12, opacity=0.8 if alone else 0.45)
        .encode(
            x,
            alt.Y("value:Q", title=title, scale=domain, axis=axis),
            colour,
            tooltip=["name:N", "observation:Q", alt.Tooltip("value:Q", format=".4~g")],
        )
    )
    chart: alt.LayerChart = (
        alt.layer(band, single, lines, marks)
        .properties(width=460, height=300, title=f"{task}: {metric} against simulations")
        .configure_view(stroke=None)
    )
    return chart


def _y(metric: str, values: pl.Series) -> tuple[alt.Scale, alt.Axis]:
    """Return the scale and the axis that values of a metric are drawn on."""
    if metric in BOUNDED:
        # What can't be told from the truth is as often below 1/2 as above.
        return alt.Scale(domain=[min(0.5, *values), 1], nice=False), alt.Axis()
    if metric == SECONDS:
        return alt.Scale(type="log", padding=12, nice=False), _decades(values, grid=True)
    return alt.Scale(zero=False), alt.Axis()


def _decades(values: pl.Series, *, grid: bool) -> alt.Axis:
    """Return an axis with ticks at powers of ten, and at three times these where they are few."""
    low, high = (math.log10(v) for v in (min(values), max(values)))
    steps = (1, 3) if high - low < 3 else (1,)
    powers = range(math.floor(low) - 1, math.ceil(high) + 1)
    ticks = [s * 10.0**p for p in powers for s in steps]
    return alt.Axis(values=ticks, format="~s" if high > 3 else "~g", grid=grid)


def _x(budgets: list[int]) -> alt.X:
    return alt.X(
        "budget:Q",
        title="simulations",
        scale=alt.Scale(type="log", padding=24, nice=False),
        axis=alt.Axis(values=budgets, format="~s", grid=False),
    )


def heatmap(runs: pl.DataFrame, metric: str = "c2st", budget: int | None = None) -> alt.LayerChart:
    """Return the means of a metric, tasks by algorithms, at one budget, or why there is none.

    Parameters
    ----------
    runs
        The table of all runs: `sb.read_results("results")`.
    metric
        Colours are from 1/2 to 1 for C2ST, else from the best to the worst of each task.
    budget
        The number of simulations; by default the largest that has runs.

    Raises
    ------
    UsageError
        If no run has this metric.
    """
    found = cells(runs, metric)
    at = max(found["budget"]) if budget is None else budget
    every = found.filter(budget=at)
    found = every.filter(pl.col("n") > 0)
    low, high = bounds(found, metric)
    shades = [fraction(*v) for v in zip(found["mean"], low, high, strict=True)]
    found = found.with_columns(
        pl.Series("shade", shades, pl.Float64),
        pl.Series("ink", [shade(f)[1] for f in shades], pl.String),
        pl.Series("text", [short(v) for v in found["mean"]], pl.String),
    )
    labels = "format(0.5 + datum.value / 2, '.2f')"
    fixed = alt.Legend(title=metric, values=[0, 0.5, 1], labelExpr=labels)
    legend = fixed if metric in BOUNDED else None
    x = alt.X("name:N", title=None, axis=alt.Axis(orient="top", labelAngle=-40))
    y, base = alt.Y("task:N", title=None), alt.Chart(found)
    boxes = base.mark_rect().encode(
        x, y, alt.Color("shade:Q", scale=alt.Scale(domain=[0, 1], range=CIVIDIS), legend=legend)
    )
    ink = alt.condition("datum.ink === '#ffffff'", alt.value("#ffffff"), alt.value("#000000"))
    texts = base.mark_text(fontSize=11).encode(x, y, alt.Text("text:N"), color=ink)
    reasons = alt.Chart(_missing(every)).mark_text(fontSize=10, color="#666666")
    chart: alt.LayerChart = (
        (boxes + texts + reasons.encode(x, y, alt.Text("text:N")))
        .properties(width=alt.Step(58), height=alt.Step(26), title=f"{metric}, {at:,} simulations")
        .configure_view(stroke=None)
    )
    return chart


def _missing(found: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of a heat map that have no value, and why: task, name, text."""
    every = found.select("task").unique().join(found.select("name").unique(), how="cross")
    why = (
        pl.when(pl.col("runs").is_null())
        .then(pl.lit("not run"))
        .when(pl.col("done") < pl.col("runs"))
        .then(pl.lit("failed"))
        .otherwise(pl.lit("no value"))
    )
    joined = every.join(found, on=["task", "name"], how="left")
    none = joined.filter(pl.col("n").fill_null(0) == 0)
    return none.select("task", "name", why.alias("text")).sort("task", "name")


def cost(runs: pl.DataFrame, task: str | None = None, metric: str = "c2st") -> alt.LayerChart:
    """Return a metric against the seconds of a run, a line per algorithm through its budgets.

    Seconds are of simulating, fitting and sampling; both are means over runs.

    Parameters
    ----------
    runs
        The table of all runs: `sb.read_results("results")`.
    task
        One task; by default the mean over those that all algorithms were run on with a budget.
    metric
        Smaller is better.

    Raises
    ------
    UsageError
        If there are no runs of the task, or none with the metric.
    """
    found = cells(runs if task is None else of_task(runs, task), metric).filter(pl.col("n") > 0)
    names = found["name"].n_unique()
    shared = found.filter(pl.len().over("task", "budget") == names)
    found = shared if len(shared) else found
    means = found.group_by("name", "budget").agg(
        pl.col("mean", "seconds").mean(), pl.len().alias("tasks")
    )
    colour, shape = _encoded(means["name"].unique().sort().to_list())
    means = means.with_columns(pl.col("seconds").clip(1e-3))
    scale = alt.Scale(type="log", padding=20, nice=False)
    times = _decades(means["seconds"], grid=False)
    x = alt.X("seconds:Q", title=SCALE[SECONDS], scale=scale, axis=times)
    domain, axis = _y(metric, means["mean"])
    y = alt.Y("mean:Q", title=SCALE.get(metric, metric), scale=domain, axis=axis)
    told = [
        alt.Tooltip("name:N", title="algorithm"),
        alt.Tooltip("budget:Q", title="simulations", format=","),
        alt.Tooltip("seconds:Q", format=".3~g"),
        alt.Tooltip("mean:Q", title=metric, format=".4~g"),
        alt.Tooltip("tasks:Q"),
    ]
    sizes = alt.Legend(title="simulations", labelExpr="format(datum.value, ',')")
    size = alt.Size("budget:O", scale=alt.Scale(range=[40, 200]), legend=sizes)
    base = alt.Chart(means)
    lines = base.mark_line(strokeWidth=1.5).encode(x, y, colour, order="budget:Q")
    marks = base.mark_point(filled=True, opacity=1).encode(x, y, colour, shape, size, tooltip=told)
    chart: alt.LayerChart = (
        (lines + marks)
        .properties(
            width=460, height=300, title=f"{task or 'mean over tasks'}: quality against time"
        )
        .configure_view(stroke=None)
    )
    return chart


def _encoded(names: list[str], *, legend: bool = True) -> tuple[alt.Color, alt.Shape]:
    colours = [*COLOURS, *_MORE]
    told = alt.Legend(title=None, orient="right", symbolOpacity=1) if legend else None
    scale = alt.Scale(domain=names, range=(colours * len(names))[: len(names)])
    shapes = alt.Scale(domain=names, range=(_SHAPES * len(names))[: len(names)])
    colour = alt.Color("name:N", scale=scale, legend=told)
    return colour, alt.Shape("name:N", scale=shapes, legend=told)
