"""Which contract somebody's object is held to, found by what it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sbibench.contract import algorithms, checks, hard_cases, likelihoods, metrics, tasks
from sbibench.contract.candidate import Candidate
from sbibench.contract.metrics import Judge
from sbibench.contract.points import Point
from sbibench.contract.tasks import Model
from sbibench.core import registry
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown


@dataclass(frozen=True)
class Noun:
    """A kind of thing, how one of it is examined, and the points that it owes."""

    kind: registry.Kind
    subject: Callable[[str], Any]
    points: Sequence[Point]


NOUNS = {
    "task": Noun(registry.TASKS, Model, [*tasks.CONTRACT.points, *likelihoods.CONTRACT.points]),
    "algorithm": Noun(
        registry.ALGORITHMS, Candidate, [*algorithms.CONTRACT.points, *hard_cases.CONTRACT.points]
    ),
    "metric": Noun(
        registry.METRICS, lambda name: Judge(registry.METRICS, name), metrics.CONTRACT.points
    ),
    "check": Noun(
        registry.CHECKS, lambda name: Judge(registry.CHECKS, name), checks.CONTRACT.points
    ),
}


def noun_of(name: str, wanted: str | None = None) -> str:
    """Return what a name or address is: task, algorithm, metric or check.

    Raises
    ------
    UsageError
        If it is nothing, none of these, more than one, or not what is wanted.
    """
    if wanted is not None:
        if wanted not in NOUNS:
            raise unknown("kind", wanted, NOUNS)
        NOUNS[wanted].kind.get(name)
        return wanted
    fits = _at(name) if ":" in name else [n for n, v in NOUNS.items() if name in v.kind.names()]
    if not fits:
        raise unknown(
            "task, algorithm, metric or check",
            name,
            {known for noun in NOUNS.values() for known in noun.kind.names()},
        )
    if len(fits) > 1:
        raise UsageError(f"{name} is {' and '.join(fits)}; say which by --kind")
    return fits[0]


def _at(address: str) -> list[str]:
    """Return what the object at an address is."""
    fits, errors = [], []
    for noun, what in NOUNS.items():
        try:
            found = what.kind.get(address)
        except UsageError as error:
            errors.append(str(error).replace(f"{noun}s of your own", "what is your own"))
            continue
        needs = set(getattr(found, "needs", ()))
        if noun == "metric" and needs and needs <= checks.FIELDS - metrics.FIELDS:
            continue
        if noun == "check" and needs and needs <= metrics.FIELDS:
            continue
        fits.append(noun)
    if fits:
        return fits
    particular = [e for e in errors if not e.startswith(f"{address} is no ")]
    if particular:
        raise UsageError(particular[0])
    raise UsageError(
        f"{address} is no task, algorithm, metric or check: it should be a Task, or the class "
        "itself (no instance) of a frozen dataclass of settings, with `fit` for an algorithm and "
        "`needs` for a metric or a check; sb.from_function makes an algorithm of a function"
    )
