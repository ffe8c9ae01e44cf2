"""The first page: a heat map of tasks and algorithms for each metric and budget."""

from collections.abc import Mapping

import polars as pl

from sbibench.report.cells import BOUNDED, bounds, cells, metrics, short
from sbibench.report.intervals import intervals
from sbibench.report.ranks import Rank, mean_ranks
from sbibench.report.shades import CIVIDIS, fraction, shade
from sbibench.report.site.html import Markup, Page, fragment, link, select, slug, table, tag
from sbibench.report.timing import SECONDS

Published = Mapping[tuple[str, str, str, int], float]
"""(metric, task, label, budget) -> the published mean."""


def board(runs: pl.DataFrame, published: Published, title: str, *, compared: bool) -> Page:
    """Return the page; it leads to that of a comparison if there is one.

    Shown first is the largest budget that has at least half the cells that any has.
    """
    names = metrics(runs)
    filled = runs.group_by("budget").agg(pl.struct("task", "label").n_unique().alias("cells"))
    full = filled.select("budget", pl.col("cells") >= pl.col("cells").max() / 2)
    budgets = list(full.sort("cells", "budget", descending=True)["budget"])
    chosen = [(m, b) for m in names for b in budgets]
    sections = [
        tag(
            "section",
            _heatmap(runs, metric, budget, published),
            data_metric=metric,
            data_budget=f"{budget:,}",
            hidden=i > 0,
        )
        for i, (metric, budget) in enumerate(chosen)
    ]
    done = int((runs["status"] == "done").sum())
    how = "A cell leads to its task, a name to its page."
    if names == [SECONDS]:
        how = f"None has a metric: the table shows what they cost. {how}"
    intro = tag(
        "p",
        f"Runs: {len(runs):,}, of {runs['label'].n_unique()} algorithms on "
        f"{runs['task'].n_unique()} tasks; ",
        tag("b", f"{done:,} done"),
        f", {len(runs) - done:,} not. ",
        how,
    )
    choice = tag(
        "form",
        select("Metric", "metric", names),
        select("Simulations", "budget", [f"{b:,}" for b in budgets]),
        class_="choice",
    )
    verdict = [tag("p", link("Which method? The verdict", "comparison.html"))] if compared else []
    return Page("index.html", title, [*verdict, intro, choice, *sections])


def _heatmap(runs: pl.DataFrame, metric: str, budget: int, published: Published) -> Markup:
    here = runs.filter(pl.col("budget") == budget)
    if not len(here):
        return tag("p", f"There are no runs with {budget:,} simulations.")
    found = intervals(cells(here, metric), metric)
    ranks, blocks = mean_ranks(runs, metric, budget)
    rest = [n for n in found["name"].unique().sort() if n not in ranks]
    names = [*ranks, *rest]
    # Costs differ by powers of ten.
    scaled = found.with_columns(pl.col("mean").log()) if metric == SECONDS else found
    found = found.with_columns(scaled["mean"].alias("at"))
    low, high = bounds(scaled, metric)
    shown = {
        (r["task"], r["name"]): r | {"low_end": a, "high_end": b}
        for r, a, b in zip(found.iter_rows(named=True), low, high, strict=True)
    }
    head = ["", *(link(n, f"algorithms/{slug(n)}.html") for n in names)]
    rows: list[list[object]] = []
    if ranks:
        rows.append([tag("th", "mean rank"), *(_rank(ranks[n]) for n in names if n in ranks)])
    for task in found["task"].unique().sort():
        first = tag("th", link(task, f"tasks/{slug(task)}.html"))
        theirs = {n: published.get((metric, task, n, budget)) for n in names}
        rows.append(
            [first, *(_cell(shown.get((task, n)), task, n, budget, theirs[n]) for n in names)]
        )
    return tag(
        "div",
        table(head, rows, class_="heat"),
        _legend(metric, blocks, any(k[0] == metric and k[3] == budget for k in published)),
    )


def _rank(rank: Rank) -> Markup:
    interval = tag("small", f"{rank.low:.1f}–{rank.high:.1f}")
    return tag("td", f"{rank.mean:.1f}", interval, class_="rank")


def _cell(
    cell: dict[str, float] | None, task: str, name: str, budget: int, theirs: float | None
) -> Markup:
    below = tag("small", f"({short(theirs)})") if theirs is not None else ""
    if cell is None:
        return tag("td", "not run", below, class_="missing")
    to = f"tasks/{slug(task)}.html" + fragment(algorithm=name, budget=f"{budget:,}")
    failed = int(cell["runs"] - cell["done"])
    told = tag("small", f"{failed} of {int(cell['runs'])} failed", class_="failed")
    if not cell["n"]:
        why = told if failed else tag("small", "no value")
        return tag("td", link("–", to), why, below, class_="missing")
    colour, ink = shade(fraction(cell["at"], cell["low_end"], cell["high_end"]))
    hint = f"{name} on {task}: {cell['mean']:.4g}, mean over {int(cell['n'])} observations"
    if cell["low"] is not None:
        hint += f", 95 % interval {cell['low']:.4g} to {cell['high']:.4g}"
    if cell["error"] is not None:
        hint += f", measured with a standard error of {cell['error']:.2g}"
    return tag(
        "td",
        link(short(cell["mean"]), to, style=f"color:{ink}"),
        below,
        told if failed else "",
        style=f"background:{colour};color:{ink}",
        title=hint,
    )


def _legend(metric: str, blocks: int, has_published: bool) -> Markup:  # noqa: FBT001 - private
    good, bad = "0.5 (good)", "1 (bad)"
    if metric not in BOUNDED:
        good, bad = "best of the task", "worst of the task"
    bar = tag("span", class_="bar", style=f"background:linear-gradient(90deg,{','.join(CIVIDIS)})")
    told = ["Means over observations. "]
    if metric == SECONDS:
        told = ["Seconds of simulating, fitting and sampling, means over observations. "]
    if blocks:
        told.append(
            f"Mean rank: 1 is best, over the {blocks} observations that every algorithm was run "
            "on, averaged over tasks, with a 95 % interval over the choice of tasks; a failed run "
            "ranks last. "
        )
    if has_published:
        told.append(
            "In brackets: the published mean over ten observations (Lueckmann et al. 2021)."
        )
    return tag("p", good, " ", bar, " ", bad, ". ", *told, class_="legend")
