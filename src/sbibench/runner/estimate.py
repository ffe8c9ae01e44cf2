"""How long what is left of a campaign will take, learned from the records of what is done."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sbibench.core.run import RunRecord, RunSpec


class TimeLeft(NamedTuple):
    """An estimate of the time that runs take."""

    seconds: float
    """Of all runs that there is an estimate for, over the number of workers."""
    unknown: int
    """Runs without an estimate: no run of their algorithm is on record."""


def time_left(todo: Sequence[RunSpec], records: Iterable[RunRecord], workers: int = 1) -> TimeLeft:
    """Estimate the time that runs will take on so many workers.

    A run takes the mean time of those with the same algorithm, task and budget; where there are
    none, of those on any task; where there are none either, that of the nearest budget, in
    proportion.
    """
    seconds: dict[tuple[str, str, int], list[float]] = {}
    for record in records:
        s = record.spec
        took = sum(v for stage, v in record.seconds.items() if stage != "compile")
        if took and record.status in {"done", "timeout"}:  # others may have ended at once
            seconds.setdefault((s.algorithm, s.task, s.budget), []).append(took)
    guesses = {
        kind: _guess(seconds, *kind) for kind in {(s.algorithm, s.task, s.budget) for s in todo}
    }
    known = [g for s in todo if (g := guesses[s.algorithm, s.task, s.budget]) is not None]
    return TimeLeft(sum(known) / workers, len(todo) - len(known))


def _guess(
    seconds: dict[tuple[str, str, int], list[float]], algorithm: str, task: str, budget: int
) -> float | None:
    if (algorithm, task, budget) in seconds:
        return _mean(seconds[algorithm, task, budget])
    found: dict[int, list[float]] = {}
    for (a, _, b), values in seconds.items():
        if a == algorithm:
            found.setdefault(b, []).extend(values)
    if not found:
        return None
    nearest = min(found, key=lambda b: abs(math.log(b / budget)))
    return _mean(found[nearest]) * budget / nearest


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def in_words(seconds: float) -> str:
    """Return a time as people say it: 40 s, 5 min, 2 h 10 min, 3 days 4 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h" if days > 1 else f"1 day {hours} h"
