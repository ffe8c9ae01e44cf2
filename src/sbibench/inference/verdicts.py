"""Verdicts of calibration checks in plain words."""

from collections.abc import Sequence

from sbibench.core.errors import UsageError

MENTIONED = 3
"""Parameters that a verdict calls by name."""


def check_level(level: float) -> None:
    """Raise `UsageError` unless this is a level of significance."""
    if not 0 < level < 1:
        raise UsageError(f"a level lies between 0 and 1, not {level!r}")


def no_fault(pairs: int) -> str:
    """Return what is to be said where a test finds nothing."""
    return f"no fault found in {pairs:,} pair{'s' if pairs > 1 else ''}"


def listed(items: Sequence[str]) -> str:
    """Return the first of the items, and how many more there are."""
    more = len(items) - MENTIONED
    return ", ".join(items[:MENTIONED]) + (f" and {more} more" if more > 0 else "")
