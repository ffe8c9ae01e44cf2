"""`sbibench results`: look at what has been run."""

from pathlib import Path
from typing import Any

from cyclopts import App

from sbibench.cli.console import Json, err, out, print_json
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table, failure_table
from sbibench.store.results import Results
from sbibench.store.table import table

app = App(name="results", help="Look at what has been run.")


@app.command(name="show")
def results_show(
    directory: Path = Path("results"),
    *,
    task: str | None = None,
    algorithm: str | None = None,
    budget: int | None = None,
    as_json: Json = False,
) -> None:
    """Show the benchmark table of a results directory.

    Parameters
    ----------
    directory
        Where the results are.
    task
        Only this task.
    algorithm
        Only the algorithm of this name or label.
    budget
        Only this budget.
    """
    everything = list(_existing(directory))
    _check_filter("task", task, {r.spec.task for r in everything})
    names = {name for r in everything for name in (r.spec.algorithm, r.spec.label)}
    _check_filter("algorithm", algorithm, names)
    _check_filter("budget", budget, {r.spec.budget for r in everything})
    records = [
        r
        for r in everything
        if task in (None, r.spec.task)
        and algorithm in (None, r.spec.algorithm, r.spec.label)
        and budget in (None, r.spec.budget)
    ]
    runs = table(records)
    cells = summary(runs)
    if as_json:
        return print_json(cells.to_dicts())
    out.print(benchmark_table(cells))
    if any(r.status != "done" for r in records):
        out.print(failure_table(runs))
    return None


def _check_filter(what: str, wanted: object, present: set[Any]) -> None:
    if wanted is not None and wanted not in present:
        raise unknown(f"{what} in these results", str(wanted), map(str, present))


@app.command(name="export")
def results_export(
    directory: Path,
    *,
    csv: Path | None = None,
    parquet: Path | None = None,
) -> None:
    """Write one row per run to a file.

    Parameters
    ----------
    directory
        Where the results are.
    csv, parquet
        The file to write.
    """
    if csv is None and parquet is None:
        raise UsageError("say where to: --csv FILE or --parquet FILE")
    runs = table(_existing(directory))
    for file, write in ((csv, runs.write_csv), (parquet, runs.write_parquet)):
        try:
            if file:
                write(file)
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror or error}") from error
    out.print(f"{len(runs)} runs written")


def _existing(directory: Path) -> Results:
    if not (directory / "records").is_dir():
        raise UsageError(f"there are no results in {directory}; `sbibench run` makes some")
    found = Results(directory)
    for path in found.damaged():
        err.print(f"{path} can't be read; its run counts as missing", markup=False)
    return found
