"""`sbibench results`: look at what has been run, take it elsewhere, judge it again."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import App, Parameter

from sbibench.cli.console import Json, Number, err, out, print_json
from sbibench.cli.summaries import described
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.report.cells import metrics, named
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table, failure_table, heatmap
from sbibench.store.index import everything, strangers
from sbibench.store.merge import merge
from sbibench.store.results import Results

app = App(name="results", help="Look at what has been run, take it elsewhere, judge it again.")
_RESCORE = "rescore:results_rescore"
app.command(f"sbibench.cli.{_RESCORE}", name="rescore", help=described(_RESCORE))


@Parameter(name="*")
@dataclass(frozen=True)
class Only:
    """Which runs are meant; by default all.

    Parameters
    ----------
    task
        Only this task.
    algorithm
        Only the algorithm of this name or label.
    budget
        Only this budget.
    status
        Only runs that ended so: done, failed, timeout, out_of_memory, budget_exceeded, skipped.
    """

    task: str | None = None
    algorithm: Annotated[str | None, Parameter(alias="--label")] = None
    budget: Number | None = None
    status: str | None = None

    def of(self, runs: pl.DataFrame) -> pl.DataFrame:
        """Return these of the runs.

        Raises
        ------
        UsageError
            If something that is asked for is in none of them.
        """
        left = runs
        for what, wanted, columns in (
            ("task", self.task, ("task",)),
            ("algorithm", self.algorithm, ("algorithm", "label")),
            ("budget", self.budget, ("budget",)),
            ("status", self.status, ("status",)),
        ):
            if wanted is not None:
                left = left.filter(pl.any_horizontal(pl.col(c) == wanted for c in columns))
                _check(what, wanted, {v for c in columns for v in runs[c].unique()})
        return left


ALL = Only()


@app.command(name="show")
def results_show(
    directory: Path = Path("results"),
    *,
    only: Only = ALL,
    metric: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    as_json: Json = False,
) -> None:
    """Show heat maps and the benchmark table of a results directory.

    Heat maps are of C2ST, or of the first metric that is asked for, one for each budget; * marks
    a mean without runs that failed.

    Parameters
    ----------
    directory
        Where the results are.
    metric
        Only this metric; repeat for several.
    """
    runs = existing(directory)
    measured = {c.removeprefix("metric."): c for c in runs.columns if c.startswith("metric.")}
    for name in metric:
        _check("metric", name, set(measured))
    hidden = [c for name, c in measured.items() if metric and name not in metric]
    runs = only.of(runs).drop(hidden)
    cells = summary(runs)
    if as_json:
        return print_json(cells.to_dicts())
    mapped = metric[0] if metric else next(iter(metrics(runs)), None)
    if mapped and runs["task"].n_unique() > 1:
        for budget in sorted(runs["budget"].unique()):
            for part in heatmap(named(runs), mapped, budget, out.width):
                out.print(part)
    out.print(benchmark_table(cells, out.width))
    if (runs["status"] != "done").any():
        out.print(failure_table(runs))
    return None


def _check(what: str, wanted: object, present: set[Any]) -> None:
    if wanted not in present:
        raise unknown(f"{what} in these results", str(wanted), map(str, present))


@app.command(name="export")
def results_export(
    directory: Path,
    *,
    csv: Path | None = None,
    parquet: Path | None = None,
    only: Only = ALL,
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
    runs = only.of(existing(directory))
    for file, write in ((csv, runs.write_csv), (parquet, runs.write_parquet)):
        try:
            if file:
                write(file)
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror or error}") from error
    out.print(f"{len(runs)} runs written")


@app.command(name="merge")
def results_merge(directory: Path, *sources: Path) -> None:
    """Copy into a results directory what it lacks of others.

    Parameters
    ----------
    directory
        Where to.
    sources
        Directories of results; of a run that is in several, one that is done is kept.
    """
    if not sources:
        raise UsageError("say what to merge: sbibench results merge INTO FROM...")
    into = Results(directory)
    for source in sources:
        existing(source)
        copied = merge(into, Results(source))
        out.print(f"{source}: {copied} runs copied", markup=False, highlight=False)


def existing(directory: Path) -> pl.DataFrame:
    """Return all runs of a results directory; say which of its files can't be read.

    Raises
    ------
    UsageError
        If there is none.
    """
    if not (directory / "records").is_dir():
        raise UsageError(f"there are no results in {directory}; `sbibench run` makes some")
    results = Results(directory)
    runs, damaged = everything(results)
    say_unread(results, damaged)
    return runs


def say_unread(results: Results, damaged: Iterable[Path]) -> None:
    """Say which files among the records don't count: those that are damaged, and copies."""
    for path in damaged:
        err.print(f"{path} can't be read; its run counts as missing", markup=False)
    for path in strangers(results):
        err.print(
            f"{path} is left out: a record is named by the 16 digits of its run; is it a copy?",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
