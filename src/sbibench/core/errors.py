"""Everything that can go wrong by design, each with a status that a record can carry."""

from typing import ClassVar

from sbibench.core.run import Status


class SbibenchError(Exception):
    """Something failed in a way that is understood; the message says what and how to mend it."""

    status: ClassVar[Status] = "failed"


class UsageError(SbibenchError, ValueError):
    """The caller asked for something that does not exist or makes no sense."""


class NoneSucceededError(UsageError):
    """Of simulations that may fail one by one, all did."""


class BudgetExceededError(SbibenchError):
    """More simulations were asked for than the budget allows; none of them was run."""

    status = "budget_exceeded"


class DeadlineError(SbibenchError):
    """The time allowed for the run is over."""

    status = "timeout"


class SimulationError(SbibenchError):
    """Somebody's own simulator raised an error."""


class InvalidSimulationsError(SbibenchError):
    """Simulations came out NaN or infinite, and the algorithm does not accept that."""


class SamplingError(SbibenchError):
    """A sampler reached its cap before it had all the samples asked for."""


class NoReferenceError(SbibenchError):
    """The true posterior of this task and observation is not available."""


class StoreError(SbibenchError, OSError):
    """Something can't be written: a full disk, a quota, a directory that was taken away."""


class EngineError(SbibenchError):
    """What does the work is gone or can't start: a scheduler, a worker."""
