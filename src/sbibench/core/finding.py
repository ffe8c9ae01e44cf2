"""What a calibration check finds: numbers, a verdict in words, and what its chart draws."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LEVEL = 0.01
"""Where a check finds fault: once in a hundred times with a posterior that has none."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of a check.

    Attributes
    ----------
    statistic
        The number for tables; the check's docstring says which.
    p_value
        How rarely a calibrated posterior fares as badly, in all the tests that the check makes
        together; None for a check that measures and does not test.
    passed
        Whether no fault was found; None where that is not for the check to say.
    level
        How often a calibrated posterior is found faulty; None for a check that does not test.
    verdict
        The same in plain words.
    values
        More numbers by name, one for each parameter or one in all.
    arrays
        What charts draw, by name; `report/calibration.py` lists the names that it knows.
    """

    statistic: float
    p_value: float | None = None
    passed: bool | None = None
    level: float | None = None
    verdict: str
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def significance(self) -> str:
        """Return the p-value for people; empty where there is none."""
        if self.p_value is None:
            return ""
        if self.p_value < 1e-10:
            return "p < 1e-10"
        return f"p = {self.p_value:{'.1e' if self.p_value < 1e-3 else '.2g'}}"

    def plain(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        return {
            "statistic": self.statistic,
            "p_value": self.p_value,
            "passed": None if self.passed is None else bool(self.passed),  # NumPy's is no JSON
            "level": self.level,
            "verdict": self.verdict,
            "values": {name: np.asarray(v).tolist() for name, v in self.values.items()},
            "arrays": {name: np.asarray(v).tolist() for name, v in self.arrays.items()},
        }


def rebuilt(plain: Mapping[str, Any]) -> Finding:
    """Return the finding that `plain` was made of."""
    return Finding(
        statistic=plain["statistic"],
        p_value=plain["p_value"],
        passed=plain["passed"],
        level=plain["level"],
        verdict=plain["verdict"],
        values={name: np.asarray(v) for name, v in plain["values"].items()},
        arrays={name: np.asarray(v) for name, v in plain.get("arrays", {}).items()},
    )
