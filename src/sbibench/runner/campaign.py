"""Many runs on the processes of one machine, each result kept as soon as it is there."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import dask
import numpy as np
from distributed import Client, LocalCluster, as_completed

from sbibench.core.run import RunRecord, RunSpec
from sbibench.store.results import Results

Report = Callable[[RunRecord], None]

# One thread per worker: networks this small gain nothing from a second one, and two side by side
# use two cores fully.
_ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def unfinished(runs: Sequence[RunSpec], results: Results, *, retry: bool = False) -> list[RunSpec]:
    """Return the runs that have no record yet, and, with `retry`, those that were not done."""

    def finished(spec: RunSpec) -> bool:
        record = results.read(spec.id)
        return record is not None and (record.status == "done" or not retry)

    return [spec for spec in runs if not finished(spec)]


@contextmanager
def _cluster(workers: int) -> Iterator[Client]:
    settings = {
        "distributed.nanny.pre-spawn-environ": _ONE_THREAD,
        "distributed.worker.daemon": True,
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


def _work(
    spec: RunSpec, metrics: Sequence[str], time_limit: float | None
) -> tuple[RunRecord, np.ndarray | None]:
    # Imported here, so that the process that only hands out work computes nothing itself.
    from sbibench.core.compilation import keep_compiled_programs  # noqa: PLC0415
    from sbibench.runner.execute import execute  # noqa: PLC0415

    keep_compiled_programs()
    return execute(spec, metrics, time_limit)


def run(
    runs: Sequence[RunSpec],
    metrics: Sequence[str],
    results: Results,
    report: Report,
    *,
    time_limit: float | None = None,
    workers: int | None = None,
) -> None:
    """Run all of `runs` and keep each result as soon as it is there.

    Parameters
    ----------
    runs
        What to run; see `unfinished`.
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
    if not runs:
        return
    with _cluster(min(workers or os.cpu_count() or 1, len(runs))) as client:
        futures = {
            client.submit(_work, spec, metrics, time_limit, key=spec.id, pure=False): spec
            for spec in runs
        }
        for future in as_completed(futures):
            spec = futures.pop(future)
            if future.status == "finished":
                record, samples = future.result()
            else:
                error = future.exception()
                record = RunRecord(
                    spec=spec,
                    status="failed",
                    reason=f"its worker process died: {type(error).__name__}: {error}",
                )
                samples = None
            results.write(record, samples)
            report(record)
            future.release()
