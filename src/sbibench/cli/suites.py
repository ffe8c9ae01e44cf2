"""`sbibench suite`: plan and run many runs described by one file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import polars as pl
from cyclopts import App, Parameter
from rich.markup import escape
from rich.table import Table

from sbibench.cli.console import Directory, Json, Number, Numbers, err, out, print_json
from sbibench.cli.engine import HERE, Where, carry_out
from sbibench.cli.stored import say_unread
from sbibench.core.cores import cores
from sbibench.core.errors import UsageError
from sbibench.core.run import RunSpec
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table, failure_table
from sbibench.runner.estimate import in_words, time_left
from sbibench.runner.part import Part
from sbibench.runner.suite_file import load as load_suite
from sbibench.runner.todo import unfinished
from sbibench.store.index import everything
from sbibench.store.results import Results


@dataclass(frozen=True, kw_only=True)
class _Part(Part):
    __doc__ = Part.__doc__  # the words of --help; numbers may be written as 1e4
    budgets: Numbers = ()
    observations: Numbers = ()


Chosen = Annotated[_Part, Parameter(name="*", consume_multiple=(1, None), negative="")]
ALL = _Part()

app = App(name="suite", help="Plan and run many runs described by one TOML file.")


@app.command(name="plan")
def suite_plan(
    file: Path,
    *,
    part: Chosen = ALL,
    workers: Number | None = None,
    directory: Directory = Path("results"),
    as_json: Json = False,
) -> None:
    """Show which runs a suite consists of, what is recorded, and how long the rest takes.

    Nothing is run; --json lists every run.

    Parameters
    ----------
    file
        The suite, TOML.
    workers
        Processes that the time is estimated for; by default one per core.
    """
    workers = cores() if workers is None else workers
    if workers < 1:
        raise UsageError(f"--workers is 1 or more, not {workers}")
    plan = load_suite(file)
    runs = part.of(plan.runs())
    store = Results(directory)
    found = unfinished(runs, plan.metrics, store)
    todo = {w.spec.id for w in found}
    left = [w.spec for w in found if w.record is None]
    if as_json:
        return print_json(
            [msgspec.to_builtins(s) | {"id": s.id, "to_do": s.id in todo} for s in runs]
        )
    out.print(_progress(runs, todo))
    out.print(f"{len(runs)} runs, {len(todo)} to do")
    if len(left) < len(found):
        out.print(f"{len(found) - len(left)} of these lack metrics only")
    if not left:
        return None
    time, unknown = time_left(left, store, workers)
    said = f"about {in_words(time)} left for {workers} workers" if time else "no time is known yet"
    if time and unknown:
        said += f", without {unknown} runs of algorithms of which none is on record"
    return out.print(said)


def _progress(runs: list[RunSpec], todo: set[str]) -> Table:
    """Return how many of the runs are recorded, by task and algorithm, with a column a budget."""
    budgets = sorted({s.budget for s in runs})
    shown = Table(title="Runs that are recorded, by the number of simulations")
    shown.add_column("task", no_wrap=True)
    shown.add_column("algorithm")
    for budget in budgets:
        shown.add_column(f"{budget:,}", justify="right", no_wrap=True)
    cells: dict[tuple[str, str], dict[int, list[bool]]] = {}
    for s in runs:
        row = cells.setdefault((s.task, s.label), {})
        row.setdefault(s.budget, []).append(s.id not in todo)
    before = None
    for (task, label), row in cells.items():
        if before not in (None, task):
            shown.add_section()
        counts = ((sum(row[b]), len(row[b])) if b in row else None for b in budgets)
        texts = ("-" if c is None else f"{c[0]} of {c[1]}" for c in counts)
        shown.add_row(escape(task) if task != before else "", escape(label), *texts)
        before = task
    return shown


@app.command(name="run")
def suite_run(
    file: Path,
    *,
    part: Chosen = ALL,
    directory: Directory = Path("results"),
    where: Where = HERE,
    retry: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run a suite, or what is missing of it; stop it at any moment and start it again.

    Parameters
    ----------
    file
        The suite, TOML.
    retry
        Run again what was recorded as failed.
    """
    plan = load_suite(file)
    runs = part.of(plan.runs())
    store = Results(directory)
    todo = unfinished(runs, plan.metrics, store, retry=retry)
    say_unread(store, everything(store)[1])
    err.print(f"{len(runs)} runs, {len(todo)} to do")
    carry_out(todo, plan.metrics, store, where, plan.limits, len(runs) - len(todo))
    ids = {s.id for s in runs}
    return _show(store, ids)


def _show(store: Results, ids: set[str]) -> int:
    found, _ = everything(store)
    runs = found.filter(pl.col("id").is_in(ids))
    out.print(benchmark_table(summary(runs), out.width))
    failed = (runs["status"] != "done").any()
    if failed:
        out.print(failure_table(runs))
    return int(failed)
