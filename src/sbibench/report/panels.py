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
DASHES = [4, 3]

Arrays = Mapping[str, np.ndarray]


def _x(title: str | None, low: float = 0.0, high: float = 1.0) -> Any:
    axis = alt.Axis(values=[low, (low + high) / 2, high], title=title)
    return alt.X("x:Q", axis=axis, scale=alt.Scale(domain=[low, high], nice=False))


def _y(title: str | None, low: float, high: float) -> Any:
    scale = alt.Scale(domain=[low, high], nice=False)
    return alt.Y("y:Q", title=title, scale=scale, axis=alt.Axis(tickCount=4))


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
    line = pl.DataFrame({"x": [0.0, 1.0], "y": [expected, expected]})
    layers = [
        alt.Chart(band).mark_rect(color=BAND).encode(x, y, x2="right", y2="high"),
        *(
            alt.Chart(data)
            .mark_rect(color=colour, opacity=0.7, stroke="white", strokeWidth=0.5)
            .encode(x, y, x2="right", y2="zero")
            for data, colour in ((bars.filter(inside), LINE), (bars.filter(~inside), OUTSIDE))
        ),
        alt.Chart(line).mark_line(color=TRUTH, strokeDash=DASHES, strokeWidth=1).encode(x, y),
    ]
    return alt.layer(*layers).properties(width=SMALL, height=100, title=_plain(name))


def difference(arrays: Arrays, i: int, name: str, *, first: bool) -> Any:
    """Return the distribution function of the ranks of parameter i, less the diagonal."""
    at, low, high, above = (
        np.asarray(arrays[a], float) for a in ("ecdf_at", "ecdf_low", "ecdf_high", "ecdf_above")
    )
    most = 1.1 * max(float(np.abs(above).max()), float(high.max()), float(-low.min()))
    return _banded(
        at,
        (low, above[:, i], high),
        (0.0, 0.0),
        _x("rank of the truth"),
        _y("ECDF − diagonal" if first else None, -most, most),
    ).properties(width=SMALL, height=100, title=_plain(name))


def curve(arrays: Arrays, key: str, title: str, inside: str, below: list[str]) -> Any:
    """Return a curve that should be the diagonal, with its band."""
    at, low, high, values = (
        np.asarray(arrays[a], float) for a in (f"{key}_at", f"{key}_low", f"{key}_high", key)
    )
    return _banded(
        at,
        (low, values, high),
        (0.0, 1.0),
        _x(f"share of draws inside the {inside}"),
        _y("share of truths inside", 0, 1),
    ).properties(width=LARGE, height=LARGE, title=_titled(title, below))


def _banded(
    at: np.ndarray,
    lines: tuple[np.ndarray, np.ndarray, np.ndarray],
    ends: tuple[float, float],
    x: Any,
    y: Any,
) -> Any:
    """Return a line in its band, from 0 to 1; where it is outside it is drawn in another colour."""
    low, values, high = (np.concatenate([ends[:1], a, ends[1:]]) for a in lines)
    frame = pl.DataFrame(
        {"x": np.concatenate([[0.0], at, [1.0]]), "low": low, "y": values, "high": high}
    )
    band = frame.select("x", pl.col("low").alias("y"), "high")
    # Bands are counts of pairs: what lies on their edge is inside.
    out = (pl.col("y") < pl.col("low") - 1e-9) | (pl.col("y") > pl.col("high") + 1e-9)
    right = pl.DataFrame({"x": [0.0, 1.0], "y": list(ends)})
    return alt.layer(
        alt.Chart(band).mark_area(color=BAND).encode(x, y, y2="high"),
        alt.Chart(right).mark_line(color=TRUTH, strokeDash=DASHES, strokeWidth=1).encode(x, y),
        alt.Chart(frame).mark_line(color=LINE, strokeWidth=2).encode(x, y),
        alt.Chart(frame.filter(out)).mark_circle(color=OUTSIDE, size=22, opacity=1).encode(x, y),
    )


def null(arrays: Arrays, title: str, below: list[str]) -> Any:
    """Return a statistic beside those of its null distribution."""
    values, statistic = np.asarray(arrays["null"], float), float(arrays["null_statistic"])
    top = 1.08 * max(float(values.max()), statistic)
    edges = np.linspace(0, top, 41)
    counts = np.histogram(values, edges)[0]
    bars = pl.DataFrame({"x": edges[:-1], "right": edges[1:], "y": counts, "zero": 0})
    scale = alt.Scale(domain=[0, top], nice=False)
    x = alt.X("x:Q", title="L-C2ST statistic", scale=scale, axis=alt.Axis(tickCount=4))
    y = _y("permutations", 0, 1.1 * float(counts.max()))
    rule = pl.DataFrame({"x": [statistic]})
    return alt.layer(
        alt.Chart(bars)
        .mark_rect(color="#AAAAAA", stroke="white", strokeWidth=0.5)
        .encode(x, y, x2="right", y2="zero"),
        alt.Chart(rule).mark_rule(color=LINE, strokeWidth=2.5).encode(x),
    ).properties(width=LARGE, height=LARGE, title=_titled(title, below))


def contraction(arrays: Arrays, names: tuple[str, ...], title: str, below: list[str]) -> Any:
    """Return the contraction of each parameter with its error."""
    found, error = (np.asarray(arrays[a], float) for a in ("contraction", "contraction_error"))
    frame = pl.DataFrame(
        {
            "name": list(names),
            "x": found,
            "low": found - 3 * error,
            "high": found + 3 * error,
        }
    )
    low = min(0.0, 1.1 * float((found - 3 * error).min()))
    x = alt.X("x:Q", title="contraction ± 3 standard errors", scale=alt.Scale(domain=[low, 1]))
    y = alt.Y("name:N", title=None, sort=list(names))
    zero = pl.DataFrame({"x": [0.0]})
    return alt.layer(
        alt.Chart(zero).mark_rule(color=TRUTH, strokeDash=DASHES).encode(x),
        alt.Chart(frame)
        .mark_rule(color=LINE, strokeWidth=2)
        .encode(alt.X("low:Q", title="", scale=alt.Scale(domain=[low, 1])), y, x2="high"),
        alt.Chart(frame).mark_circle(color=LINE, size=50, opacity=1).encode(x, y),
    ).properties(width=LARGE, height=LARGE, title=_titled(title, below))


def _plain(name: str) -> alt.TitleParams:
    return alt.TitleParams(name, fontWeight="normal", fontSize=11, offset=4)


def _titled(title: str, below: list[str]) -> alt.TitleParams:
    return alt.TitleParams(title, subtitle=below, anchor="start", offset=8)
