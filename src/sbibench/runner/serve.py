"""The process that computes: it does what it is told through a pipe, one piece after the other."""

from collections.abc import Sequence
from multiprocessing.connection import Connection

from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.versions import versions
from sbibench.runner.execute import machine
from sbibench.runner.lifeline import die_with
from sbibench.runner.steps import steps
from sbibench.runner.todo import Work

Order = tuple[Sequence[Work], Sequence[str], float | None]
"""A group of work that shares a fit, the metrics, and the seconds for fitting and sampling."""


def serve(pipe: int, lifeline: int) -> None:
    """Answer each `Order` with the names of stages as they begin, and with records and samples.

    The first answer, before any order, are versions and machine.
    """
    die_with(lifeline)
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
