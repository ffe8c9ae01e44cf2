"""What a task's page draws of samples: outlines of each run's, and data simulated from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sbibench.report.cells import named
from sbibench.report.site.data import script
from sbibench.report.site.facts import TaskFacts
from sbibench.report.site.html import slug
from sbibench.report.site.outlines import SHOWN, contours, densities, frame, marginals

QUANTILES = (0.05, 0.5, 0.95)


def posteriors(runs: pl.DataFrame, samples: Any, facts: TaskFacts, site: Path) -> bool:
    """Write the outlines of one task's posteriors, a file an observation; return if there are any.

    Of several seeds the first is drawn.

    Parameters
    ----------
    runs
        The runs of the task.
    samples
        The id of a run -> its samples [n, d], or None.
    facts
        What is known of the task.
    site
        The folder of the site.
    """
    shown = (named(runs).sort("seed").unique(["name", "budget", "observation"], keep="first")).sort(
        "name", "budget"
    )
    any_drawn = False
    for observation in sorted(shown["observation"].unique()):
        here = shown.filter(pl.col("observation") == observation)
        sets = {}
        for run in here.iter_rows(named=True):
            drawn = samples(run["id"])
            if drawn is not None and len(drawn) > 1 and np.isfinite(drawn).all():
                sets[f"{run['name']}|{run['budget']:,}"] = drawn
        if sets:
            any_drawn = True
            name = f"{facts.name}/{observation}"
            path = site / "data" / "pairs" / slug(facts.name) / f"{observation}.js"
            script(path, "pairs", name, _drawn(sets, facts, observation))
    return any_drawn


def _drawn(sets: dict[str, np.ndarray], facts: TaskFacts, observation: int) -> dict[str, Any]:
    reference, truth = facts.reference(observation), facts.truth(observation)
    compared = [reference] if reference is not None else [*sets.values()]
    square = frame(compared)
    # The scale is the truth's, so that heights compare; what is more peaked may stand out a little.
    tallest = 1.2 * np.max([densities(s, square).max(1) for s in compared], axis=0)

    def outlines(values: np.ndarray) -> dict[str, Any]:
        heights = marginals(densities(values, square), tallest)
        return {"marginals": heights, "contours": contours(values, square)}

    said: dict[str, Any] = {
        "names": facts.parameter_names[:SHOWN],
        "left_out": max(0, len(facts.parameter_names) - SHOWN),
        "low": _rounded(square.low),
        "high": _rounded(square.high),
        "truth": None if truth is None else _rounded(square.place(truth)),
        "reference": None if reference is None else outlines(reference),
        "runs": {key: outlines(values) for key, values in sets.items()},
    }
    x = facts.observed(observation)
    if x is not None and facts.predict is not None:
        every = [*sets.values()] if reference is None else [reference, *sets.values()]
        bands = [_band(data) for data in facts.predict(every)]
        if reference is not None:
            said["predicted_reference"] = bands.pop(0)
        said |= {"x": _rounded(x), "data_names": facts.data_names}
        said["predicted"] = dict(zip(sets, bands, strict=True))
    return said


def _band(data: np.ndarray) -> list[list[float]] | None:
    """Return the `QUANTILES` of simulated data [n, p], by rows that are finite."""
    finite = data[np.isfinite(data).all(1)]
    if not len(finite):
        return None
    return [_rounded(q) for q in np.quantile(finite, QUANTILES, axis=0)]


def _rounded(values: np.ndarray | Sequence[float]) -> list[float]:
    return [float(f"{v:.4g}") for v in np.asarray(values, float)]
