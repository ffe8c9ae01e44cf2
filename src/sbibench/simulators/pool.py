"""Slow or fragile simulators: many at once over dask, kept on disk, each in a process of its own.

What runs a simulation is a process that can be killed (`runner/process.py`), so that one that
raises, hangs or crashes costs only itself.
"""

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sbibench.core.errors import NoneSucceededError, UsageError
from sbibench.core.fingerprint import fingerprint
from sbibench.simulators.kept import Ended, Kept, key_of, opened
from sbibench.simulators.rows import seeds
from sbibench.simulators.workers import Workers

Pieces = Generator[np.ndarray, None, None]


class SimulationWarning(UserWarning):
    """Simulations have failed; their data are NaN."""


class Parallel:
    """See `parallel`.

    Attributes
    ----------
    reasons
        Why simulations failed, and how many for each reason.
    ran, reused
        Simulations that were run, and those that were found in the folder.
    """

    rows_apart = True

    def __init__(
        self,
        simulator: Callable[..., Any],
        workers: int | None,
        seconds: float | None,
        folder: Path | None,
        scheduler: str | None,
        *,
        retry: bool,
    ) -> None:
        self.simulator = simulator
        self._made_with = (workers, seconds, folder, scheduler)
        self._folder, self._retry = folder, retry
        self.workers = Workers(workers, scheduler, seconds)
        self.reasons: Counter[str] = Counter()
        self.ran = self.reused = 0
        self._p: int | None = None

    @property
    def identity(self) -> Callable[..., Any]:
        """What results depend on."""
        return self.simulator

    def __reduce__(self) -> Any:
        """Return what a copy in another process is made of: no cluster, no counts."""
        return _again, (self.simulator, *self._made_with, self._retry)

    def __call__(self, rng: np.random.Generator, thetas: np.ndarray) -> np.ndarray:
        """Return x [n, p] of θ [n, d], NaN where the simulation failed."""
        return np.concatenate([piece for piece in self.stream(rng, thetas) if len(piece)])

    def stream(self, rng: np.random.Generator, thetas: np.ndarray) -> Pieces:
        """Yield the data of all rows in their order, as they come; empty pieces in between.

        Raises
        ------
        NoneSucceededError
            If all of them fail, and none has ever succeeded.
        """
        given = list(zip(seeds(rng, len(thetas)), np.asarray(thetas, np.float64), strict=True))
        failed: Counter[str] = Counter()
        done: dict[int, Ended] = {}
        sent = 0
        with contextlib.ExitStack() as stack:
            kept = None
            if self._folder is not None:
                kept = stack.enter_context(opened(self._folder, fingerprint(self.simulator)))
            for number, ended in self._all(given, kept):
                if number is not None:
                    done[number] = ended
                    if ended.x is None:
                        failed[ended.reason] += 1
                    elif self._p is None:
                        self._p = len(ended.x)
                piece = []
                while self._p is not None and sent in done:
                    piece.append(self._row(done.pop(sent), self._p))
                    sent += 1
                yield np.array(piece).reshape(len(piece), self._p or 0)
        self._report(failed, len(given))
        if sent < len(given):
            reason, _ = failed.most_common(1)[0]
            raise NoneSucceededError(f"all {len(given)} simulations failed: {reason}")

    def _row(self, ended: Ended, p: int) -> np.ndarray:
        if ended.x is not None and len(ended.x) != p:
            raise UsageError(
                f"the simulator returned {len(ended.x)} numbers, and {p} before; return as many "
                "for every θ, NaN where there is none"
            )
        return np.full(p, np.nan) if ended.x is None else ended.x

    def _report(self, failed: Counter[str], n: int) -> None:
        self.reasons += failed
        if failed:
            some = "; ".join(f"{times} x {why}" for why, times in failed.most_common(3))
            warnings.warn(
                f"{failed.total()} of {n} simulations failed and are NaN: {some}",
                SimulationWarning,
                stacklevel=3,
            )

    def _all(
        self, given: Sequence[tuple[int, np.ndarray]], kept: Kept | None
    ) -> Iterator[tuple[int | None, Ended]]:
        """Yield number and end of each simulation, those that are kept first; None is no news."""
        found = kept.find([key_of(*row) for row in given]) if kept else {}
        todo = []
        for number, row in enumerate(given):
            ended = found.get(key_of(*row))
            if ended is None or (self._retry and ended.x is None):
                todo.append(number)
            else:
                self.reused += 1
                yield number, ended
        for came, ended in self.workers.run(self.simulator, given, todo):
            if came is not None:
                self.ran += 1
                if kept:
                    kept.keep(*given[came], ended)
            yield came, ended


def _again(simulator: Callable[..., Any], *where: Any) -> Parallel:
    *rest, retry = where
    return Parallel(simulator, *rest, retry=retry)


def parallel(
    simulator: Callable[..., Any],
    *,
    workers: int | None = None,
    seconds: float | None = None,
    folder: str | Path | None = None,
    scheduler: str | None = None,
    retry: bool = False,
) -> Parallel:
    """Return a `simulate_batch` that runs many rows at once and costs no more than a failed row.

    Row i's seed depends on the key and i, so results are the same whatever the number of workers,
    and the same as those of `rowwise` or `command` alone. A row that raises, takes too long or ends
    its process becomes NaN; how many and why is warned of, and in `reasons`. Progress is reported
    and deadlines are looked at between rows.

    Parameters
    ----------
    simulator
        What `rowwise` or `command` returns, or a `simulate_batch`, which then gets batches of one.
        It is sent to other processes: a function of a module, or one that cloudpickle knows.
    workers
        Processes on this machine, by default one for each core. Within a run of a suite it is one,
        since the suite has a run on each core already.
    seconds
        After which a simulation is killed; None for no limit.
    folder
        Where finished simulations are kept, failed ones, too; a θ and seed that is there is not
        simulated again. It belongs to one simulator.
    scheduler
        The address of a dask scheduler whose workers simulate, in place of this machine; so all
        runs of a suite can share one cluster.
    retry
        Whether simulations that failed before are tried again.

    Raises
    ------
    UsageError
        If an argument is not possible.
    """
    if not callable(simulator):
        raise UsageError(f"a simulator is a function, not {type(simulator).__name__}")
    if workers is not None and workers < 1:
        raise UsageError(f"workers are 1 or more, not {workers}")
    if seconds is not None and not seconds > 0:
        raise UsageError(f"seconds are positive, not {seconds!r}")
    if workers is not None and scheduler is not None:
        raise UsageError("say one of workers and scheduler")
    place = None if folder is None else Path(folder)
    return Parallel(simulator, workers, seconds, place, scheduler, retry=retry)
