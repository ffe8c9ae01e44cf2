"""One method with one budget in a comparison, and all that was found of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sbibench.core.finding import Finding
from sbibench.core.run import RunRecord


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One method with one budget, and what is known of it.

    Attributes
    ----------
    label
        What tables call the method.
    record
        Of its run: status and reason, simulations, seconds by stage.
    judged
        How the posteriors of the pairs came about: "one fit" was asked at all data, or a "refit"
        made for each; None where there are none.
    why_not
        Why it was not asked at the pairs.
    at, log_probs_true
        Numbers of the pairs [n] that it was judged by, and log densities at their parameters [n];
        None without densities.
    density_missing
        Why there are none.
    missed
        At how many pairs its posterior could not be had.
    checks
        What each check found, or why it could not be made.
    distance, distance_error, distance_missing
        Median distance of posterior predictive draws from the observation, its standard error, or
        why there is none.
    judging
        Seconds that the pairs took.
    names
        Of the parameters.
    """

    label: str
    record: RunRecord
    judged: Literal["one fit", "refit"] | None = None
    why_not: str = ""
    at: np.ndarray | None = None
    log_probs_true: np.ndarray | None = None
    density_missing: str = ""
    missed: int = 0
    checks: Mapping[str, Finding | str] = field(default_factory=dict)
    distance: float | None = None
    distance_error: float | None = None
    distance_missing: str = ""
    judging: float = 0.0
    names: tuple[str, ...] | None = None

    @property
    def budget(self) -> int:
        """The simulations allowed for the fit."""
        return self.record.spec.budget

    @property
    def seconds(self) -> float:
        """Seconds of simulating, fitting and sampling at the observation."""
        return sum(self.record.seconds.get(stage, 0.0) for stage in ("simulate", "fit", "sample"))

    def plain(self, *, arrays: bool = True) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; `arrays` are what charts draw."""
        checks: dict[str, Any] = {}
        for name, finding in self.checks.items():
            checks[name] = {"missing": finding} if isinstance(finding, str) else finding.plain()
            if not arrays:
                checks[name].pop("arrays", None)
        record = self.record
        return {
            "label": self.label,
            "run": record.spec.id,
            "task": record.spec.task,
            "algorithm": record.spec.algorithm,
            "settings": record.spec.settings,
            "budget": self.budget,
            "status": record.status,
            "reason": record.reason,
            "simulations": record.calls,
            "invalid": record.invalid,
            "seconds": dict(record.seconds) | {"judging": self.judging},
            "judged": self.judged,
            "why_not": self.why_not,
            "pairs": None if self.at is None else len(self.at),
            "missed": self.missed,
            "checks": checks,
            "predictive_distance": {
                "value": self.distance,
                "error": self.distance_error,
                "missing": self.distance_missing,
            },
        }
