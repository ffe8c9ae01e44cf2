"""The page of an algorithm: its settings, its strengths, what it costs, what went wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from sbibench.core.settings import flat
from sbibench.report import charts
from sbibench.report.cells import cells, metrics, short
from sbibench.report.shades import fraction, shade
from sbibench.report.site.data import plain, script
from sbibench.report.site.html import Markup, Page, fragment, link, prose, slug, table, tag
from sbibench.report.site.task_page import runs_table
from sbibench.report.timing import SECONDS

STAGES = ("simulate", "fit", "sample", "density", "metrics")


def algorithm_page(runs: pl.DataFrame, name: str, description: str) -> Page:
    """Return the page of an algorithm; its chart is that of all of them, see `cost_chart`.

    Parameters
    ----------
    runs
        All runs, with their `name`.
    name
        Which ones are of this algorithm.
    description
        What it does, in a line or two.
    """
    ours = runs.filter(pl.col("name") == name)
    here, known = slug(name), metrics(ours)
    content: list[object] = [tag("p", prose(description))] if description else []
    if known and ours[f"metric.{known[0]}"].count():
        metric = known[0]
        content += [tag("h2", f"{metric} by task"), _strengths(runs, name, metric)]
        if metric != SECONDS:
            content += [
                tag("h2", "Quality against seconds"),
                tag("div", class_="chart", data_chart="cost", data_mark=name),
            ]
    content += [tag("h2", "Where the time goes"), _stages(ours), tag("h2", "Settings")]
    content.append(_settings(msgspec.json.decode(ours["settings"][0])))
    content += [tag("h2", "What went wrong"), _failures(ours), tag("h2", "Runs")]
    content.append(runs_table(ours, "../"))
    return Page(f"algorithms/{here}.html", name, content, ["static/vega.js", "data/charts/cost.js"])


def cost_chart(runs: pl.DataFrame, site: Path) -> None:
    """Write the data of the chart that every algorithm's page shows."""
    known = [m for m in metrics(runs) if m != SECONDS and runs[f"metric.{m}"].count()]
    specs = {"cost": plain(charts.cost(runs, metric=known[0]))} if known else {}
    script(site / "data" / "charts" / "cost.js", "charts", "cost", specs)


def _strengths(runs: pl.DataFrame, name: str, metric: str) -> Markup:
    """Return its mean and its place among all algorithms, tasks by budgets."""
    found = cells(runs, metric).filter(pl.col("n") > 0)
    budgets = sorted(found["budget"].unique())
    place = pl.col("mean").rank("min").over("task", "budget").cast(pl.Int64).alias("place")
    of = pl.len().over("task", "budget").alias("of")
    low = pl.col("mean").min().over("task", "budget").alias("low_end")
    high = pl.col("mean").max().over("task", "budget").alias("high_end")
    ours = found.with_columns(place, of, low, high).filter(pl.col("name") == name)
    at = {(r["task"], r["budget"]): r for r in ours.iter_rows(named=True)}
    rows = []
    for task in ours["task"].unique().sort():
        to = f"../tasks/{slug(task)}.html"
        row: list[object] = [tag("th", link(task, to + fragment(algorithm=name)))]
        for budget in budgets:
            cell = at.get((task, budget))
            if cell is None:
                row.append(tag("td", "not run", class_="missing"))
                continue
            colour, ink = shade(fraction(cell["mean"], cell["low_end"], cell["high_end"]))
            row.append(
                tag(
                    "td",
                    short(cell["mean"]),
                    tag("small", f"{cell['place']} of {cell['of']}"),
                    style=f"background:{colour};color:{ink}",
                )
            )
        rows.append(row)
    told = "Colours: from the best of all algorithms here (dark) to the worst; small: its place."
    return tag(
        "div",
        table(["", *(f"{b:,}" for b in budgets)], rows, class_="heat"),
        tag("p", told, class_="legend"),
    )


def _stages(ours: pl.DataFrame) -> Markup:
    present = [s for s in STAGES if f"seconds.{s}" in ours.columns]
    done = ours.filter(pl.col("status") == "done")
    means = (
        done.group_by("budget")
        .agg(pl.col("calls").mean(), *(pl.col(f"seconds.{s}").median() for s in present))
        .sort("budget")
    )
    rows = []
    for r in means.iter_rows(named=True):
        seconds = (r[f"seconds.{s}"] for s in present)
        values = ("–" if v is None else f"{v:,.0f}" if v >= 100 else f"{v:.3g}" for v in seconds)
        rows.append([f"{r['budget']:,}", f"{r['calls']:,.0f}", *values])
    if not rows:
        return tag("p", "No run is done.", class_="soft")
    return tag(
        "div",
        table(["budget", "simulations used", *(f"{s} (s)" for s in present)], rows),
        tag("p", "Medians over tasks, observations and seeds.", class_="legend"),
    )


def _settings(values: Mapping[str, Any]) -> Markup:
    if not values:
        return tag("p", "It has none.", class_="soft")
    return tag("dl", *(x for k, v in flat(values).items() for x in (tag("dt", k), tag("dd", v))))


def _failures(ours: pl.DataFrame) -> Markup:
    failed = ours.filter(pl.col("status") != "done")
    if not len(failed):
        return tag("p", "Nothing.", class_="soft")
    grouped = failed.group_by("status", "reason").agg(
        pl.len().alias("runs"), pl.col("task").unique().sort().alias("tasks")
    )
    rows = [
        [r["runs"], r["status"], r["reason"], ", ".join(r["tasks"])]
        for r in grouped.sort("runs", "reason", descending=[True, False]).iter_rows(named=True)
    ]
    return table(["runs", "status", "reason", "tasks"], rows)
