"""The process that computes: it does what it is told through a pipe, one piece after the other."""

import fcntl
import os
import select
from collections.abc import Sequence
from multiprocessing.connection import Connection

from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.versions import versions
from sbibench.runner.execute import machine
from sbibench.runner.steps import steps
from sbibench.runner.todo import Work

Order = tuple[Sequence[Work], Sequence[str], float | None]
"""A group of work that shares a fit, the metrics, and the seconds for fitting and sampling."""


def serve(pipe: int, lifeline: int) -> None:
    """Answer each `Order` with the names of stages as they begin, and with records and samples.

    The first answer, before any order, are versions and machine.
    """
    _die_with(lifeline)
    keep_compiled_programs()
    with Connection(pipe) as connection:
        connection.send((versions(), machine()))
        while True:
            try:
                group, metrics, time_limit = connection.recv()
            except EOFError:
                return
            for step in steps(group, metrics, time_limit, announce=connection.send):
                connection.send(step)


def _die_with(lifeline: int) -> None:
    """Let the kernel end this process when the other end of a pipe is closed.

    Nobody writes to it; it is closed when the process that holds it dies, of a SIGKILL, too. Then
    comes the signal SIGIO, whose default is to kill, and code in C that never returns to Python is
    no hindrance.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # it was closed before
        os._exit(1)
