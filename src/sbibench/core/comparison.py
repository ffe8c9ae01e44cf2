"""What a comparison of methods without a true posterior found: values that reports draw."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sbibench.core.entry import Entry

Place = Literal["best", "tied", "worse", "faulty", "uninformative", "unranked", "failed"]
"""Where a verdict puts a method: `unranked` are those with no fault, but no density either, or not
asked; `uninformative` those with no fault that are no better than the prior."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """How much larger the NLTP of a method is than that of another, in nats.

    Attributes
    ----------
    mean, error
        Over the pairs that both were asked at, and its standard error; `mean` above 0 is worse.
    pairs
        How many those are.
    """

    mean: float
    error: float
    pairs: int


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What follows for the methods with one budget.

    Attributes
    ----------
    budget
        The budget.
    against
        The method that others are measured against: the best, or the least bad; None if none has a
        density.
    places
        Where each method stands.
    gaps
        Of each method to `against`.
    text
        The same in sentences, the first of which is the verdict.
    """

    budget: int
    against: str | None
    places: Mapping[str, Place]
    gaps: Mapping[str, Gap]
    text: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Slope:
    """How the NLTP of a method changed between its two largest budgets.

    Attributes
    ----------
    label, budgets
        The method and the two budgets.
    change, error
        Of the NLTP, in nats, a factor of ten in simulations, with its standard error over pairs;
        below 0 is better.
    """

    label: str
    budgets: tuple[int, int]
    change: float
    error: float


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a method is likely to take with ten times the simulations of its largest budget.

    Attributes
    ----------
    label, budget
        The method and the tenfold budget.
    seconds
        By stage: simulate, fit, sample.
    learned
        Whether the growth of the fit's time was learned from two budgets; else it is taken to grow
        as the simulations do.
    """

    label: str
    budget: int
    seconds: Mapping[str, float]
    learned: bool


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What `sbibench.compare` found: `print` tells it in words, `plain` returns it as data.

    Attributes
    ----------
    task, observation, seed
        What was compared, and by which randomness.
    facts
        Numbers by name: pairs, draws of each, tests, simulations spent on pairs, how many of them
        were not finite, simulations spent on predictive distances in all, refits.
    level
        The chance that any of the tests finds fault where there is none, in all of the table.
    prior_distance
        Median distance of the data of the pairs, draws of the prior predictive, from the
        observation.
    entries, verdicts, slopes, forecasts
        For each method and budget, each budget, each method with two budgets, each method.
    cautions
        What all of this can't tell.
    """

    task: str
    observation: int
    seed: int
    facts: Mapping[str, int]
    level: float
    prior_distance: float
    entries: tuple[Entry, ...]
    verdicts: tuple[Verdict, ...]
    slopes: tuple[Slope, ...]
    forecasts: tuple[Forecast, ...]
    costs: tuple[str, ...]
    cautions: tuple[str, ...]

    @property
    def text(self) -> tuple[str, ...]:
        """The verdicts, what more simulations would cost, and cautions, in sentences."""
        said = [line for verdict in self.verdicts for line in verdict.text]
        return (*said, *self.costs, *self.cautions)

    def __str__(self) -> str:
        """Return the sentences, each on a line."""
        return "\n".join(self.text)

    def plain(self, *, arrays: bool = True) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; `arrays` are what charts draw."""
        return {
            "task": self.task,
            "observation": self.observation,
            "seed": self.seed,
            "facts": dict(self.facts),
            "level": self.level,
            "prior_distance": self.prior_distance,
            "parameters": next((e.names for e in self.entries if e.names), None),
            "entries": [entry.plain(arrays=arrays) for entry in self.entries],
            "verdicts": [
                {
                    "budget": v.budget,
                    "against": v.against,
                    "places": dict(v.places),
                    "gaps": {label: vars(gap) for label, gap in v.gaps.items()},
                    "text": list(v.text),
                }
                for v in self.verdicts
            ],
            "slopes": [vars(s) | {"budgets": list(s.budgets)} for s in self.slopes],
            "forecasts": [vars(f) | {"seconds": dict(f.seconds)} for f in self.forecasts],
            "costs": list(self.costs),
            "cautions": list(self.cautions),
        }
