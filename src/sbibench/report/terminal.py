"""Tables for a terminal."""

import textwrap
from collections.abc import Iterator

import polars as pl
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sbibench.report.cells import bounds, cells, short
from sbibench.report.shades import fraction, shade

_COUNTS = 31
"""Characters that counts, seconds and lines between columns take, beside names and metrics."""
_ERROR, _DEVIATION = 17, 26
"""Characters of a metric with its error, and with its deviation and error."""
_WIDEST = 9
"""Characters of a square of the heat map; more are of no use."""
_GAP = "not run"
_LIMITS = ((0.6, "green"), (0.8, "yellow"), (1.01, "red"))


def _c2st(value: float | None) -> str:
    if value is None:
        return "[dim]-[/]"
    colour = next(colour for limit, colour in _LIMITS if value < limit)
    return f"[{colour}]{value:.3f}[/]"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _done(done: int, runs: int) -> str:
    return str(runs) if done == runs else f"[red]{done} of {runs}[/]"


def benchmark_table(cells: pl.DataFrame, width: int = 120) -> Table:
    """Return the summary of a campaign as a table.

    Its columns: how many runs are done (of how many, if not all), the mean of each metric with its
    standard error in brackets and its standard deviation over runs, as far as the terminal is wide
    enough for them, and the mean seconds of a run without its metrics. What a metric tells besides
    its value is left to the exported table. Lines around cells are left out where they don't fit,
    and then the last metrics.
    """
    every = [c.removesuffix(".sd") for c in cells.columns if c.endswith(".sd")]
    metrics = [m for m in every if not any(m.startswith(f"{other}.") for other in every)]
    names = sum(max(map(len, cells[c]), default=0) for c in ("task", "label"))
    left = (width - _COUNTS - names) / max(1, len(metrics))
    errors, wide = left >= _ERROR, left >= _DEVIATION
    over = "Mean over observations and seeds" + (" ± deviation" if wide else "")
    shown = Table(
        title=f"{over} (C2ST: 0.5 is best, 1 is worst)",
        caption="In brackets: standard error of measuring these samples, where a metric tells it"
        if errors
        else None,
    )
    for name in ("task", "algorithm"):  # names are folded before a number is cut
        shown.add_column(name, overflow="fold", min_width=6)
    for name in ("budget", "done", *metrics, "s"):
        shown.add_column(name, justify="right", no_wrap=True)
    before = None
    for row in cells.iter_rows(named=True):
        if before not in (None, row["task"]):
            shown.add_section()
        values = []
        for metric in metrics:
            mean, sd, error = (row.get(f"{metric}{part}") for part in ("", ".sd", ".error"))
            text = _c2st(mean) if metric == "c2st" else "-" if mean is None else f"{mean:.2g}"
            if wide and sd is not None:
                text += f" ± {sd:.3f}" if metric == "c2st" else f" ± {sd:.1g}"
            values.append(text + (f" ({error:.1g})" if errors and error is not None else ""))
        shown.add_row(
            escape(row["task"]) if row["task"] != before else "",
            escape(row["label"]),
            f"{row['budget']:,}",
            _done(row["runs"] - row["failed"], row["runs"]),
            *values,
            _seconds(row["seconds"]),
        )
        before = row["task"]
    if Console(width=1000).measure(shown).maximum > width:
        shown.box, shown.padding, shown.pad_edge = SIMPLE, (0, 1, 0, 0), False
    for column in shown.columns[:2]:
        column.max_width = column.min_width
    numbers_are_cut = Console(width=1000).measure(shown).minimum > width
    for column in shown.columns[:2]:
        column.max_width = None
    if len(metrics) > 1 and numbers_are_cut:
        last = metrics[-1]
        others = [c for c in cells.columns if c != last and not c.startswith(f"{last}.")]
        shown = benchmark_table(cells.select(others), width)
        shown.caption = "There is no room for all metrics; --metric NAME shows one of them"
    return shown


def heatmap(runs: pl.DataFrame, metric: str, budget: int, width: int = 120) -> Iterator[Table]:
    """Yield the means of a metric at a budget, tasks by algorithms, coloured as in charts.

    As many algorithms are side by side as a terminal is wide enough for.

    Raises
    ------
    UsageError
        If no run has this metric.
    """
    found = cells(runs.filter(pl.col("budget") == budget), metric)
    low, high = bounds(found, metric)
    ends = zip(found.iter_rows(named=True), low, high, strict=True)
    at = {(row["task"], row["name"]): (row, a, b) for row, a, b in ends}
    names, tasks = (found[what].unique().sort().to_list() for what in ("name", "task"))
    least = max(len(_value(row)) for row, _, _ in at.values()) + 1
    label = min(max(map(len, tasks)) + 1, max(width - least, 1))
    side = min(max((width - label) // len(names), least), max(least, _WIDEST))
    beside = max((width - label) // side, 1)
    gaps = side <= len(_GAP) and len(at) < len(names) * len(tasks)
    for start in range(0, len(names), beside):
        part = names[start : start + beside]
        shown = Table(title=f"{metric}, {budget:,} simulations", box=None, padding=0)
        shown.caption = f"-: {_GAP}" if gaps else None
        shown.add_column("", overflow="fold", width=label)
        for name in part:
            head = escape("\n".join(textwrap.wrap(name, side - 1)))
            shown.add_column(head, justify="center", vertical="bottom", width=side)
        for task in tasks:
            shown.add_row(escape(task), *(_square(at.get((task, name)), side) for name in part))
        yield shown


def _value(row: dict[str, float]) -> str:
    """Return the mean, with a star where runs are missing from it."""
    if not row["n"]:
        return ""
    return short(row["mean"]) + ("" if row["done"] == row["runs"] else "*")


def _square(cell: tuple[dict[str, float], float, float] | None, side: int) -> str:
    if cell is None:
        return f"[dim]{_GAP}[/]" if side > len(_GAP) else "[dim]-[/]"
    row, low, high = cell
    if not row["n"]:
        return "[red]failed[/]" if row["done"] < row["runs"] else "[dim]no value[/]"
    colour, ink = shade(fraction(row["mean"], low, high))
    return f"[{ink} on {colour}]{_value(row):^{side}}[/]"


def failure_table(runs: pl.DataFrame) -> Table:
    """Return the runs that are not done, with their reasons."""
    shown = Table(title="Not done")
    shown.add_column("run", ratio=1)
    shown.add_column("status", no_wrap=True)
    shown.add_column("reason", ratio=1)
    for row in runs.filter(pl.col("status") != "done").iter_rows(named=True):
        run = (
            f"{row['label']} on {row['task']}, budget {row['budget']}, "
            f"observation {row['observation']}, seed {row['seed']}"
        )
        shown.add_row(escape(run), row["status"], escape(row["reason"]))
    return shown
