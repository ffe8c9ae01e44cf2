"""Campaigns whose processes start quickly and compute nothing, but misbehave as they are told.

A run's settings say how: `fit`, `sample` and names of metrics are what happens there, `seconds` is
how long it takes. As a program it is a runner: `light.py RESULTS RUNS [SETTINGS] [SCHEDULER]`.
"""

import collections
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from sbibench.core.errors import SbibenchError
from sbibench.core.run import RunRecord, RunSpec
from sbibench.runner import campaign, cluster, process
from sbibench.runner.lifeline import die_with
from sbibench.runner.limits import Limits
from sbibench.runner.todo import lacking, unfinished
from sbibench.store.results import Results

HERE = Path(__file__).parent
MAIN = (
    f"import sys; sys.path[:] = [{str(HERE)!r}, *{{path!r}}]; "
    "from light import serve; serve({pipe}, {lifeline})"
)


def dask_setup(worker):
    """Let the processes of a dask worker be light ones; for `dask worker --preload`."""
    process._MAIN = MAIN


def specs(n, **does):
    """Return n runs; two observations each would share a fit."""
    return [
        RunSpec(
            task="t", task_version=1, algorithm="a", settings=does, label="a", budget=1,
            observation=1 + i % 2, seed=i // 2, share_fit=True,
        )
        for i in range(n)
    ]  # fmt: skip


def drawn(spec):
    """Return the samples of a run."""
    return np.random.default_rng(int(spec.id, 16)).normal(size=(50, 2)).astype(np.float32)


def outcome(results):
    """Return what must not depend on how a campaign came about."""
    return {r.spec.id: (r.status, r.metrics, results.samples(r.spec.id).tolist()) for r in results}


def expected(runs):
    """Return the outcome of an undisturbed campaign."""
    return {s.id: ("done", {"m": float(drawn(s).mean())}, drawn(s).tolist()) for s in runs}


def misbehave(how):
    """Do it."""
    if how == "spin":
        collections.deque(itertools.repeat(0), maxlen=0)  # in C, with the lock of the interpreter
    elif how == "sleep":
        time.sleep(1000)
    elif how == "eat":
        eaten = []
        while True:
            eaten.append(bytearray(b"x" * 2**24))
            time.sleep(0.002)
    elif how == "exit":
        os._exit(7)
    elif how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif " once " in how:
        how, _, marker = how.partition(" once ")
        if not Path(marker).exists():
            Path(marker).touch()
            misbehave(how)
    elif how.startswith("parent "):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        Path(how.removeprefix("parent ")).write_text(f"{os.getpid()} {child.pid}")
        misbehave("spin")


def serve(pipe, lifeline):
    """Speak as sbibench.runner.serve does."""
    die_with(lifeline)
    connection = Connection(pipe)
    connection.send(({"light": str(os.getpid())}, {}))
    while True:
        try:
            group, metrics, _ = connection.recv()
        except EOFError:
            return
        fitted = False
        for work in group:
            record, does, samples = work.record, work.spec.settings, work.samples
            if record is None:
                if not fitted:
                    connection.send("fit")
                    misbehave(does.get("fit", ""))
                    fitted = True
                connection.send("sample")
                misbehave(does.get("sample", ""))
                time.sleep(does.get("seconds", 0))
                versions = {"light": str(os.getpid())}
                record = RunRecord(spec=work.spec, status="done", reason="", versions=versions)
                samples = drawn(work.spec)
                connection.send((record, samples))
            for metric in lacking(record, metrics):
                connection.send("metrics")
                misbehave(does.get(metric, ""))
                record.metrics[metric] = float(samples.mean())
                connection.send((record, None))


def run(out, n, does, scheduler=None):
    """Run a campaign, or what is left of it."""
    with cluster.existing(scheduler) if scheduler else cluster.local(2) as client:
        run_on(client, out, n, does)


def run_on(client, out, n, does):
    """Run a campaign on a cluster."""
    results = Results(out)
    results.prepare()
    todo = unfinished(specs(n, **does), ["m"], results)
    print("to do", len(todo), flush=True)

    def report(record):
        print(record.versions.get("light"), record.spec.id, record.status, flush=True)

    def note(text):
        print(text, flush=True)

    campaign.run(client, todo, ["m"], results, report, note, Limits(hard=60))


if __name__ == "__main__":
    process._MAIN = MAIN
    out, n, does, *scheduler = sys.argv[1:]
    try:
        run(out, int(n), json.loads(does), *scheduler)
    except SbibenchError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
