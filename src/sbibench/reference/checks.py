"""The checks that a certificate is made of. A check that is not passed means no reference."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.posterior import Info
from sbibench.core.references import Calibration, Check
from sbibench.core.task import Task
from sbibench.reference.agreement import c2st_trees
from sbibench.reference.chains import R_HAT

TOLERANCE, DEVIATIONS = 0.02, 4.0
"""How far from 1/2 a classifier may come, and how many standard deviations of its accuracy."""
SIGNIFICANCE = 1e-3
"""Below this p-value the ranks of a calibration are not uniform."""
LEAST_EFFECTIVE = 1000
"""Effective samples that the chains of a second method must have."""
LEAST_FRESH = 200
"""Fresh observations that a calibration must have."""


def sound(task: Task, samples: np.ndarray) -> list[Check]:
    """Return the checks that samples lie inside the support and are all different."""
    outside = int((~priors.rows(task.prior).inside(samples)).sum())
    duplicates = len(samples) - len(np.unique(samples, axis=0))
    most = _equal_by_rounding(samples)
    return [
        Check("support", "samples outside the support", outside, "0", outside == 0),
        Check("duplicates", "duplicates", duplicates, f"<= {most}", duplicates <= most),
    ]


def _equal_by_rounding(samples: np.ndarray) -> int:
    """Return how many independent draws may become equal when they are rounded to float32.

    Two draws of a normal variable fall together with probability spacing / (2 √π σ).
    """
    spread = samples.astype(np.float64).std(0)
    spacing = np.spacing(np.abs(samples)).astype(np.float64).mean(0)
    together = np.prod(np.minimum(1.0, spacing / (2 * np.sqrt(np.pi) * spread)))
    expected = len(samples) ** 2 / 2 * together
    return int(expected + 4 * np.sqrt(expected))


def bounded(method: str, facts: Info, options: dict[str, Any]) -> list[Check]:
    """Return the check that the bound M of a rejection has stood for long enough."""
    if method.startswith("exact"):
        return []
    quiet, wanted = int(facts["draws_since_m_was_raised"]), int(options["quiet"])
    name = "draws since M was raised"
    return [Check("bound", name, quiet, f">= {wanted}", quiet >= wanted)]


def mixed(facts: Info) -> list[Check]:
    """Return the checks of the second method's chains."""
    effective = LEAST_EFFECTIVE
    rules: list[tuple[str, str, str, Callable[[float], bool]]] = [
        ("r_hat", "R-hat", f"< {R_HAT}", lambda v: v < R_HAT),
        ("effective_samples", "effective samples", f">= {effective}", lambda v: v >= effective),
        ("divergences", "divergences", "0", lambda v: v == 0),
    ]
    checks = []
    for fact, name, wanted, passes in rules:
        if fact in facts:
            value = float(facts[fact])
            checks.append(Check(fact, f"{name} of the second method", value, wanted, passes(value)))
    return checks


def agreement(
    check_id: str, key: PRNGKeyArray, samples: np.ndarray, others: np.ndarray
) -> list[Check]:
    """Return the check that a classifier cannot tell samples from those of the second method."""
    if not len(others):
        return []
    n = min(len(samples), len(others))
    accuracy = c2st_trees(key, samples, others)
    # The accuracy is a share of 2 n answers.
    most = 0.5 + min(TOLERANCE, DEVIATIONS * 0.5 / np.sqrt(2 * n))
    least = 0.5 - TOLERANCE
    return [
        Check(
            check_id,
            f"C2ST against the second method, {n:,} draws of each",
            accuracy,
            f"{least:.3f} to {most:.3f}",
            bool(least <= accuracy <= most),
        )
    ]


def calibration(done: Calibration) -> list[Check]:
    """Return the checks that enough fresh observations were used and the ranks are uniform."""
    fresh, p_value = done.observations, done.p_value
    how = f"{done.draws} draws for each, {done.left_out} left out"
    name = f"calibration on {done.task}, {how}, p-value"
    return [
        Check(
            "fresh",
            "fresh observations of the calibration",
            fresh,
            f">= {LEAST_FRESH}",
            fresh >= LEAST_FRESH,
        ),
        Check("calibration", name, p_value, f">= {SIGNIFICANCE}", p_value >= SIGNIFICANCE),
    ]
