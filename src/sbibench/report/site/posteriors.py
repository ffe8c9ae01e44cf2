"""What a task's page draws of samples: outlines of each run's, and data simulated from them."""

import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sbibench.core.cores import cores
from sbibench.report.cells import named
from sbibench.report.site.data import script
from sbibench.report.site.facts import TaskFacts
from sbibench.report.site.html import slug
from sbibench.report.site.outlines import SHOWN, Frame, contours, densities, frame, marginals

QUANTILES = (0.05, 0.5, 0.95)
PREDICTED = 100
"""Rows of a set of samples that data are simulated from."""
HIGHER = 1.5
"""Up to how many times the height of the true marginal density others are to scale."""
_MANY = 100
"""Runs from which on it is worth the start of processes to draw them."""

Samples = Callable[[str], np.ndarray | None]
"""The id of a run -> its samples [n, d], or None; drawn in other processes, too."""
Map = Callable[..., Iterable[Any]]


class Kept(NamedTuple):
    """What is kept of a set of samples: its outlines, and some of its rows [n, d]."""

    outlines: dict[str, Any]
    some: np.ndarray


class Drawn(NamedTuple):
    """What is drawn of one observation."""

    square: Frame
    reference: Kept | None
    runs: dict[str, Kept]


@contextmanager
def spread(runs: int) -> Any:
    """Yield a `map` that uses all cores, if there are so many runs that it helps."""
    if runs < _MANY or cores() < 2:
        yield map
        return
    with ProcessPoolExecutor(cores(), mp_context=get_context("spawn")) as pool:
        yield pool.map


def posteriors(
    runs: pl.DataFrame, samples: Samples, facts: TaskFacts, site: Path, spread_map: Map = map
) -> bool:
    """Write the outlines of one task's posteriors, a file an observation; return if there are any.

    Of several seeds the first is drawn.

    Parameters
    ----------
    runs
        The runs of the task.
    samples
        Their samples.
    facts
        What is known of the task.
    site
        The folder of the site.
    spread_map
        A `map` for work that other processes may do.
    """
    shown = named(runs).sort("seed").unique(["name", "budget", "observation"], keep="first")
    shown = shown.sort("observation", "name", "budget")
    observations = shown["observation"].unique(maintain_order=True).to_list()
    ids = {o: shown.filter(pl.col("observation") == o)["id"].to_list() for o in observations}
    references = [facts.reference(o) for o in observations]
    draw = functools.partial(_drawn, samples)
    found = [*spread_map(draw, ids.values(), references)]
    for observation, drawn in zip(observations, found, strict=True):
        if drawn is None:
            continue
        here = shown.filter(pl.col("observation") == observation)
        keys = {r["id"]: f"{r['name']}|{r['budget']:,}" for r in here.iter_rows(named=True)}
        path = site / "data" / "pairs" / slug(facts.name) / f"{observation}.js"
        script(path, "pairs", f"{facts.name}/{observation}", _said(facts, observation, drawn, keys))
    return any(drawn is not None for drawn in found)


def _drawn(samples: Samples, ids: Sequence[str], reference: np.ndarray | None) -> Drawn | None:
    """Return what is drawn of one observation, or None if none of its runs has samples."""
    read = {i: samples(i) for i in ids}
    sets = {i: s for i, s in read.items() if s is not None and len(s) > 1 and np.isfinite(s).all()}
    if not sets:
        return None
    compared = [reference] if reference is not None else [*sets.values()]
    square = frame(compared)
    heights = {i: densities(s, square) for i, s in sets.items()}
    of_truth = None if reference is None else densities(reference, square)
    tallest = np.max([h.max(1) for h in heights.values()], axis=0)
    if of_truth is not None:
        # One scale for all, so that heights compare: that of the truth, and some room above it.
        tallest = np.clip(tallest, of_truth.max(1), HIGHER * of_truth.max(1))

    def kept(values: np.ndarray, found: np.ndarray) -> Kept:
        outlines: dict[str, Any] = {
            "marginals": marginals(found, tallest),
            "contours": contours(values, square),
        }
        outlines["higher"] = bool((found.max(1) > tallest).any())
        return Kept(outlines, values[np.linspace(0, len(values) - 1, PREDICTED).astype(int)])

    truth = None if reference is None or of_truth is None else kept(reference, of_truth)
    return Drawn(square, truth, {i: kept(s, heights[i]) for i, s in sets.items()})


def _said(facts: TaskFacts, observation: int, drawn: Drawn, keys: dict[str, str]) -> dict[str, Any]:
    """Return what the page gets of one observation; runs are found by "name|budget"."""
    truth, x = facts.truth(observation), facts.observed(observation)
    runs = {keys[i]: kept for i, kept in drawn.runs.items()}
    d = next(iter(runs.values())).some.shape[1]
    # Of a task that can't be loaded only the samples tell how many parameters it has.
    names = facts.parameter_names or tuple(f"theta_{i + 1}" for i in range(d))
    said: dict[str, Any] = {
        "names": names[:SHOWN],
        "left_out": max(0, d - SHOWN),
        "low": _rounded(drawn.square.low),
        "high": _rounded(drawn.square.high),
        "truth": None if truth is None else _rounded(drawn.square.place(truth)),
        "reference": drawn.reference.outlines if drawn.reference else None,
        "runs": {key: kept.outlines for key, kept in runs.items()},
    }
    if x is not None and facts.predict is not None:
        every = [k.some for k in (drawn.reference, *runs.values()) if k is not None]
        bands = [_band(data) for data in facts.predict(every)]
        if drawn.reference:
            said["predicted_reference"] = bands.pop(0)
        said |= {"x": _rounded(x), "data_names": facts.data_names}
        said["predicted"] = dict(zip(runs, bands, strict=True))
    return said


def _band(data: np.ndarray) -> list[list[float]] | None:
    """Return the `QUANTILES` of simulated data [n, p], by rows that are finite."""
    finite = data[np.isfinite(data).all(1)]
    if not len(finite):
        return None
    return [_rounded(q) for q in np.quantile(finite, QUANTILES, axis=0)]


def _rounded(values: np.ndarray) -> list[float]:
    return [float(f"{v:.4g}") for v in np.asarray(values, float)]
