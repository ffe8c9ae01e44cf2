"""The page of a task: the model, its reference, metrics and costs by budget, posteriors, runs."""

from pathlib import Path
from typing import Any

import polars as pl

from sbibench.core.words import duration
from sbibench.report import charts
from sbibench.report.cells import cells, metrics, named, short
from sbibench.report.site.data import plain, script
from sbibench.report.site.facts import TaskFacts
from sbibench.report.site.html import Markup, Page, fragment, link, prose, select, slug, table, tag
from sbibench.report.timing import SECONDS


def task_page(
    runs: pl.DataFrame,
    facts: TaskFacts,
    drawn: bool,  # noqa: FBT001 - its only flag
    site: Path,
) -> Page:
    """Write the data of a task's charts, and return its page.

    Parameters
    ----------
    runs
        The runs of this task.
    facts
        What is known of it.
    drawn
        Whether there are outlines of its posteriors.
    site
        The folder of the site.
    """
    here = slug(facts.name)
    known = [m for m in metrics(runs) if runs[f"metric.{m}"].count()]
    specs = {m: plain(charts.metric(runs, facts.name, m)) for m in known}
    script(site / "data" / "charts" / f"{here}.js", "charts", facts.name, specs)
    judged = [m for m in known if m != SECONDS]
    against = {m: plain(charts.cost(runs, facts.name, m)) for m in judged}
    script(site / "data" / "charts" / f"{here}-cost.js", "charts", f"{facts.name}/cost", against)
    model = [tag("p", prose(p)) for p in facts.description.split("\n\n") if p.strip()]
    if facts.citation and "Source:" not in facts.description:
        model.append(tag("p", f"Source: {facts.citation}.", class_="soft"))
    content: list[object] = [
        *model,
        _names(facts),
        tag("h2", "How sure the reference is"),
        _certificate(facts),
        *_metrics(runs, facts.name, known, judged),
    ]
    scripts = ["static/vega.js", f"data/charts/{here}.js", f"data/charts/{here}-cost.js"]
    content.append(tag("h2", "Posteriors"))
    if drawn:
        content += _posteriors(runs, facts)
        scripts.append("static/drawings.js")
    else:
        content.append(tag("p", "No samples are kept with these results.", class_="soft"))
    content += [tag("h2", "Runs"), runs_table(runs, "../")]
    return Page(f"tasks/{here}.html", facts.label, content, scripts)


def _metrics(runs: pl.DataFrame, task: str, known: list[str], judged: list[str]) -> list[Markup]:
    """Return the charts of metrics, and what runs cost; nothing where no run is done."""
    if not known:
        return [tag("h2", "Metrics"), tag("p", "No run is done.", class_="soft")]
    told = "Bands: 95 % intervals of the mean; small points: single observations."
    quality = [
        tag("h3", "Quality against seconds"),
        tag("div", class_="chart", data_chart=f"{task}/cost"),
    ]
    return [
        tag("h2", "Metrics against simulations" if judged else "Seconds against simulations"),
        tag("form", select("Metric", "metric", known), class_="choice"),
        tag("div", class_="chart", data_chart=task),
        tag("p", told, class_="legend"),
        *(quality if judged else []),
        tag("h3", "What a run takes"),
        _seconds(runs),
    ]


def _seconds(runs: pl.DataFrame) -> Markup:
    """Return the mean time of a run, or why there is none: algorithms by budgets."""
    found = cells(runs, SECONDS)
    budgets = sorted(found["budget"].unique())
    known = {(r["name"], r["budget"]): r for r in found.iter_rows(named=True)}
    rows = []
    for name in found["name"].unique().sort():
        first = tag("th", link(name, f"../algorithms/{slug(name)}.html"))
        rows.append([first, *(_time(known.get((name, budget))) for budget in budgets)])
    told = "Simulating, fitting and sampling; means over observations of runs that are done."
    head = ["simulations", *(f"{b:,}" for b in budgets)]
    return tag("div", table(head, rows), tag("p", told, class_="legend"))


def _time(cell: dict[str, Any] | None) -> Markup:
    if cell is None:
        return tag("td", "not run", class_="soft")
    failed = cell["runs"] - cell["done"]
    told = tag("small", f"{failed} of {cell['runs']} failed", class_="failed") if failed else ""
    return tag("td", duration(cell["mean"]) if cell["n"] else "–", " ", told)


def _posteriors(runs: pl.DataFrame, facts: TaskFacts) -> list[Markup]:
    seen = named(runs)
    names = seen["name"].unique().sort()
    budgets = [f"{b:,}" for b in sorted(runs["budget"].unique(), reverse=True)]
    observations = runs["observation"].unique().sort()
    return [
        tag(
            "form",
            select("Algorithm", "algorithm", names),
            select("Simulations", "budget", budgets),
            select("Observation", "observation", observations),
            class_="choice",
        ),
        tag("div", class_="pairs", data_pairs=facts.name, data_folder=slug(facts.name)),
        tag("div", class_="pairs", data_predictive=facts.name),
    ]


def _names(facts: TaskFacts) -> Markup:
    if not facts.parameter_names:
        told = "Its definition is not at hand: this page shows what its runs say."
        return tag("p", told, class_="soft")
    of_data = _fact("data", _listed(facts.data_names)) if facts.data_names else ()
    return tag("dl", *_fact("parameters", _listed(facts.parameter_names)), *of_data)


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 12 else (*names[:3], "…", names[-1])
    return f"{len(names)}: {', '.join(shown)}"


def _fact(what: str, value: str) -> tuple[Markup, Markup]:
    return tag("dt", what), tag("dd", value)


def _certificate(facts: TaskFacts) -> Markup:
    if not facts.certificate:
        return tag("p", "There is no reference posterior.", class_="soft")
    return tag("dl", *(x for pair in facts.certificate for x in _fact(*pair)))


def runs_table(runs: pl.DataFrame, root: str) -> Markup:
    """Return all runs as a table that is folded up, each with a link to its record."""
    names = metrics(runs)[:3]
    rows = []
    for run in named(runs).sort("name", "budget", "task", "observation").iter_rows(named=True):
        to = f"{root}run.html" + fragment(task=run["task"], id=run["id"])
        values = (run[f"metric.{m}"] for m in names)
        rows.append(
            [
                link(run["name"], to),
                run["task"],
                f"{run['budget']:,}",
                f"{run['observation']}, {run['seed']}",
                tag("span", run["status"], class_=f"status {run['status']}", title=run["reason"]),
                *("–" if v is None else short(v) for v in values),
            ]
        )
    head = ["algorithm", "task", "simulations", "observation, seed", "status", *names]
    return tag("details", tag("summary", f"All {len(runs)} runs"), table(head, rows))
