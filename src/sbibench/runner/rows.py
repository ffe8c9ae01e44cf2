"""Simulations one by one in a process that can be killed: what ends it costs one of them."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sbibench.runner.limits import Limits
from sbibench.runner.process import Ended, Wanted, borrowed
from sbibench.runner.supervise import share_of_memory, wanted_here

Row = tuple[int, np.ndarray]
"""A seed and θ [d]."""

Came = tuple[np.ndarray | None, str, float]
"""x [p] or None, the reason if it is None, and the seconds it took."""

MAIN = (
    "import sys; sys.path[:] = {path!r}; from sbibench.runner.serve_rows import serve; "
    "serve({pipe}, {lifeline})"
)


def simulated(code: bytes, rows: Sequence[Row], limits: Limits, wanted: Wanted) -> list[Came]:
    """Return what came of each row.

    Parameters
    ----------
    code
        The pickled simulator.
    rows
        What to simulate.
    limits
        What one of them may take.
    wanted
        Whether somebody waits for the result.

    Raises
    ------
    EngineError
        If no process can start.
    Unwanted
        If `wanted` says that nobody waits any more.
    """
    came: list[Came] = []
    died = -1
    name = hashlib.sha256(code).hexdigest()
    while len(came) < len(rows):
        start, loaded = time.monotonic(), False
        try:
            with borrowed(limits, wanted, MAIN) as process:
                process.send((name, code, rows[len(came) :]))
                process.receive(replace(limits, hard=None), wanted)  # its module is imported
                loaded = True
                while len(came) < len(rows):
                    start = time.monotonic()
                    x, reason = process.receive(limits, wanted)
                    came.append((x, reason, time.monotonic() - start))
        except Ended as end:
            if end.foreign and died != len(came):  # by somebody else: perhaps by mistake
                died = len(came)
                continue
            reason = end.reason.replace(", the hard limit", "")
            lost = 1 if loaded else len(rows) - len(came)
            came += [(None, reason, time.monotonic() - start)] * lost
    return came


def rows_here(code: bytes, rows: Sequence[Row], seconds: float | None) -> list[Came]:
    """Simulate rows in a dask worker."""
    return simulated(code, rows, share_of_memory(Limits(hard=seconds)), wanted_here())
