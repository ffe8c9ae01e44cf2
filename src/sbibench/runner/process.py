"""A process that computes, and the one that watches it: what it does can end it, but nothing else.

It is started once and does one piece of work after the other, since importing JAX takes seconds.
It is killed, with whatever it has started itself, when it takes too long or too much memory, and
when nobody wants its result any more. When the process that watches dies, of whatever, it dies too.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from typing import Any

import psutil

from sbibench.core.errors import EngineError
from sbibench.core.run import Status
from sbibench.runner.limits import GIB, Limits

# One thread for XLA: networks this small are faster on one core than on two, two processes side by
# side use two cores fully, and sums come out the same however many cores there are. (XLA takes the
# size of its thread pool from NPROC; its flags for this have no effect on a CPU any more.)
ONE_THREAD = {"NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

INSIDE = "SBIBENCH_INSIDE"
"""Set in the environment of a process that computes, and so of all that it starts."""

_START = Limits(hard=300.0)
"""Importing everything from a shared file system that many others read takes its time."""

_STARTS = 10
"""How often a process is started that somebody kills while it starts."""

_LOOK = 0.1
"""Seconds between two looks at what a process takes."""

_MAIN = (
    "import sys; sys.path[:] = {path!r}; from sbibench.runner.serve import serve; "
    "serve({pipe}, {lifeline})"
)


class Ended(Exception):  # noqa: N818 - no error of ours: what became of a process
    """A process has ended in the middle of its work: killed here, or for a reason of its own.

    Attributes
    ----------
    status, reason
        What to say of the work.
    foreign
        Whether it was killed by somebody else: perhaps that has nothing to do with its work.
    """

    def __init__(self, status: Status, reason: str, *, foreign: bool = False) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason
        self.foreign = foreign


class Unwanted(Exception):  # noqa: N818 - as above
    """Nobody waits for the result any more; the process was killed."""


Wanted = Callable[[], bool]


class Process:
    """A process that computes; see `serve` for what it understands.

    Parameters
    ----------
    wanted
        Whether anybody waits for it.
    main
        Its program, another than that of `serve`; {path}, {pipe} and {lifeline} are filled in.

    Raises
    ------
    Ended
        If it ends while it starts.
    EngineError
        If the machine can't start one.
    """

    def __init__(self, wanted: Wanted, main: str | None = None) -> None:
        try:
            self._pipe, theirs = Pipe()
            lifeline, self._lifeline = os.pipe()
        except OSError as error:
            raise EngineError(f"no process can be started: {error}") from error
        try:
            text = (main or _MAIN).format(
                path=[*sys.path, ""], pipe=theirs.fileno(), lifeline=lifeline
            )
            self._popen = subprocess.Popen(
                [sys.executable, "-c", text],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what it prints is no output of ours
                env=os.environ | ONE_THREAD | {INSIDE: "1"},
                pass_fds=(theirs.fileno(), lifeline),
                start_new_session=True,  # a Ctrl-C is for the process that watches
            )
        except OSError as error:
            self._pipe.close()
            os.close(self._lifeline)
            raise EngineError(f"no process can be started: {error}") from error
        finally:
            theirs.close()
            os.close(lifeline)
        try:
            self.facts: tuple[dict[str, str], dict[str, Any]] = self.receive(_START, wanted)
            """Versions and machine, for records."""
        except BaseException:
            self.kill()
            raise

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    @property
    def memory(self) -> int:
        """The bytes that it holds."""
        with suppress(psutil.Error):
            return int(psutil.Process(self._popen.pid).memory_info().rss)
        return 0

    def send(self, message: Any) -> None:
        """Give it something to do.

        Raises
        ------
        Ended
            If it is dead.
        """
        try:
            self._pipe.send(message)
        except OSError:
            raise self._obituary() from None

    def receive(self, limits: Limits, wanted: Wanted) -> Any:
        """Return the next thing that it has to say.

        Raises
        ------
        Ended
            If it ends before, or takes more than it may.
        Unwanted
            If `wanted` says so.
        """
        start = time.monotonic()
        while not self._pipe.poll(_LOOK):
            if not self.alive and not self._pipe.poll():
                raise self._obituary()  # what it has started may hold the pipe open
            if limits.hard and time.monotonic() - start > limits.hard:
                raise Ended("timeout", f"killed after {limits.hard:g} s, the hard limit")
            if limits.memory and self.memory > limits.memory * GIB:
                raise Ended(
                    "out_of_memory",
                    f"killed for using more memory than its limit, {limits.memory:.3g} GiB",
                )
            if not wanted():
                raise Unwanted
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            raise self._obituary() from None

    def _obituary(self) -> Ended:
        """Return what it died of."""
        try:
            code = self._popen.wait(1)
        except subprocess.TimeoutExpired:
            return Ended("failed", "its process closed the pipe to the one that watches it")
        if code >= 0:
            return Ended("failed", f"its process ended by itself, with exit status {code}")
        with suppress(ValueError):
            name = signal.Signals(-code).name
            return Ended("failed", f"its process was killed by {name}", foreign=True)
        return Ended("failed", f"its process was killed by signal {-code}", foreign=True)

    def kill(self) -> None:
        """End it and what it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        self._pipe.close()
        os.close(self._lifeline)


_idle: dict[str | None, list[Process]] = {}
"""By their program."""


@contextmanager
def borrowed(limits: Limits, wanted: Wanted, main: str | None = None) -> Iterator[Process]:
    """Give a process, an idle one or a new one; if an error comes out of its use, it is killed."""
    idle = _idle.setdefault(main, [])
    while process := _taken(idle):
        # Compiled programs and what libraries keep add up; that is no fault of the next run.
        if process.alive and not (limits.memory and process.memory > limits.memory * GIB / 2):
            break
        process.kill()
    process = process or _started(wanted, main)
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    idle.append(process)


def _started(wanted: Wanted, main: str | None) -> Process:
    """Return a new process, or another if somebody kills it before it can do anything."""
    for _ in range(_STARTS):
        try:
            return Process(wanted, main)
        except Ended as end:
            reason = end.reason
            if not end.foreign:
                break
    raise EngineError(f"a worker can't start: {reason}; what it said is above")


def dismiss() -> None:
    """End the idle processes."""
    for idle in list(_idle.values()):
        while process := _taken(idle):
            process.kill()


def _taken(idle: list[Process]) -> Process | None:
    """Take an idle process, if there is one that no other thread takes."""
    try:
        return idle.pop()
    except IndexError:
        return None
