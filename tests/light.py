"""A process that computes nothing, quickly started; a run's settings say how it misbehaves."""

import collections
import itertools
import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from sbibench.core.run import RunRecord
from sbibench.runner.lifeline import die_with
from sbibench.runner.todo import lacking

MAIN = "import sys; sys.path[:] = {path!r}; from light import serve; serve({pipe}, {lifeline}) #"


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
    elif how.startswith("die once "):
        marker = Path(how.removeprefix("die once "))
        if not marker.exists():
            marker.touch()
            misbehave("die")
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
        group, metrics, _ = connection.recv()
        fitted = False
        for work in group:
            record, does = work.record, work.spec.settings
            if record is None:
                if not fitted:
                    connection.send("fit")
                    misbehave(does.get("fit", ""))
                    fitted = True
                connection.send("sample")
                misbehave(does.get("sample", ""))
                versions = {"light": str(os.getpid())}
                record = RunRecord(spec=work.spec, status="done", reason="", versions=versions)
                connection.send((record, None))
            for metric in lacking(record, metrics):
                connection.send("metrics")
                misbehave(does.get(metric, ""))
                record.metrics[metric] = 1.0
                connection.send((record, None))
