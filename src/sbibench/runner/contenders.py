"""Who takes part in a comparison: algorithms by name or as objects, and their runs."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

from sbibench.core import registry, settings
from sbibench.core.errors import UsageError
from sbibench.core.run import RunSpec
from sbibench.core.task import Task


@dataclass(frozen=True)
class Contender:
    """An algorithm, the name that it is found under, and what tables call it."""

    label: str
    name: str
    algorithm: Any


Named = str | Any
"""The name of an algorithm, or one with its settings."""


def contender(what: Named, label: str = "", preset: str = "default") -> Contender:
    """Return a contender; `preset` is for one that is given by its name.

    Raises
    ------
    UsageError
        If there is no algorithm of this name, or it is none.
    """
    if isinstance(what, Contender):
        return what
    if isinstance(what, str):
        algorithm = registry.ALGORITHMS.preset(what, preset)
        shown = what if algorithm == type(algorithm)() else f"{what} {preset}"
        return Contender(label or shown, what, algorithm)
    if isinstance(what, type) and is_dataclass(what):
        what = what()  # with its default settings
    cls = type(what)
    if not is_dataclass(what) or not hasattr(what, "fit"):
        raise UsageError(
            "an algorithm is a name, a frozen dataclass of settings with a method `fit`, or "
            f"sb.from_function(f), not {what!r}"
        )
    module, name = cls.__module__, f"{cls.__module__}:{cls.__qualname__}"
    if module.startswith("sbibench.algorithms."):
        name = module.rpartition(".")[2]
    return Contender(label or settings.label(name.rpartition(":")[2], what), name, what)


def contenders(algorithms: Sequence[Named] | Mapping[str, Named]) -> list[Contender]:
    """Return those who take part, each under a label of its own.

    Raises
    ------
    UsageError
        If there are none, one is no algorithm, or two differ but have the same label.
    """
    if isinstance(algorithms, str):
        raise UsageError(f"algorithms are a list, as [{algorithms!r}]")
    if isinstance(algorithms, Mapping):
        found = [contender(what, label) for label, what in algorithms.items()]
    else:
        found = list(dict.fromkeys(contender(what) for what in algorithms))
    if not found:
        raise UsageError("there is no algorithm to compare")
    labels = [c.label for c in found]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(
                f"two different algorithms are called {label!r}; give labels: "
                "{'one': ..., 'another': ...}"
            )
    return found


def is_registered(task: Task) -> bool:
    """Return whether a task is the one that everybody gets by its name."""
    return task.name in registry.TASKS.names() and registry.TASKS.get(task.name) is task


def runs_of(
    found: Sequence[Contender],
    task: Task,
    name: str,
    budgets: Sequence[int],
    observation: int,
    seed: int,
    samples: int,
) -> list[tuple[Contender, RunSpec]]:
    """Return each contender with its runs of the task of this name, the smallest budget first.

    Raises
    ------
    UsageError
        If a run can't be made of this.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError(f"a seed is a whole number, 0 or more, not {seed!r}")
    if samples < 1:
        raise UsageError(f"samples are 1 or more, not {samples}")
    if not budgets:
        raise UsageError("there is no budget")
    runs = []
    for budget, c in itertools.product(sorted(set(budgets)), found):
        task.problem(observation, budget)  # says what is impossible
        run = RunSpec(
            task=name,
            task_version=task.version,
            fingerprint="" if is_registered(task) else task.fingerprint,
            algorithm=c.name,
            settings=settings.as_dict(c.algorithm),
            label=c.label,
            budget=int(budget),
            observation=observation,
            seed=seed,
            samples=samples,
        )
        try:
            _ = run.id
        except TypeError as error:
            raise UsageError(f"settings of {c.label} must be plain values: {error}") from error
        runs.append((c, run))
    by_id: dict[str, Contender] = {}
    for c, run in runs:
        other = by_id.setdefault(run.id, c)
        if other.algorithm != c.algorithm or type(other.algorithm) is not type(c.algorithm):
            raise UsageError(
                f"{other.label} and {c.label} are both {c.name} with the same settings; give their "
                "functions names of their own in a module, or a different `version`"
            )
    return runs
