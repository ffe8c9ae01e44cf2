"""Parts of the chart of calibration checks, each one panel."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from sbibench.report.style import BAND, COLOURS, TRUTH

SMALL, LARGE = 140, 230
"""Widths of the panel of a parameter and of others, in pixels."""

LINE, OUTSIDE = COLOURS[:2]
NULL = "#AAAAAA"
DASHED = {"color": TRUTH, "strokeDash": [4, 3], "strokeWidth": 1}
BARS = {"opacity": 0.7, "stroke": "white", "strokeWidth": 0.5}

Arrays = Mapping[str, np.ndarray]


# Axes, marks and titles are dicts: altair's own classes have a hundred empty fields each, which are
# copied whenever charts are put together (4 s in place of 0.7 for two parameters).


def _x(title: str | None, low: float = 0.0, high: float = 1.0) -> Any:
    axis = {"values": [low, (low + high) / 2, high], "title": title}
    return alt.X("x:Q", axis=axis, scale={"domain": [low, high], "nice": False})


def _y(title: str | None, low: float, high: float) -> Any:
    scale = {"domain": [low, high], "nice": False}
    return alt.Y("y:Q", title=title, scale=scale, axis={"tickCount": 4})


def _marks(
    data: pl.DataFrame, kind: str, *channels: Any, look: Mapping[str, Any], **ends: str
) -> Any:
    """Return marks of this kind at the channels; `ends` are x2 and y2."""
    mark: Any = {"type": kind, **look}
    return alt.Chart(data, mark=mark).encode(*channels, **ends)


def _panel(layers: list[Any], width: int, height: int, title: Mapping[str, Any]) -> Any:
    return alt.layer(*layers, width=width, height=height, title=title)


def ranks(arrays: Arrays, i: int, name: str, *, first: bool) -> Any:
    """Return the rank histogram of parameter i; `first` is the leftmost of its row."""
    counts, low, high = (
        np.asarray(arrays[a], float) for a in ("rank_counts", "rank_counts_low", "rank_counts_high")
    )
    bins = len(counts)
    edges = np.linspace(0, 1, bins + 1)
    top = 1.1 * max(float(counts.max()), float(high))
    x, y = _x("rank of the truth"), _y("pairs" if first else None, 0, top)
    bars = pl.DataFrame({"x": edges[:-1], "right": edges[1:], "y": counts[:, i], "zero": 0.0})
    inside = pl.col("y").is_between(float(low), float(high))
    band = pl.DataFrame({"x": [0.0], "right": [1.0], "y": [float(low)], "high": [float(high)]})
    expected = float(counts[:, i].sum()) / bins
    layers = [
        _marks(band, "rect", x, y, look={"color": BAND}, x2="right", y2="high"),
        *(
            _marks(data, "rect", x, y, look=BARS | {"color": colour}, x2="right", y2="zero")
            for data, colour in ((bars.filter(inside), LINE), (bars.filter(~inside), OUTSIDE))
        ),
        _marks(pl.DataFrame({"x": [0.0, 1.0], "y": [expected] * 2}), "line", x, y, look=DASHED),
    ]
    return _panel(layers, SMALL, 100, _plain(name))


def difference(arrays: Arrays, i: int, name: str, *, first: bool) -> Any:
    """Return the distribution function of the ranks of parameter i, less the diagonal."""
    at, low, high, above = (
        np.asarray(arrays[a], float) for a in ("ecdf_at", "ecdf_low", "ecdf_high", "ecdf_above")
    )
    most = 1.1 * max(float(np.abs(above).max()), float(high.max()), float(-low.min()))
    x, y = _x("rank of the truth"), _y("ECDF − diagonal" if first else None, -most, most)
    layers = _banded(at, (low, above[:, i], high), (0.0, 0.0), x, y)
    return _panel(layers, SMALL, 100, _plain(name))


def curve(arrays: Arrays, key: str, title: str, inside: str, below: list[str]) -> Any:
    """Return a curve that should be the diagonal, with its band."""
    at, low, high, values = (
        np.asarray(arrays[a], float) for a in (f"{key}_at", f"{key}_low", f"{key}_high", key)
    )
    x, y = _x(f"share of draws inside the {inside}"), _y("share of truths inside", 0, 1)
    layers = _banded(at, (low, values, high), (0.0, 1.0), x, y)
    return _panel(layers, LARGE, LARGE, _titled(title, below))


def _banded(
    at: np.ndarray,
    lines: tuple[np.ndarray, np.ndarray, np.ndarray],
    ends: tuple[float, float],
    x: Any,
    y: Any,
) -> list[Any]:
    """Return a line in its band, from 0 to 1; where it is outside it is drawn in another colour."""
    low, values, high = (np.concatenate([ends[:1], a, ends[1:]]) for a in lines)
    xs = np.concatenate([[0.0], at, [1.0]])
    line = pl.DataFrame({"x": xs, "y": values})
    # Bands are counts of pairs: what lies on their edge is inside.
    out = line.filter((values < low - 1e-9) | (values > high + 1e-9))
    return [
        _marks(
            pl.DataFrame({"x": xs, "y": low, "high": high}),
            "area", x, y, look={"color": BAND}, y2="high",
        ),
        _marks(pl.DataFrame({"x": [0.0, 1.0], "y": list(ends)}), "line", x, y, look=DASHED),
        _marks(line, "line", x, y, look={"color": LINE, "strokeWidth": 2}),
        _marks(out, "circle", x, y, look={"color": OUTSIDE, "size": 22, "opacity": 1}),
    ]  # fmt: skip


def null(arrays: Arrays, title: str, below: list[str]) -> Any:
    """Return a statistic beside those of its null distribution."""
    values, statistic = np.asarray(arrays["null"], float), float(arrays["null_statistic"])
    top = 1.08 * max(float(values.max()), statistic)
    edges = np.linspace(0, top, 41)
    counts = np.histogram(values, edges)[0].astype(float)
    bars = pl.DataFrame({"x": edges[:-1], "right": edges[1:], "y": counts, "zero": 0.0})
    scale = {"domain": [0, top], "nice": False}
    x = alt.X("x:Q", title="L-C2ST statistic", scale=scale, axis={"tickCount": 4})
    y = _y("permutations", 0, 1.1 * float(counts.max()))
    rule = pl.DataFrame({"x": [statistic]})
    layers = [
        _marks(bars, "rect", x, y, look=BARS | {"color": NULL}, x2="right", y2="zero"),
        _marks(rule, "rule", x, look={"color": LINE, "strokeWidth": 2.5}),
    ]
    return _panel(layers, LARGE, LARGE, _titled(title, below))


def contraction(arrays: Arrays, names: tuple[str, ...], title: str, below: list[str]) -> Any:
    """Return the contraction of each parameter with its error."""
    found, error = (np.asarray(arrays[a], float) for a in ("contraction", "contraction_error"))
    low, high = found - 3 * error, found + 3 * error
    least = min(0.0, 1.1 * float(low.min()))
    x = alt.X("x:Q", title="contraction ± 3 standard errors", scale={"domain": [least, 1]})
    y = alt.Y("name:N", title=None, sort=list(names))
    ranges = pl.DataFrame({"name": list(names), "x": low, "high": high})
    layers = [
        _marks(pl.DataFrame({"x": [0.0]}), "rule", x, look=DASHED),
        _marks(ranges, "rule", x, y, look={"color": LINE, "strokeWidth": 2}, x2="high"),
        _marks(
            pl.DataFrame({"name": list(names), "x": found}),
            "circle", x, y, look={"color": LINE, "size": 50, "opacity": 1},
        ),
    ]  # fmt: skip
    return _panel(layers, LARGE, LARGE, _titled(title, below))


def _plain(name: str) -> dict[str, Any]:
    return {"text": name, "fontWeight": "normal", "fontSize": 11, "offset": 4}


def _titled(title: str, below: list[str]) -> dict[str, Any]:
    return {"text": title, "subtitle": below, "anchor": "start", "offset": 8}
