"""The colours of heat maps: even steps of lightness that colour-blind readers see, too."""

import math

# Cividis (Nuñez, Anderton & Renslow 2018), in nine equal steps.
CIVIDIS = [
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369",
    "#e1cc55", "#fee838",
]  # fmt: skip


def shade(fraction: float) -> tuple[str, str]:
    """Return the colour at a fraction between 0 (good) and 1 (bad), and that of text on it."""
    at = min(max(fraction, 0.0), 1.0) * (len(CIVIDIS) - 1)
    below = min(math.floor(at), len(CIVIDIS) - 2)
    low, high = (_channels(CIVIDIS[below + i]) for i in (0, 1))
    mixed = [a + (b - a) * (at - below) for a, b in zip(low, high, strict=True)]
    text = "#000000" if _luminance(mixed) > 0.18 else "#ffffff"
    return "#" + "".join(f"{round(c):02x}" for c in mixed), text


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(channels: list[float]) -> float:
    """Return the relative luminance of WCAG 2."""
    linear = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def fraction(value: float, low: float, high: float) -> float:
    """Return where a value lies between two others, 1/2 if they are the same."""
    return (value - low) / (high - low) if high > low else 0.5
