"""`sbibench suite`: plan and run many runs described by one file."""

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from sbibench.cli.console import Directory, Json, err, out, print_json
from sbibench.core.errors import UsageError
from sbibench.core.run import RunRecord
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table, failure_table
from sbibench.runner import campaign
from sbibench.runner.suite_file import load as load_suite
from sbibench.store.results import Results
from sbibench.store.table import table

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
    plan = load_suite(file)
    runs = plan.runs()
    todo = {w.spec.id for w in campaign.unfinished(runs, plan.metrics, Results(directory))}
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
    workers: int | None = None,
    retry: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run a suite, or what is missing of it; stop it at any moment and start it again.

    Parameters
    ----------
    file
        The suite, TOML.
    workers
        Processes; by default one per core.
    retry
        Run again what was recorded as failed.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"--workers is 1 or more, not {workers}")
    plan = load_suite(file)
    runs = plan.runs()
    store = Results(directory)
    todo = campaign.unfinished(runs, plan.metrics, store, retry=retry)
    for path in store.damaged():
        err.print(f"{path} can't be read; its run counts as missing", markup=False)
    store.prepare()
    err.print(f"{len(runs)} runs, {len(todo)} to do")
    with Progress(console=err, disable=not err.is_terminal) as bars:
        bar = bars.add_task("runs", total=len(runs), completed=len(runs) - len(todo))

        def report(record: RunRecord) -> None:
            bars.advance(bar)
            values = ", ".join(f"{k} {v:.3f}" for k, v in record.metrics.items())
            line = f"{record.status}: {record.spec}: {values or record.reason}"
            bars.console.print(line, markup=False, highlight=False, soft_wrap=True)

        campaign.run(todo, plan.metrics, store, report, time_limit=plan.time_limit, workers=workers)
    ids = {s.id for s in runs}
    return _show(store, ids)


def _show(store: Results, ids: set[str] | None = None) -> int:
    records = [r for r in store if ids is None or r.spec.id in ids]
    runs = table(records)
    out.print(benchmark_table(summary(runs)))
    failed = sum(r.status != "done" for r in records)
    if failed:
        out.print(failure_table(runs))
    return 1 if failed else 0
