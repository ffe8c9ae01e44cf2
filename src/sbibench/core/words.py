"""Numbers in words that people read."""

import math


def duration(seconds: float) -> str:
    """Return a time as people say it: 0.3 s, 12 s, 4 min, 2.5 h, 3 days."""
    for size, unit, last in ((1, "s", 120), (60, "min", 120), (3600, "h", 48)):
        if seconds < size * last:
            number = seconds / size
            return f"{number:.1f} {unit}" if number < 10 else f"{number:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"


def nats(value: float, error: float) -> str:
    """Return a difference of log densities with its standard error, as 0.41 ± 0.08 nats."""
    # One digit of the error, two where it begins with 1.
    digits = min(4, max(0, -math.floor(math.log10(error / 2)))) if error > 0 else 2
    return f"{value:.{digits}f} ± {error:.{digits}f} nats"
