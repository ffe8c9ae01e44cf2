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
from sbibench.core.cores import cores
from sbibench.core.errors import UsageError
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table, failure_table
from sbibench.runner.estimate import in_words, time_left
from sbibench.runner.part import ALL, Part
from sbibench.runner.suite_file import load as load_suite
from sbibench.runner.todo import unfinished
from sbibench.store.index import everything
from sbibench.store.results import Results

Chosen = Annotated[Part, Parameter(name="*", consume_multiple=(1, None), negative="")]

app = App(name="suite", help="Plan and run many runs described by one TOML file.")


@app.command(name="plan")
def suite_plan(
    file: Path,
    *,
    part: Chosen = ALL,
    workers: int | None = None,
    directory: Directory = Path("results"),
    as_json: Json = False,
) -> None:
    """Show which runs a suite consists of, which are still to do, and how long; nothing is run.

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
    shown = Table("task", "algorithm", "budget", "observation", "seed", "state")
    for s in runs:
        state = "to do" if s.id in todo else "recorded"
        shown.add_row(
            escape(s.task), escape(s.label), f"{s.budget:,}", str(s.observation), str(s.seed), state
        )
    out.print(shown)
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
