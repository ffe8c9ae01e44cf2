"""Many runs on the processes of one machine, each result kept as soon as it is there."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import dask
import numpy as np
from distributed import Client, KilledWorker, LocalCluster, as_completed

from sbibench.core.problem import Progress
from sbibench.core.run import RunRecord, RunSpec
from sbibench.store.results import Results

Report = Callable[[RunRecord], None]

# One thread for XLA: networks this small are faster on one core than on two, two workers side by
# side use two cores fully, and sums come out the same however many cores there are. (XLA takes the
# size of its thread pool from NPROC; its flags for this have no effect on a CPU any more.)
_ONE_THREAD = {"NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Work:
    """A run to do, or, where it has been done, a record to complete with metrics."""

    spec: RunSpec
    record: RunRecord | None = None
    samples: np.ndarray | None = None


def unfinished(
    runs: Sequence[RunSpec], metrics: Sequence[str], results: Results, *, retry: bool = False
) -> list[Work]:
    """Return what is to do: runs without a record, and records without one of the metrics.

    With `retry`, runs that are recorded as not done are among them.
    """
    found = []
    for spec in runs:
        record = results.read(spec.id)
        if record is None or (record.status != "done" and retry):
            found.append(Work(spec))
        elif record.status == "done" and not {*metrics} <= {*record.metrics, *record.missing}:
            samples = results.samples(spec.id)
            found.append(Work(spec) if samples is None else Work(spec, record, samples))
    return found


def work(
    todo: Work,
    metrics: Sequence[str],
    time_limit: float | None,
    progress: Progress | None = None,
) -> tuple[RunRecord, np.ndarray | None]:
    """Do it in this process; return the record and the samples."""
    # Imported here, so that the process that only hands out work computes nothing itself.
    from sbibench.core.compilation import keep_compiled_programs  # noqa: PLC0415 - see above
    from sbibench.runner.execute import execute, judge  # noqa: PLC0415 - see above

    keep_compiled_programs()
    if todo.record is None:
        return execute(todo.spec, metrics, time_limit, progress)
    new = [m for m in metrics if m not in {*todo.record.metrics, *todo.record.missing}]
    return judge(todo.record, todo.samples, new), todo.samples


@contextmanager
def _cluster(workers: int) -> Iterator[Client]:
    settings = {
        "distributed.nanny.pre-spawn-environ": _ONE_THREAD,
        "distributed.worker.daemon": True,
        "distributed.scheduler.allowed-failures": 1,
        "distributed.admin.log-format": "%(message)s",
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def run(
    todo: Sequence[Work],
    metrics: Sequence[str],
    results: Results,
    report: Report,
    *,
    time_limit: float | None = None,
    workers: int | None = None,
) -> None:
    """Do all of it and keep each result as soon as it is there.

    Parameters
    ----------
    todo
        What to do; see `unfinished`.
    metrics
        Names of the metrics to compute.
    results
        Where records and samples go.
    report
        Called with each record once it is kept.
    time_limit
        Seconds that one run may take.
    workers
        Processes; by default one per core, and no more than there are runs.
    """
    if not todo:
        return
    with _cluster(min(workers or os.cpu_count() or 1, len(todo))) as client:
        futures = {
            client.submit(work, w, metrics, time_limit, key=w.spec.id, pure=False): w.spec
            for w in todo
        }
        for future in as_completed(futures):
            spec = futures.pop(future)
            if future.status == "finished":
                record, samples = future.result()
            else:
                record, samples = _lost(spec, future.exception(), metrics), None
            results.write(record, samples)
            report(record)
            future.release()


def _lost(spec: RunSpec, error: BaseException, metrics: Sequence[str]) -> RunRecord:
    died = isinstance(error, KilledWorker)
    what = "its worker process died twice" if died else f"{type(error).__name__}: {error}"
    return RunRecord(
        spec=spec,
        status="failed",
        reason=what,
        missing=dict.fromkeys(metrics, "the run has no samples"),
    )
