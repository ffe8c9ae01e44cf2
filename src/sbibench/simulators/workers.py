"""Rows handed out to processes over dask, and their data as they come back."""

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import cloudpickle
import numpy as np
from distributed import Client

from sbibench.core.errors import EngineError
from sbibench.runner import cluster
from sbibench.runner.process import INSIDE
from sbibench.runner.rows import rows_here
from sbibench.simulators.kept import Ended

_HEARTBEAT = 0.5
"""Seconds between two pieces, so that a deadline is seen in time."""

_TOGETHER = 0.5
"""Seconds of simulating that are handed out as one task; dask takes milliseconds for each."""

_MOST = 100
"""Simulations in one task."""

_AHEAD = 2
"""Tasks for each thread, so that none waits for more."""


class Workers:
    """A cluster that simulates; it starts when it is first needed.

    Parameters
    ----------
    workers
        Processes on this machine; None for one a core.
    scheduler
        The address of a scheduler in their place.
    seconds
        After which a simulation is killed.
    """

    def __init__(self, workers: int | None, scheduler: str | None, seconds: float | None) -> None:
        self._workers, self._scheduler, self._seconds = workers, scheduler, seconds
        self._client: Client | None = None
        self._rate = 0.0  # seconds that one simulation takes

    def run(
        self,
        simulator: Callable[..., Any],
        given: Sequence[tuple[int, np.ndarray]],
        todo: list[int],
    ) -> Iterator[tuple[int | None, Ended]]:
        """Yield number and end of each simulation to do, in whatever order; None is no news.

        Parameters
        ----------
        simulator
            What simulates.
        given
            Seeds and θ [d].
        todo
            The numbers of those to be run.

        Raises
        ------
        EngineError
            If the cluster is gone.
        """
        if not todo:
            return
        client = self.connected()
        code = cloudpickle.dumps(simulator)
        inbox: SimpleQueue[Any] = SimpleQueue()
        running: dict[Any, tuple[Any, list[int]]] = {}
        line = iter(todo)
        left = len(todo)
        try:
            while left:
                threads = max(1, sum(client.nthreads().values()))
                while len(running) < _AHEAD * threads and (some := self._some(line, left, threads)):
                    name = f"simulations-{some[0]}-{time.time_ns():x}"
                    rows = [given[number] for number in some]
                    future = client.submit(
                        rows_here, code, rows, self._seconds, key=name, pure=False
                    )
                    running[name] = future, some
                    future.add_done_callback(inbox.put)
                try:
                    future = inbox.get(timeout=_HEARTBEAT)
                except Empty:
                    yield None, Ended(None)
                    continue
                _, some = running.pop(future.key)
                left -= len(some)
                for number, (x, reason, seconds) in zip(some, _result(future), strict=True):
                    self._rate = 0.8 * self._rate + 0.2 * seconds if self._rate else seconds
                    yield number, Ended(x, reason)
        finally:
            for future, _ in running.values():  # whose processes are killed then
                future.cancel()

    def _some(self, line: Iterator[int], left: int, threads: int) -> list[int]:
        """Return the next simulations to be handed out together."""
        size = min(_MOST, int(_TOGETHER / self._rate) if self._rate else 1, left // threads)
        return [number for _, number in zip(range(max(1, size)), line, strict=False)]

    def connected(self) -> Client:
        """Return the cluster, which stays as long as this object."""
        if self._client is None:
            stack = contextlib.ExitStack()
            # Each worker of a campaign has its core; a cluster in each would take them all again.
            workers = 1 if os.environ.get(INSIDE) else self._workers
            where = cluster.existing(self._scheduler) if self._scheduler else cluster.local(workers)
            self._client = stack.enter_context(where)
            atexit.register(stack.close)
            weakref.finalize(self, _close_apart, stack.close).atexit = False
        return self._client


def _close_apart(close: Callable[[], None]) -> None:
    """Close in another thread: the garbage collector may be in dask's, which can't wait for itself.

    If the process is ending no thread may start, and what is registered for the end closes.
    """

    def run() -> None:
        close()
        atexit.unregister(close)

    with contextlib.suppress(RuntimeError):
        threading.Thread(target=run).start()


def _result(future: Any) -> list[tuple[np.ndarray | None, str, float]]:
    """Return what a task found out; the workers that had it are all gone if there is nothing."""
    if future.status != "finished":
        error = future.exception() if future.status == "error" else future.status
        raise EngineError(f"simulations got lost: {error}; the same command goes on from here")
    found: list[tuple[np.ndarray | None, str, float]] = future.result()
    return found
