"""What ten times the simulations would cost, learned from the runs that were made."""

import math
from collections.abc import Sequence

import numpy as np

from sbibench.core.comparison import Forecast, Slope
from sbibench.core.entry import Entry
from sbibench.core.words import duration, nats

STEEPEST = 2.0
"""The largest power of the number of simulations with which the time of a fit is said to grow."""

SHARE = 0.1
"""Part of the time from which on simulating is worth a mention."""


def forecasts(entries: Sequence[Entry], pair_seconds: float) -> list[Forecast]:
    """Return for each method what its tenfold largest budget is likely to take.

    Simulating takes the median time of one simulation at the largest number of them; what fits
    take besides grows as it did between the two largest budgets, or as the budget does; sampling
    and compilation stay as they are. Methods whose runs all failed have none.

    Parameters
    ----------
    entries
        Of all methods and budgets.
    pair_seconds
        Of one simulation of the pairs, for methods that simulated nothing.
    """
    ran = [e for e in entries if e.record.status == "done"]
    found = []
    for label in dict.fromkeys(e.label for e in ran):
        own = sorted((e for e in ran if e.label == label), key=lambda e: e.budget)
        last = own[-1]
        budget = 10 * last.budget
        power, learned = 1.0, False
        if len(own) > 1 and min(_fit(own[-2]), _fit(last)) > 0:
            ratio = math.log(last.budget / own[-2].budget)
            power = math.log(_fit(last) / _fit(own[-2])) / ratio
            power, learned = min(max(power, 0.0), STEEPEST), True
        calls = budget * last.record.calls / last.budget
        seconds = {
            "simulate": calls * _a_simulation(ran, pair_seconds),
            "fit": _compile(last) + _fit(last) * 10**power,
            "sample": last.record.seconds.get("sample", 0.0),
        }
        found.append(Forecast(label=label, budget=budget, seconds=seconds, learned=learned))
    return found


def _compile(entry: Entry) -> float:
    """Return the seconds of compilation that are counted in the fit."""
    seconds = entry.record.seconds
    return min(seconds.get("compile", 0.0), seconds.get("fit", 0.0))


def _fit(entry: Entry) -> float:
    """Return the seconds of the fit that depend on the budget."""
    return entry.record.seconds.get("fit", 0.0) - _compile(entry)


def _a_simulation(entries: Sequence[Entry], pair_seconds: float) -> float:
    most = max(e.record.calls for e in entries)
    if not most:
        return pair_seconds
    each = [e.record.seconds.get("simulate", 0.0) / most for e in entries if e.record.calls == most]
    return float(np.median(each))


def costs(found: Sequence[Forecast], slopes: Sequence[Slope]) -> list[str]:
    """Return in sentences what the next factor of ten costs, and what the last one brought."""
    said = []
    for slope in slopes:
        low, high = slope.budgets
        brought = (
            f"improved by {nats(-slope.change, slope.error)} for each factor of ten"
            if slope.change < -2 * slope.error
            else f"did not clearly improve ({nats(-slope.change, slope.error)} a factor of ten)"
        )
        said.append(f"{slope.label}: from {low:,} to {high:,} simulations its NLTP {brought}.")
    for budget in sorted({f.budget for f in found}):
        each = [f for f in found if f.budget == budget and sum(f.seconds.values()) > 0.5]
        if not each:
            continue
        took = ", ".join(f"{f.label} {duration(sum(f.seconds.values()))}" for f in each)
        share = [f.seconds["simulate"] / sum(f.seconds.values()) for f in each]
        simulate = (
            f" (simulating is {duration(max(f.seconds['simulate'] for f in each))} of it)"
            if max(share) > SHARE
            else ""
        )
        guess = "" if all(f.learned for f in each) else ", if fits grow as the simulations do"
        said.append(
            f"The next factor of ten, {budget:,} simulations, would take about: "
            f"{took}{simulate}{guess}."
        )
    return said
