"""A part of a suite: the runs of some tasks, algorithms, budgets or observations."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.core.run import RunSpec


@dataclass(frozen=True, kw_only=True)
class Part:
    """What to take of a suite; nothing named means all.

    Attributes
    ----------
    tasks
        Names of tasks.
    algorithms
        What the suite calls them.
    budgets
        Numbers of simulations.
    observations
        Numbers of observations.
    """

    tasks: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    budgets: tuple[int, ...] = ()
    observations: tuple[int, ...] = ()

    def of(self, runs: Sequence[RunSpec]) -> list[RunSpec]:
        """Return the runs that are meant, in their order.

        Raises
        ------
        UsageError
            If something is named that is in none of the runs.
        """
        chosen = list(runs)
        for field, attribute in zip(fields(self), _ATTRIBUTES, strict=True):
            wanted = getattr(self, field.name)
            there = dict.fromkeys(getattr(run, attribute) for run in runs)
            for name in wanted:
                if name in there:
                    continue
                what = f"{field.name.removesuffix('s')} of the suite"
                if isinstance(name, str):
                    raise unknown(what, name, there)
                raise UsageError(f"no {what} is {name}; there are {', '.join(map(str, there))}")
            if wanted:
                chosen = [run for run in chosen if getattr(run, attribute) in wanted]
        return chosen


_ATTRIBUTES = ("task", "label", "budget", "observation")
