"""Points of a contract: each is kept, broken with a reason and a way to mend it, or not for it."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import msgspec

from sbibench.core.errors import SbibenchError
from sbibench.runner.judge import how_it_failed


class BrokenError(SbibenchError):
    """A point of a contract is broken; the message says what was found."""


class NotApplicableError(SbibenchError):
    """A point of a contract asks for something that this subject does not have."""


@dataclass(frozen=True)
class Point:
    """One thing that is owed: a function of the subject that raises if it is not kept."""

    name: str
    examine: Callable[[Any], None]
    mend: str
    """What to do where it is broken."""

    def __str__(self) -> str:
        """Return the name as words."""
        return self.name.replace("_", " ")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of examining a point; `mend` is empty unless it is broken."""

    point: str
    status: Literal["passed", "failed", "skipped"]
    reason: str = ""
    mend: str = ""
    seconds: float = 0.0


class Contract:
    """The points that subjects of one kind owe, in the order in which they are written down."""

    def __init__(self) -> None:
        self.points: list[Point] = []

    def owes(self, mend: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
        """Return a decorator that makes of a function a point of its name."""

        def note(function: Callable[[Any], None]) -> Callable[[Any], None]:
            self.points.append(Point(function.__name__, function, mend))
            return function

        return note


def demand(kept: Any, found: str) -> None:
    """Raise `BrokenError` that says what was found, unless it is kept."""
    if not kept:
        raise BrokenError(found)


def not_for(reason: str) -> NoReturn:
    """Leave a point that does not apply, for this reason."""
    raise NotApplicableError(reason)


def refusal(
    wanted: type[BaseException] | tuple[type[BaseException], ...],
    function: Callable[..., Any],
    *arguments: Any,
) -> str:
    """Return the message of the error of this class that a call raises, or raise `BrokenError`."""
    try:
        returned = function(*arguments)
    except wanted as error:
        return str(error)
    raise BrokenError(f"it was accepted, with {type(returned).__name__} as the answer")


def examine(subject: Any, points: Sequence[Point]) -> Iterator[Outcome]:
    """Examine all points in turn; whatever somebody's own code raises breaks one point alone."""
    for point in points:
        start = time.perf_counter()
        status: Literal["passed", "failed", "skipped"] = "passed"
        reason, mend = "", ""
        try:
            point.examine(subject)
        except NotApplicableError as error:
            status, reason = "skipped", str(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as for an algorithm in a run
            status, reason, mend = "failed", how_it_failed(error)[1], point.mend
        seconds = math.floor(1000 * (time.perf_counter() - start)) / 1000
        yield Outcome(point=str(point), status=status, reason=reason, mend=mend, seconds=seconds)
