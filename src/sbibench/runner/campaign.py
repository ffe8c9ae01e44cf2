"""Many runs on a cluster of processes, each result kept as soon as it is there."""

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from distributed import Client, Future, KilledWorker
from distributed.comm.core import CommClosedError

from sbibench.core.errors import EngineError
from sbibench.core.run import RunRecord
from sbibench.runner.limits import Limits
from sbibench.runner.process import Unwanted
from sbibench.runner.supervise import work_here
from sbibench.runner.todo import Work, given_up, groups, unfinished
from sbibench.store.claims import Claims
from sbibench.store.results import Results

Report = Callable[[RunRecord], None]

_AHEAD = 2
"""Groups of work that a cluster is given for each of its threads, so that none waits for more."""

_PAUSE = 1.0
"""Seconds between two looks at what other runners and the cluster are doing."""

_DEATHS = 3
"""How often a group of work is given to a cluster again whose workers died while they had it."""

_GONE = "the scheduler is gone; the same command goes on from here"


def run(
    client: Client,
    todo: Sequence[Work],
    metrics: Sequence[str],
    results: Results,
    report: Report,
    note: Callable[[str], None],
    limits: Limits,
) -> None:
    """Do all of it on a cluster and keep each result as soon as it is there.

    What another runner on the same store is doing is left to it, and waited for.

    Parameters
    ----------
    client
        Of the cluster.
    todo
        What to do; see `unfinished`.
    metrics
        Names of the metrics to compute.
    results
        Where records and samples go.
    report
        Called with each record once it is kept, by whomever.
    note
        Called with what there is to say of the campaign itself.
    limits
        What one run may take.

    Raises
    ------
    StoreError
        If a result can't be written.
    EngineError
        If the scheduler is gone, or a worker can't start.
    """
    with Claims(results.path) as claims:
        campaign = _Campaign(client, metrics, results, report, note, limits, claims)
        campaign.run(todo)


class _Campaign:
    """The state of a campaign: what waits, and what is being done."""

    def __init__(
        self,
        client: Client,
        metrics: Sequence[str],
        results: Results,
        report: Report,
        note: Callable[[str], None],
        limits: Limits,
        claims: Claims,
    ) -> None:
        self._client = client
        self._metrics = list(metrics)
        self._results = results
        self._report = report
        self._note = note
        self._noted = ""
        self._limits = limits
        self._claims = claims
        self._line: deque[tuple[str, list[Work]]] = deque()
        self._running: dict[str, tuple[str, list[Work]]] = {}  # by the key of a future
        self._futures: dict[str, Any] = {}
        self._owed: dict[str, Work] = {}  # by the hash of a run
        self._deaths: dict[str, int] = {}  # by the key of a group
        self._inbox: SimpleQueue[Any] = SimpleQueue()  # results, and futures that have ended

    def run(self, todo: Sequence[Work]) -> None:
        self._line.extend(groups(todo).items())
        # What workers announce under the name of a client is forgotten when the client is gone.
        topic = self._client.id
        try:
            self._client.subscribe_topic(topic, self._announced)
            self._loop()
        except CommClosedError as error:
            raise EngineError(_GONE) from error
        finally:
            with suppress(CommClosedError):  # a scheduler that is gone has forgotten it
                self._client.unsubscribe_topic(topic)

    def _loop(self) -> None:
        while self._line or self._running:
            self._submit()
            try:
                came = self._inbox.get(timeout=_PAUSE)
            except Empty:
                continue
            if isinstance(came, Future):
                self._ended(came)
            else:
                self._keep(*came)

    def _announced(self, event: tuple[float, Any]) -> None:
        """Take what comes from the scheduler, which has things of its own to say, too."""
        if isinstance(event[1], bytes):
            self._inbox.put(pickle.loads(event[1]))

    def _submit(self) -> None:
        """Give the cluster as much as it can use, of what nobody else is doing."""
        threads = self._threads()
        room = max(1, _AHEAD * threads) - len(self._running)
        for _ in range(len(self._line)):
            if room <= 0:
                break
            key, group = self._line.popleft()
            if not self._claims.take(key):
                self._line.append((key, group))
            elif current := list(self._still_to_do(group)):
                self._give(key, group, current)
                room -= 1
            else:
                self._claims.give_back(key)
        waits = "waiting for workers" if not threads else ""
        if self._line and not self._running:
            waits = "waiting for what another runner on these results is doing"
        if waits and waits != self._noted:
            self._note(waits)
        self._noted = waits

    def _threads(self) -> int:
        """Return how many things the cluster can do at once."""
        try:
            return int(sum(self._client.nthreads().values()))
        except OSError as error:
            raise EngineError(_GONE) from error

    def _give(self, key: str, planned: list[Work], group: list[Work]) -> None:
        future = self._client.submit(
            work_here,
            group,
            self._metrics,
            self._limits,
            self._client.id,
            key=(name := f"{key}-{time.time_ns():x}"),
            pure=False,
        )
        self._running[name] = key, planned
        self._futures[name] = future
        self._owed |= {w.spec.id: w for w in group}
        future.add_done_callback(self._inbox.put)

    def _still_to_do(self, group: Sequence[Work]) -> Iterator[Work]:
        """Return what no other runner has done since the work was planned, with its samples."""
        for work in group:
            record, again = self._results.read(work.spec.id), work
            if record != work.seen:
                left = unfinished([work.spec], self._metrics, self._results)
                if not left:
                    assert record is not None
                    self._report(record)
                    continue
                again = left[0]
            if again.record is not None:
                samples = self._results.samples(work.spec.id)
                again = Work(again.spec) if samples is None else replace(again, samples=samples)
            yield replace(again, seen=None)

    def _keep(self, record: RunRecord, samples: np.ndarray | None) -> None:
        """Write a result, unless it was announced and has been written before."""
        work = self._owed.pop(record.spec.id, None)
        if work is None:
            return
        if work.record is None:
            self._results.write(record, samples)
        else:
            # Computed again or not at all: a value is given up for another one only.
            old = self._results.read(record.spec.id)
            self._results.update(record if old is None else record.keeping(old))
        self._report(record)

    def _ended(self, future: Any) -> None:
        """Keep what there is of a group whose work has ended, however it has."""
        del self._futures[future.key]
        key, planned = self._running.pop(future.key)
        left = [w for w in planned if w.spec.id in self._owed]
        status = future.status
        if status == "finished":
            for result in future.result():
                self._keep(*result)
        elif status == "error":
            error = future.exception()
            if isinstance(error, EngineError):
                raise error
            if isinstance(error, KilledWorker | Unwanted):  # or the scheduler has changed its mind
                self._again(key, left, died=isinstance(error, KilledWorker))
                return
            what = f"{type(error).__name__}: {error}"
            for work in [self._owed[w.spec.id] for w in left]:
                self._keep(given_up(work, self._metrics, "failed", what), None)
        elif status == "cancelled":
            raise EngineError(_GONE)
        else:  # done, but the worker that had the results died before they were fetched
            future.release()  # or dask would do the work again by itself
            self._again(key, left, died=True)
            return
        self._claims.give_back(key)

    def _again(self, key: str, left: list[Work], *, died: bool) -> None:
        """Do once more what is left of a group, unless workers die of it too often."""
        if not left:
            self._claims.give_back(key)
            return
        # What computes is a process of its own: that a worker dies is not the run's fault.
        self._deaths[key] = self._deaths.get(key, 0) + died
        if self._deaths[key] > _DEATHS:
            raise EngineError("workers of the cluster keep dying; look at what they say")
        self._line.append((key, left))
