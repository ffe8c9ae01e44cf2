"""`sbibench run`: one run, in this process."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from sbibench.cli.console import Directory, Json, Number, err, out, print_json, stages
from sbibench.core import registry, settings
from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.core.run import RunRecord
from sbibench.report.marginals import marginal_table
from sbibench.runner.limits import Limits
from sbibench.runner.steps import steps
from sbibench.runner.suite import spec
from sbibench.runner.todo import Work, unfinished
from sbibench.store.results import Results


def algorithm_flags(
    algorithm: str, tokens: Sequence[str], known: Sequence[str]
) -> dict[str, str | None]:
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
    return {k: None if v.lower() == "none" else v for k, v in found.items()}


def run(
    task: str,
    algorithm: str,
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    budget: Number = 1000,
    observation: Number = 1,
    seed: Number = 0,
    samples: Number = 10_000,
    metric: Annotated[tuple[str, ...], Parameter(negative="")] = ("c2st", "mmd"),
    time_limit: float | None = None,
    preset: str = "default",
    save: Path | None = None,
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
    preset
        The settings that others change: default or paper.
    save
        A file for the fitted posterior, which `sb.load` and `sbibench diagnose` read; a run that is
        recorded already is fitted again for it.
    """
    known = ["--budget", "--observation", "--seed", "--samples", "--metric", "--time-limit"]
    known += ["--preset", "--save", "--out", "--json"]
    values = algorithm_flags(algorithm, tokens, known)
    run_spec = spec(
        task, algorithm, values, budget, observation, seed, samples, preset=preset, text=True
    )
    for name in metric:
        registry.METRICS.get(name)
    limits = Limits(time_limit)
    store = Results(directory)
    posteriors: list[Any] = []
    left = unfinished([run_spec], metric, store, retry=True)
    for work in left:
        _run_here(work, metric, limits, store, posteriors.append)
    if not left:
        err.print(
            f"this run is in {directory} already; another --seed or --out runs it anew",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
    record = store.read(run_spec.id)
    assert record is not None
    if save and not posteriors and record.status == "done":
        keep_compiled_programs()
        for _ in steps([Work(run_spec)], (), time_limit, keep=posteriors.append):
            pass
    if save and posteriors:
        _save(posteriors[0], algorithm, save)
    if as_json:
        print_json(msgspec.to_builtins(record))
    else:
        _print_record(record)
        _print_samples(record, store)
    return 0 if record.status == "done" else 1


def _save(posterior: Any, algorithm: str, path: Path) -> None:
    if not hasattr(posterior, "save"):
        raise UsageError(f"posteriors of {algorithm} can't be saved: they have no method `save`")
    posterior.save(path)
    err.print(f"the posterior is in {path}", markup=False, highlight=False, soft_wrap=True)


def _run_here(
    work: Work, metric: Sequence[str], limits: Limits, store: Results, keep: Callable[[Any], None]
) -> None:
    keep_compiled_programs()
    store.prepare()
    with stages() as progress:
        samples = store.samples(work.spec.id) if work.record else None
        known = samples is not None
        work = replace(work, record=work.record if known else None, samples=samples)
        for record, drawn in steps([work], metric, limits.time, progress, keep=keep):
            if known:
                store.update(record)
            else:
                store.write(record, drawn)
            known = True


def _print_samples(record: RunRecord, store: Results) -> None:
    """Say where the samples of a run are, and what they tell of each parameter."""
    samples = store.samples(record.spec.id)
    if samples is None:
        return
    out.print(marginal_table(_parameters(record, samples.shape[1]), samples))
    path = store.samples_path(record.spec.id)
    out.print(
        f"{len(samples):,} samples are in {path}: np.load({str(path)!r})['samples']",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip


def _parameters(record: RunRecord, d: int) -> Sequence[str]:
    """Return the names of the parameters of a run; by number if its task is no more what it was."""
    names: Sequence[str] = registry.TASKS.get(record.spec.task).parameter_names
    return names if len(names) == d else [str(i + 1) for i in range(d)]


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
