"""The command line: strings become objects here, and nowhere below."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import cyclopts
import msgspec
from cyclopts import App, Parameter
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

import sbibench
from sbibench.core import registry, settings
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.core.run import RunRecord
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table, failure_table
from sbibench.runner import campaign
from sbibench.runner.suite import Suite, check_time_limit, spec
from sbibench.store.results import Results
from sbibench.store.table import table

out = Console()
err = Console(stderr=True)

app = App(
    name="sbibench",
    help="A benchmark of simulation-based inference.",
    version=sbibench.__version__,
    help_format="rich",
)
suite = App(name="suite", help="Plan and run many runs described by one TOML file.")
results = App(name="results", help="Look at what has been run.")
app.command(suite)
app.command(results)

Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON in place of a table.")
]
Directory = Annotated[Path, Parameter(name="--out", help="The directory of the results.")]


def _print_json(rows: Any) -> None:
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


def _list(kind: registry.Kind, *, as_json: bool) -> None:
    rows = [{"name": name, "description": kind.describe(name)} for name in kind.names()]
    if as_json:
        return _print_json(rows)
    shown = Table()
    shown.add_column("name", no_wrap=True)
    shown.add_column("description")
    for row in rows:
        shown.add_row(escape(row["name"]), escape(row["description"]))
    return out.print(shown)


@app.command
def tasks(*, as_json: Json = False) -> None:
    """List the tasks."""
    _list(registry.TASKS, as_json=as_json)


@app.command
def metrics(*, as_json: Json = False) -> None:
    """List the metrics."""
    _list(registry.METRICS, as_json=as_json)


@app.command
def algorithms(name: str | None = None, *, as_json: Json = False) -> None:
    """List the algorithms, or the settings of one.

    Parameters
    ----------
    name
        The algorithm whose settings are listed.
    as_json
        Print JSON in place of a table.
    """
    if name is None:
        return _list(registry.ALGORITHMS, as_json=as_json)
    cls = registry.ALGORITHMS.get(name)
    defaults = settings.as_dict(cls())
    rows: list[dict[str, Any]] = []
    for path, kind in settings.leaves(cls).items():
        value = defaults
        for part in path.split("."):
            value = value[part]
        shown_kind = kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
        rows.append({"flag": f"--{name}.{path}", "type": shown_kind, "default": value})
    if as_json:
        return _print_json(rows)
    shown = Table("flag", "type", "default", title=registry.ALGORITHMS.describe(name))
    for row in rows:
        shown.add_row(row["flag"], escape(row["type"]), escape(str(row["default"])))
    return out.print(shown)


def _algorithm_flags(algorithm: str, tokens: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Return the settings in `--ALGORITHM.NAME VALUE` and `--ALGORITHM.NAME=VALUE`."""
    found: dict[str, str] = {}
    prefix = f"--{algorithm}."
    rest = list(tokens)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if not flag.startswith(prefix):
            flags = [
                *known,
                *(prefix + s for s in settings.leaves(registry.ALGORITHMS.get(algorithm))),
            ]
            raise unknown("option", flag, flags)
        if not equals:
            if not rest:
                raise UsageError(f"{flag} needs a value")
            value = rest.pop(0)
        found[flag.removeprefix(prefix)] = value
    return {k: None if v.lower() == "none" else v for k, v in found.items()}  # type: ignore[misc]


@app.command
def run(
    task: str,
    algorithm: str,
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    budget: int = 1000,
    observation: int = 1,
    seed: int = 0,
    samples: int = 10_000,
    metric: Annotated[tuple[str, ...], Parameter(negative="")] = ("c2st", "mmd"),
    time_limit: float | None = None,
    directory: Directory = Path("results"),
    as_json: Json = False,
) -> int:
    """Run one algorithm on one task; --ALGORITHM.SETTING VALUE changes its settings.

    Parameters
    ----------
    task
        Its name, or module:name for one of your own.
    algorithm
        Its name, or module:name for one of your own; `sbibench algorithms NAME` lists settings.
    budget
        The number of simulations.
    observation
        The number of the observation, counted from 1.
    seed
        All randomness comes from it.
    samples
        How many samples of the posterior to draw.
    metric
        What to compute; repeat for several.
    time_limit
        Seconds that fitting and sampling may take.
    """
    known = ["--budget", "--observation", "--seed", "--samples", "--metric", "--time-limit"]
    values = _algorithm_flags(algorithm, tokens, [*known, "--out", "--json"])
    run_spec = spec(task, algorithm, values, budget, observation, seed, samples, text=True)
    for name in metric:
        registry.METRICS.get(name)
    check_time_limit(time_limit)
    store = Results(directory)
    for todo in campaign.unfinished([run_spec], metric, store, retry=True):
        _run_here(todo, metric, time_limit, store)
    record = store.read(run_spec.id)
    assert record is not None
    if as_json:
        _print_json(msgspec.to_builtins(record))
    else:
        _print_record(record)
    return 0 if record.status == "done" else 1


def _run_here(
    todo: campaign.Work, metric: Sequence[str], time_limit: float | None, store: Results
) -> None:
    store.prepare()
    os.environ.setdefault("NPROC", "1")  # as in a campaign's workers, so that results are the same
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bars:
        bar = bars.add_task("starting", total=None)

        def progress(stage: str, done: int, total: int | None) -> None:
            bars.update(bar, description=stage, completed=done, total=total)

        record, drawn = campaign.work(todo, metric, time_limit, progress)
    store.write(record, drawn)


def _print_record(record: RunRecord) -> None:
    out.print(f"[bold]{record.status}[/]: ", end="")
    out.print(f"{record.spec}: {record.reason}", markup=False, highlight=False)
    rows = {k: f"{v:.4f}" for k, v in record.metrics.items()} | record.missing
    rows |= {"simulations": f"{record.calls} ({record.invalid} invalid)"}
    rows |= {f"{k} (s)": f"{v:.1f}" for k, v in record.seconds.items()}
    rows |= {k: f"{v:.4g}" if isinstance(v, float) else str(v) for k, v in record.info.items()}
    shown = Table(show_header=False)
    for name, value in rows.items():
        shown.add_row(escape(name), escape(value))
    out.print(shown)


@suite.command(name="plan")
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
    todo = {w.spec.id for w in campaign.unfinished(runs, plan.metrics, Results(directory))}
    if as_json:
        return _print_json(
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


@suite.command(name="run")
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
    plan = Suite.load(file)
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


@results.command(name="show")
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
        return _print_json(cells.to_dicts())
    out.print(benchmark_table(cells))
    if any(r.status != "done" for r in records):
        out.print(failure_table(runs))
    return None


def _check_filter(what: str, wanted: object, present: set[Any]) -> None:
    if wanted is not None and wanted not in present:
        raise unknown(f"{what} in these results", str(wanted), map(str, present))


@results.command(name="export")
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 all done, 1 some run failed, 2 wrong usage."""
    try:
        status = app(
            arguments,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except (UsageError, cyclopts.CycloptsError) as error:
        err.print(
            "error:", " ".join(str(error).split()), markup=False, highlight=False, soft_wrap=True
        )
        sys.exit(2)
    except OSError as error:  # what the file system refuses
        err.print(f"error: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("stopped; the same command goes on from here", markup=False)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
