"""Many runs on the processes of one machine, each result kept as soon as it is there."""

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import dask
import numpy as np
from distributed import Client, Future, KilledWorker, LocalCluster, get_worker

from sbibench.core.problem import Progress
from sbibench.core.run import RunRecord, RunSpec
from sbibench.store.results import Results

Report = Callable[[RunRecord], None]
Result = tuple[RunRecord, np.ndarray | None]

_EARLY = "sbibench-results"
"""The topic under which a worker announces results of a group that is not yet done."""

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


def groups(todo: Sequence[Work]) -> list[list[Work]]:
    """Return what is to do in groups that share a fit; most have one member."""
    found: dict[str, list[Work]] = {}
    for w in todo:
        found.setdefault(w.spec.fit_id if w.record is None else w.spec.id, []).append(w)
    return list(found.values())


def work(
    todo: Work,
    metrics: Sequence[str],
    time_limit: float | None,
    progress: Progress | None = None,
) -> Result:
    """Do it in this process; return the record and the samples."""
    return next(work_together([todo], metrics, time_limit, progress))


def work_together(
    group: Sequence[Work],
    metrics: Sequence[str],
    time_limit: float | None,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Do one of the `groups` in this process, and yield each record and its samples."""
    # Imported here, so that the process that only hands out work computes nothing itself.
    from sbibench.core.compilation import keep_compiled_programs  # noqa: PLC0415 - see above
    from sbibench.runner.execute import execute_together  # noqa: PLC0415 - see above
    from sbibench.runner.judge import judge  # noqa: PLC0415 - see above

    keep_compiled_programs()
    if group[0].record is None:
        yield from execute_together([w.spec for w in group], metrics, time_limit, progress)
        return
    for w in group:
        assert w.record is not None
        new = [m for m in metrics if m not in {*w.record.metrics, *w.record.missing}]
        yield judge(w.record, w.samples, new), w.samples


def _work_there(
    group: Sequence[Work], metrics: Sequence[str], time_limit: float | None
) -> list[Result]:
    """Do a group in a worker; announce each result once it is there, and return them all."""
    done = []
    for result in work_together(group, metrics, time_limit):
        done.append(result)
        if len(group) > 1:
            get_worker().log_event(_EARLY, pickle.dumps(result))
    return done


@contextmanager
def _cluster(workers: int) -> Iterator[Client]:
    settings = {
        "distributed.nanny.pre-spawn-environ": _ONE_THREAD,
        "distributed.worker.daemon": True,
        "distributed.scheduler.allowed-failures": 1,
        "distributed.admin.log-format": "%(message)s",
        "distributed.admin.low-level-log-length": 10,  # results that were announced are forgotten
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
        Processes; by default one per core, and no more than there are fits to make.
    """
    if not todo:
        return
    together = {group[0].spec.id: group for group in groups(todo)}
    waiting = {w.spec.id for w in todo}
    inbox: SimpleQueue[Any] = SimpleQueue()  # results, and futures that ended
    with _cluster(min(workers or os.cpu_count() or 1, len(together))) as client:
        client.subscribe_topic(_EARLY, lambda event: inbox.put(pickle.loads(event[1])))
        futures = {
            key: client.submit(_work_there, group, metrics, time_limit, key=key, pure=False)
            for key, group in together.items()
        }
        for future in futures.values():
            future.add_done_callback(inbox.put)
        while waiting:
            came = inbox.get()
            done = _of(came, together, metrics) if isinstance(came, Future) else [came]
            for record, samples in done:
                if record.spec.id not in waiting:
                    continue  # it was announced before
                waiting.remove(record.spec.id)
                results.write(record, samples)
                report(record)
            if isinstance(came, Future):
                futures.pop(str(came.key)).release()


def _of(future: Any, together: dict[str, list[Work]], metrics: Sequence[str]) -> list[Result]:
    """Return the results of a future that has ended, however it has."""
    if future.status == "finished":
        done: list[Result] = future.result()
        return done
    error = future.exception()
    return [(_lost(w.spec, error, metrics), None) for w in together[str(future.key)]]


def _lost(spec: RunSpec, error: BaseException, metrics: Sequence[str]) -> RunRecord:
    died = isinstance(error, KilledWorker)
    what = "its worker process died twice" if died else f"{type(error).__name__}: {error}"
    return RunRecord(
        spec=spec,
        status="failed",
        reason=what,
        missing=dict.fromkeys(metrics, "the run has no samples"),
    )
