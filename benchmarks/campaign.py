"""What a campaign costs beyond its runs, and what a second worker brings.

python benchmarks/campaign.py [RUNS]

1. RUNS (200) runs of rejection ABC that take a fraction of a second, by one worker and by two: the
   time per run that is not in the record of any stage, and how much faster two workers are.
2. Four runs of NPE by two workers with one thread each, and by one worker with two threads.

Figures are of an otherwise idle machine, or they mean little.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from sbibench.core.run import RunSpec
from sbibench.runner import campaign, cluster, process
from sbibench.runner.limits import Limits
from sbibench.runner.suite import spec
from sbibench.runner.todo import unfinished
from sbibench.store.results import Results

STAGES = ("simulate", "fit", "sample", "density", "metrics")  # compiling is part of these


def seconds(runs: list[RunSpec], metrics: list[str], workers: int) -> tuple[float, float]:
    """Return the time from the first result to the last, and the time in all stages of all runs.

    The first result of each worker comes after its start: those are not counted.
    """
    with tempfile.TemporaryDirectory() as folder, cluster.local(workers) as client:
        results = Results(Path(folder))
        results.prepare()
        came = []

        def report(record):
            assert record.status == "done", record.reason
            work = sum(record.seconds.get(stage, 0.0) for stage in STAGES)
            came.append((time.perf_counter(), work))

        todo = unfinished(runs, metrics, results)
        campaign.run(client, todo, metrics, results, report, print, Limits())
    counted = came[2 * workers :]
    return counted[-1][0] - came[2 * workers - 1][0], sum(work for _, work in counted)


def short(n: int) -> None:
    """Print what short runs cost."""
    runs = [
        spec("two_moons", "rej_abc", {}, 1000, 1 + i % 10, i // 10, samples=2000) for i in range(n)
    ]
    elapsed = {}
    for workers in (1, 2):
        elapsed[workers], work = seconds(runs, ["mmd"], workers)
        counted = n - 2 * workers
        print(
            f"{n} short runs, {workers} worker(s): {1e3 * work / counted:.0f} ms of work a run, "
            f"{1e3 * elapsed[workers] / counted:.0f} ms a run in all"
        )
        if workers == 1:
            print(f"  beyond the work: {1e3 * (elapsed[1] - work) / counted:.0f} ms a run")
        elapsed[workers] /= counted
    print(f"  two workers are {elapsed[1] / elapsed[2]:.2f} times as fast as one")


def threads() -> None:
    """Print what the same cores do as two processes, and as two threads of one."""
    runs = [spec("two_moons", "npe", {}, 1000, i, 0, samples=1000) for i in range(1, 9)]
    for workers, each in ((2, 1), (1, 2)):
        process.ONE_THREAD.update(dict.fromkeys(process.ONE_THREAD, str(each)))
        elapsed, _ = seconds(runs, [], workers)
        counted = len(runs) - 2 * workers
        print(f"NPE, {workers} worker(s) of {each} thread(s): {elapsed / counted:.1f} s a run")


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    short(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    threads()
