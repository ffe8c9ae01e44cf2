"""`sbibench suite`: plan and run many runs described by one file."""

from pathlib import Path
from typing import Annotated

import msgspec
import polars as pl
from cyclopts import App, Parameter
from rich.markup import escape
from rich.table import Table

from sbibench.cli.console import Directory, Json, err, out, print_json
from sbibench.cli.engine import HERE, Where, carry_out
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table, failure_table
from sbibench.runner.suite import Suite
from sbibench.runner.todo import unfinished
from sbibench.store.index import everything
from sbibench.store.results import Results

app = App(name="suite", help="Plan and run many runs described by one TOML file.")


@app.command(name="plan")
def suite_plan(
    file: Path, *, directory: Directory = Path("results"), as_json: Json = False
) -> None:
    """Show which runs a suite consists of, and which are still to do; nothing is run.

    Parameters
    ----------
    file
        The suite, TOML.
    """
    plan = Suite.load(file)
    runs = plan.runs()
    todo = {w.spec.id for w in unfinished(runs, plan.metrics, Results(directory))}
    if as_json:
        return print_json(
            [msgspec.to_builtins(s) | {"id": s.id, "to_do": s.id in todo} for s in runs]
        )
    shown = Table("task", "algorithm", "budget", "observation", "seed", "state")
    for s in runs:
        state = "to do" if s.id in todo else "recorded"
        shown.add_row(
            escape(s.task), escape(s.label), f"{s.budget:,}", str(s.observation), str(s.seed), state
        )
    out.print(shown)
    return out.print(f"{len(runs)} runs, {len(todo)} to do")


@app.command(name="run")
def suite_run(
    file: Path,
    *,
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
    plan = Suite.load(file)
    runs = plan.runs()
    store = Results(directory)
    todo = unfinished(runs, plan.metrics, store, retry=retry)
    for path in everything(store)[1]:
        err.print(f"{path} can't be read; its run counts as missing", markup=False)
    err.print(f"{len(runs)} runs, {len(todo)} to do")
    carry_out(todo, plan.metrics, store, where, plan.limits, len(runs) - len(todo))
    ids = {s.id for s in runs}
    return _show(store, ids)


def _show(store: Results, ids: set[str]) -> int:
    found, _ = everything(store)
    runs = found.filter(pl.col("id").is_in(ids))
    out.print(benchmark_table(summary(runs)))
    failed = (runs["status"] != "done").any()
    if failed:
        out.print(failure_table(runs))
    return int(failed)
