"""What a run may take: time, softly and hard, and memory."""

from dataclasses import dataclass

from sbibench.core.errors import UsageError

GIB = 2**30


@dataclass(frozen=True)
class Limits:
    """What one run may take; None is no limit.

    Attributes
    ----------
    time
        Seconds for fitting and sampling, looked at between pieces of work: what there is when they
        are over is used.
    hard
        Seconds after which the process of a run is killed, whatever it does; fitting, sampling and
        each metric have this long. By default twice `time` and a minute, none without `time`.
    memory
        GiB that the process may hold, by default its share of the machine.
    """

    time: float | None = None
    hard: float | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        for what, value, unit in (
            ("time", self.time, "seconds"),
            ("hard", self.hard, "seconds"),
            ("memory", self.memory, "GiB"),
        ):
            if value is not None and not value > 0:
                raise UsageError(f"a {what} limit is a positive number of {unit}, not {value}")
        if self.time and self.hard and self.hard <= self.time:
            raise UsageError(
                f"the hard limit of {self.hard:g} s must be longer than the time limit of "
                f"{self.time:g} s"
            )
        if self.time and not self.hard:
            object.__setattr__(self, "hard", 2 * self.time + 60)
