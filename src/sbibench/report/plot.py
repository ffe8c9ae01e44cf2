"""Charts, as altair objects: `.save("x.png" | "x.svg" | "x.pdf")` works offline."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import altair as alt
import numpy as np
import polars as pl

from sbibench.core.errors import NoReferenceError, UsageError
from sbibench.report.calibration import calibration
from sbibench.report.charts import cost, heatmap, metric
from sbibench.report.style import COLOURS, TRUTH

__all__ = ["calibration", "cost", "heatmap", "metric", "posterior"]

REFERENCE = "true posterior"
"""What charts call the samples of a task's reference."""

SHOWN = 1500
"""Points per set of samples in a panel: more only hide each other."""


class HasReference(Protocol):
    """What a chart needs of a task."""

    label: str
    parameter_names: tuple[str, ...]

    def reference_samples(self, observation: int) -> np.ndarray:
        """Return samples of the true posterior."""
        ...

    def true_parameters(self, observation: int) -> np.ndarray:
        """Return the parameters that generated the observation."""
        ...


def _bins(values: list[np.ndarray]) -> np.ndarray:
    both = np.concatenate(values)
    low, high = np.quantile(both, [0.001, 0.999])
    margin = 0.04 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, 71)


def posterior(
    task: HasReference,
    observation: int,
    samples: Mapping[str, np.ndarray],
    parameters: tuple[int, ...] | None = None,
) -> alt.VConcatChart:
    """Return a pair plot of posterior samples against the true posterior, where it is known.

    Marginal densities are on the diagonal, points below it; the cross marks the parameters that
    generated the observation. A task without a reference has its samples alone.

    Parameters
    ----------
    task
        The task; its reference, if there is one, is drawn as "true posterior".
    observation
        Its number, counted from 1.
    samples
        Samples [n, d] by name.
    parameters
        Indices of the parameters to show; by default the first four.

    Raises
    ------
    UsageError
        If samples do not have the task's number of parameters, or there are none at all.
    """
    names = task.parameter_names
    sets = {**_reference(task, observation), **samples}
    if not sets:
        raise UsageError("there is nothing to draw: no samples are given, and no truth is known")
    for name, values in sets.items():
        if np.ndim(values) != 2 or np.shape(values)[1] != len(names):
            raise UsageError(
                f"samples of {name!r} have shape {np.shape(values)}, not [n, {len(names)}]"
            )
    shown = parameters if parameters is not None else tuple(range(min(4, len(names))))
    below = "Cross and dashed lines: the parameters that generated the observation."
    try:
        truth = task.true_parameters(observation)
    except UsageError:  # nobody knows them: no cross, no lines
        truth, below = np.full(len(names), np.nan), ""
    colour = alt.Color(
        "samples:N",
        scale=alt.Scale(domain=list(sets), range=_colours(list(sets))),
        legend=alt.Legend(orient="top", title=None, symbolOpacity=1),
    )
    bins = {i: _bins([np.asarray(v)[:, i] for v in sets.values()]) for i in shown}
    size = 560 // max(2, len(shown))
    rows = []
    for r, i in enumerate(shown):
        cells = [
            _scatter(sets, names, (j, i), bins, truth, colour, size)
            if j != i
            else _marginal(sets, names, i, bins[i], truth, colour, size)
            for j in shown[: r + 1]
        ]
        rows.append(alt.hconcat(*cells))
    title = f"{task.label}, observation {observation}: samples of the posterior"
    chart: alt.VConcatChart = (
        alt.vconcat(*rows)
        .properties(title=alt.TitleParams(title, subtitle=below, anchor="start"))
        .configure_axis(grid=False)
        .configure_view(stroke=None)
    )
    return chart


def _reference(task: HasReference, observation: int) -> dict[str, np.ndarray]:
    """Return samples of the true posterior by their name; nothing where nobody has any."""
    try:
        return {REFERENCE: np.asarray(task.reference_samples(observation))}
    except NoReferenceError:
        return {}


def _colours(names: Sequence[str]) -> list[str]:
    """Return a colour for each set of samples; the truth has one of its own."""
    others = itertools.cycle(COLOURS)
    return [TRUTH if name == REFERENCE else next(others) for name in names]


def _domain(bins: np.ndarray) -> alt.Scale:
    return alt.Scale(domain=[float(bins[0]), float(bins[-1])], nice=False, clamp=False)


def _marginal(
    sets: Mapping[str, np.ndarray],
    names: tuple[str, ...],
    i: int,
    bins: np.ndarray,
    truth: np.ndarray,
    colour: Any,
    size: int,
) -> Any:
    frames = [
        pl.DataFrame(
            {
                "samples": name,
                "at": (bins[1:] + bins[:-1]) / 2,
                "density": np.histogram(np.asarray(values)[:, i], bins=bins, density=True)[0],
            }
        )
        for name, values in sets.items()
    ]
    x = alt.X("at:Q", title=names[i], scale=_domain(bins))
    lines = (
        alt.Chart(pl.concat(frames))
        .mark_line(strokeWidth=1.5, clip=True)
        .encode(x, alt.Y("density:Q", title="density"), colour)
    )
    rule = (
        alt.Chart(pl.DataFrame({"at": [float(truth[i])]}))
        .mark_rule(strokeDash=[4, 3])
        .encode(alt.X("at:Q", scale=_domain(bins)))
    )
    return (lines + rule).properties(width=size, height=size)


def _scatter(
    sets: Mapping[str, np.ndarray],
    names: tuple[str, ...],
    axes: tuple[int, int],
    bins: Mapping[int, np.ndarray],
    truth: np.ndarray,
    colour: Any,
    size: int,
) -> Any:
    j, row = axes
    frames = [
        pl.DataFrame(
            {
                "samples": name,
                "x": np.asarray(values)[:SHOWN, j].astype(float),
                "y": np.asarray(values)[:SHOWN, row].astype(float),
            }
        )
        for name, values in sets.items()
    ]
    x = alt.X("x:Q", title=names[j], scale=_domain(bins[j]))
    y = alt.Y("y:Q", title=names[row], scale=_domain(bins[row]))
    # The truth lies on top of the others and is finer: what sticks out from under it is error.
    by_name = sorted(zip(sets, frames, strict=True), key=lambda pair: pair[0] == REFERENCE)
    layers = [
        alt.Chart(frame)
        .mark_circle(size=3 if name == REFERENCE else 10, opacity=0.5, clip=True)
        .encode(x, y, colour)
        for name, frame in by_name
    ]
    points = alt.layer(*layers)
    cross = (
        alt.Chart(pl.DataFrame({"x": [float(truth[j])], "y": [float(truth[row])]}))
        .mark_point(shape="cross", size=70, filled=True, color="white", stroke="black", clip=True)
        .encode(x, y)
    )
    return (points + cross).properties(width=size, height=size)
