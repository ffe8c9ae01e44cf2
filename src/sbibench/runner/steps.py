"""A piece of work, step by step, in the process that computes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from sbibench.core.problem import Progress
from sbibench.core.run import RunRecord
from sbibench.runner.execute import Fit, ask, fit_once
from sbibench.runner.judge import judge
from sbibench.runner.todo import Work, lacking

Stage = Literal["fit", "sample", "metrics"]


def _silent(stage: Stage) -> None:
    """Announce nothing."""


def steps(
    group: Sequence[Work],
    metrics: Sequence[str],
    time_limit: float | None = None,
    progress: Progress | None = None,
    announce: Callable[[Stage], None] = _silent,
    keep: Callable[[Any], None] | None = None,
) -> Iterator[tuple[RunRecord, np.ndarray | None]]:
    """Do work that shares one fit; yield what is known of a run each time there is more.

    First come record and samples of a run, then after each metric its record alone; it is finished
    when the record lacks none of the metrics.

    Parameters
    ----------
    group
        One of the `groups`; records to complete may be among it.
    metrics
        Names of the metrics to compute.
    time_limit
        Seconds that fitting and sampling may take.
    progress
        Called as (stage, done, total).
    announce
        Called with the name of each stage before it begins.
    keep
        Called with the fitted posterior, if there is one.
    """
    fit: Fit | None = None
    for work in group:
        record, samples = work.record, work.samples
        if record is None:
            if fit is None:
                announce("fit")
                fit = fit_once(work.spec, time_limit, progress)
                if keep and not fit.failure:
                    keep(fit.posterior)
            announce("sample")
            record, samples = ask(fit, work.spec, metrics)
            yield record, samples
        for metric in lacking(record, metrics):
            announce("metrics")
            record = judge(record, samples, [metric])
            yield record, None
