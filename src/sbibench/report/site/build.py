"""From results to a folder of pages."""

import functools
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import vl_convert

from sbibench.core.errors import UsageError
from sbibench.core.run import RunRecord
from sbibench.report.cells import named
from sbibench.report.site.algorithm_page import algorithm_page, cost_chart
from sbibench.report.site.board import Published, board
from sbibench.report.site.comparison_page import comparison_page
from sbibench.report.site.data import script
from sbibench.report.site.facts import TaskFacts
from sbibench.report.site.html import Page, link, prose, slug, table, tag
from sbibench.report.site.posteriors import Samples, posteriors, spread
from sbibench.report.site.task_page import task_page
from sbibench.report.timing import timed

_MARK = ".sbibench-site"
"""A file in each site: what has none is not ours to replace."""


def build(
    out: Path,
    runs: pl.DataFrame,
    records: Iterable[RunRecord],
    samples: Samples,
    tasks: Mapping[str, TaskFacts],
    algorithms: Mapping[str, str],
    published: Published,
    commands: Callable[[RunRecord], str],
    title: str = "sbibench results",
    comparison: Mapping[str, Any] | None = None,
) -> Path:
    """Write a site and return its first page.

    Parameters
    ----------
    out
        The folder; files of an earlier site in it are replaced.
    runs, records, samples
        The table of all runs, the record of each, and its samples.
    tasks, algorithms
        What is known of each task; what each algorithm does.
    published
        Figures to set beside these.
    commands
        A record -> the command that makes it again.
    title
        The name of the site.
    comparison
        What `sb.compare` found, as plain values: it becomes a page that the first one leads to.
    """
    runs = timed(named(runs))
    _static(out)
    cost_chart(runs, out)
    pages = [board(runs, published, title, compared=comparison is not None)]
    if comparison is not None:
        pages.append(comparison_page(comparison, out))
    with spread(len(runs)) as spread_map:
        for task in sorted(tasks):
            here = runs.filter(pl.col("task") == task)
            drawn = posteriors(here, samples, tasks[task], out, spread_map)
            pages.append(task_page(here, tasks[task], drawn, out))
    names = runs.select("name", "algorithm").unique().sort("name").iter_rows()
    told = {name: algorithms.get(algorithm, "") for name, algorithm in names}
    pages += [algorithm_page(runs, name, text) for name, text in told.items()]
    about = {task: f"{f.label}. {_first(f.description)}" for task, f in tasks.items()}
    pages += [_list("Tasks", "tasks", about, runs["task"])]
    pages += [_list("Algorithms", "algorithms", told, runs["name"])]
    pages.append(Page("run.html", "Run", [tag("div", data_run=True)]))
    for page in pages:
        path = out / page.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.html(title), "utf-8")
    _records(out, records, commands, dict(runs.select("id", "name").iter_rows()))
    return out / "index.html"


def _static(out: Path) -> None:
    if out.exists() and any(out.iterdir()) and not (out / _MARK).exists():
        raise UsageError(f"{out} holds other things; a site needs a folder of its own")
    for folder in ("data", "tasks", "algorithms", "static"):
        shutil.rmtree(out / folder, ignore_errors=True)
    (out / "static").mkdir(parents=True)
    (out / _MARK).touch()
    for name in ("style.css", "site.js", "drawings.js"):
        text = files("sbibench.report.site").joinpath("static", name).read_text("utf-8")
        (out / "static" / name).write_text(text, "utf-8")
    (out / "static" / "vega.js").write_text(_vega(), "utf-8")


@functools.cache
def _vega() -> str:
    """Return the library that draws charts, with a name by which the pages reach it."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


def _first(description: str) -> str:
    """Return what a docstring says first, without the name that it begins with."""
    line = description.strip().split("\n\n")[0]
    said = line.split(": ", 1)[-1]
    return said[:1].upper() + said[1:]


def _list(title: str, folder: str, entries: Mapping[str, str], of_runs: pl.Series) -> Page:
    """Return a page that lists what there are pages of; `of_runs` is what each run is of."""
    runs = Counter(of_runs)
    rows = [
        [link(name, f"{folder}/{slug(name)}.html"), prose(text), f"{runs[name]:,}"]
        for name, text in sorted(entries.items())
    ]
    return Page(f"{folder}.html", title, [table(["name", "what it is", "runs"], rows)])


def _records(
    out: Path,
    records: Iterable[RunRecord],
    commands: Callable[[RunRecord], str],
    names: Mapping[str, str],
) -> None:
    by_task: dict[str, dict[str, Any]] = {}
    for record in records:
        name = names.get(record.spec.id, "")
        page = f"algorithms/{slug(name)}.html" if name else ""
        told = {
            "command": commands(record),
            "name": name,
            "page": page,
            "record": msgspec.to_builtins(record),
        }
        by_task.setdefault(record.spec.task, {})[record.spec.id] = told
    for task, found in by_task.items():
        script(out / "data" / "runs" / f"{slug(task)}.js", "runs", task, found)
