"""A point in time after which a run must stop."""

import math
import time
from dataclasses import dataclass

from sbibench.core.errors import DeadlineError, UsageError


@dataclass(frozen=True)
class Deadline:
    """A point on the monotonic clock, looked at between pieces of work."""

    at: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """Return the deadline this many seconds from now; `None` means never.

        Raises
        ------
        UsageError
            If this is no positive number.
        """
        if seconds is not None and not seconds > 0:
            raise UsageError(f"a time limit is a positive number of seconds, not {seconds!r}")
        return cls(math.inf if seconds is None else time.monotonic() + seconds)

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.at

    def check(self, doing: str) -> None:
        """Raise `DeadlineError` if the time is over; `doing` says what was interrupted."""
        if self.passed:
            raise DeadlineError(f"the time limit was reached while {doing}")


FOREVER = Deadline()
