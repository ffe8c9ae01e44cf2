"""The page of a task: the model, its reference, metrics against budgets, posteriors, runs."""

from pathlib import Path

import polars as pl

from sbibench.report import charts
from sbibench.report.cells import metrics, named, short
from sbibench.report.site.data import script
from sbibench.report.site.facts import TaskFacts
from sbibench.report.site.html import Markup, Page, fragment, link, prose, select, slug, table, tag


def task_page(runs: pl.DataFrame, facts: TaskFacts, drawn: bool, site: Path) -> Page:  # noqa: FBT001
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
    specs = {m: charts.metric(runs, facts.name, m).to_dict() for m in known}
    script(site / "data" / "charts" / f"{here}.js", "charts", facts.name, specs)
    model = [tag("p", prose(p)) for p in facts.description.split("\n\n") if p.strip()]
    if facts.citation and "Source:" not in facts.description:
        model.append(tag("p", f"Source: {facts.citation}.", class_="soft"))
    content: list[object] = [
        *model,
        tag(
            "dl",
            *_fact("parameters", _listed(facts.parameter_names)),
            *_fact("data", _listed(facts.data_names)),
        ),
        tag("h2", "How sure the reference is"),
        _certificate(facts),
        tag("h2", "Metrics against simulations"),
        tag("form", select("Metric", "metric", known), class_="choice"),
        tag("div", class_="chart", data_chart=facts.name),
        tag(
            "p",
            "Bands: 95 % intervals of the mean; small points: single observations.",
            class_="legend",
        ),
    ]
    scripts = ["static/vega.js", f"data/charts/{here}.js"]
    if drawn:
        content += _posteriors(runs, facts)
    else:
        content.append(tag("p", "No samples are kept with these results.", class_="soft"))
    content += [tag("h2", "Runs"), runs_table(runs, "../")]
    return Page(f"tasks/{here}.html", facts.label, content, scripts)


def _posteriors(runs: pl.DataFrame, facts: TaskFacts) -> list[Markup]:
    seen = named(runs)
    names = seen["name"].unique().sort()
    budgets = [f"{b:,}" for b in sorted(runs["budget"].unique(), reverse=True)]
    observations = runs["observation"].unique().sort()
    return [
        tag("h2", "Posteriors"),
        tag(
            "form",
            select("Algorithm", "algorithm", names),
            select("Simulations", "budget", budgets),
            select("Observation", "observation", observations),
            class_="choice",
        ),
        tag("div", class_="pairs", data_pairs=facts.name, data_folder=slug(facts.name)),
        tag(
            "p",
            "Grey: the true posterior; orange: the algorithm's. Lines hold 50 and 90 % of the "
            "mass; dashed: the parameters that generated the observation.",
            class_="legend",
        ),
        tag("div", class_="pairs", data_predictive=facts.name),
    ]


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 12 else (*names[:3], "…", names[-1])
    return f"{len(names)}: {', '.join(shown)}" if names else "not known"


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
