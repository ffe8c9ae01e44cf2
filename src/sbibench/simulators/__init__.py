"""Ways to bring a simulator: each makes a value that a Task takes as `simulate_batch`."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sbibench.simulators.existing import stored
    from sbibench.simulators.function import rowwise
    from sbibench.simulators.pool import SimulationWarning, parallel
    from sbibench.simulators.program import command

__all__ = ["SimulationWarning", "command", "parallel", "rowwise", "stored"]

_HOMES = {
    "SimulationWarning": "pool",
    "command": "program",
    "parallel": "pool",
    "rowwise": "function",
    "stored": "existing",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: a process that runs one kind need not load the others."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sbibench.simulators' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sbibench.simulators.{_HOMES[name]}"), name)
