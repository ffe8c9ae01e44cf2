"""One run, from its spec to its record. Failure is a value with a reason."""

import dataclasses
import datetime
import math
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import jax
import numpy as np

from sbibench.core import registry, settings
from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.posterior import Info, check_posterior, check_shareable
from sbibench.core.problem import Progress, silent
from sbibench.core.run import RunRecord, RunSpec, Status
from sbibench.core.simulator import Simulator
from sbibench.core.task import Task
from sbibench.core.versions import versions
from sbibench.runner.judge import how_it_failed, judge, key_of
from sbibench.runner.stopwatch import Stopwatch

FIT_AT = 1
"""The observation that is in the problem when a fit is shared."""


_DISTINCT = 0.5
"""Share of samples that differ, up to which the record says how few they are."""


@cache
def machine() -> dict[str, str | int]:
    """Return what this process runs on."""
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 0,
        "device": jax.default_backend(),
    }


@dataclasses.dataclass(frozen=True)
class Fit:
    """What came of fitting: a posterior and facts, or how it failed; what was run, how long."""

    task: Task
    posterior: Any
    facts: Mapping[str, Any]
    failure: tuple[Status, str] | None
    simulator: Simulator
    seconds: Mapping[str, float]


def execute(
    spec: RunSpec,
    metrics: Sequence[str],
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> tuple[RunRecord, np.ndarray | None]:
    """Run an algorithm on a task and judge its samples.

    Parameters
    ----------
    spec
        What to run.
    metrics
        Names of the metrics to compute.
    time_limit
        Seconds that fitting and sampling may take.
    progress
        Called as (stage, done, total).

    Returns
    -------
    record, samples
        The record, whatever happened, and the samples [n, d] if there are any.
    """
    return next(execute_together([spec], metrics, time_limit, progress))


def execute_together(
    specs: Sequence[RunSpec],
    metrics: Sequence[str],
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[RunRecord, np.ndarray | None]]:
    """Run an algorithm once for runs with the same `fit_id`, and yield what came of each in turn.

    With `share_fit` the fit is at observation `FIT_AT`, whichever are asked for: so the samples of
    a run do not depend on which others come with it. In each record calls, seconds of simulate and
    fit, and what the algorithm reports of the fit, are those of the one fit.
    """
    if len({spec.fit_id for spec in specs}) > 1:
        raise UsageError("only runs that differ in their observation alone can share a fit")
    fit = fit_once(specs[0], time_limit, progress)
    for spec in specs:
        record, samples = ask(fit, spec, metrics)
        yield judge(record, samples, metrics), samples


def fit_once(
    spec: RunSpec,
    time_limit: float | None,
    progress: Progress | None,
    task: Task | None = None,
    algorithm: Any = None,
) -> Fit:
    """Fit for this run and all others that share its fit.

    The task and the algorithm are those that are registered under the names in the spec, unless
    they are given.
    """
    watch = Stopwatch()
    task = task or registry.TASKS.get(spec.task)
    algorithm = algorithm or settings.build(
        registry.ALGORITHMS.get(spec.algorithm), spec.settings, spec.algorithm
    )
    assert task is not None
    at = FIT_AT if spec.share_fit else spec.observation
    problem = task.problem(at, spec.budget, time_limit, progress or silent)
    posterior, facts, failure = None, {}, None
    try:
        if spec.share_fit:
            check_shareable(spec.algorithm, getattr(algorithm, "amortized", True))
        with watch("fit"):
            posterior = algorithm.fit(jax.random.split(key_of(spec.fit_id))[0], problem)
        check_posterior(posterior)
        facts = dict(posterior.info)
        if spec.share_fit:
            check_shareable(spec.algorithm, posterior.amortized)
            facts |= {"shared_fit": True, "fitted_at": FIT_AT}
    # Whatever an algorithm or a task raises, leaving the interpreter included, is its record.
    except (Exception, SystemExit) as error:  # noqa: BLE001 - see above
        failure = how_it_failed(error)
    return Fit(task, posterior, facts, failure, problem.simulator, watch.seconds)


def ask(
    fit: Fit, spec: RunSpec, metrics: Sequence[str] = ()
) -> tuple[RunRecord, np.ndarray | None]:
    """Draw the samples of a run; return its record, not yet judged, and the samples.

    The density at the true parameters is part of the record where one of the metrics needs it: that
    of a likelihood takes as long as the samples, and can't be had later.
    """
    watch = Stopwatch(fit.seconds)
    status: Status = "done"
    reason, facts, samples = "", fit.facts, None
    if fit.failure:
        status, reason = fit.failure
    else:
        try:
            with watch("sample"):
                samples = _sample(fit, spec)
            reason = _drawn(samples)
            if hasattr(fit.posterior, "log_prob") and _need_density(metrics):
                with watch("density"):
                    fit.posterior.info["log_prob_true"] = _density_of_truth(fit, spec)
            if fit.posterior.info.get("stopped") == "deadline":
                status, reason = "timeout", "the time limit ended the fit; what there was is used"
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as in the fit
            status, reason = how_it_failed(error)
        facts = fit.posterior.info
    watch.seconds["simulate"] = fit.simulator.seconds
    watch.seconds["fit"] = watch.seconds.get("fit", 0.0) - fit.simulator.seconds
    coarse = fit.simulator.unresolved
    if coarse is not None and coarse.any():
        facts = {**facts, "unresolved_columns": ",".join(map(str, np.flatnonzero(coarse)))}
    record = RunRecord(
        spec=spec,
        status=status,
        reason=reason,
        calls=fit.simulator.calls,
        invalid=fit.simulator.invalid,
        seconds=watch.seconds,
        info=_plain(facts),
        versions=versions(spec.task, spec.algorithm),
        machine=dict(machine()),
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    return record, samples


def _sample(fit: Fit, spec: RunSpec) -> np.ndarray:
    task = fit.task
    key = jax.random.split(key_of(spec.id))[1]
    if not spec.share_fit:
        drawn = fit.posterior.sample(key, spec.samples)
    else:
        # What sampling reports is of this observation alone.
        fit.posterior.info.clear()
        fit.posterior.info.update(fit.facts)
        x = task.observation(spec.observation).astype(np.float32)
        drawn = fit.posterior.sample(key, spec.samples, x)
    samples: np.ndarray = np.asarray(drawn, np.float32)
    shape = (spec.samples, task.d)
    if samples.shape != shape:
        raise SbibenchError(f"the posterior returned samples of shape {samples.shape}, not {shape}")
    bad = ~np.isfinite(samples).all(1)
    if bad.any():
        raise SbibenchError(f"{int(bad.sum())} of {len(samples)} samples are not finite")
    return samples


def _drawn(samples: np.ndarray) -> str:
    """Return in words what samples [n, d] there are; copies of few are not as good as many."""
    distinct = len(np.unique(samples, axis=0))
    if distinct > _DISTINCT * len(samples):
        return "all samples drawn"
    return f"{len(samples):,} samples drawn, but only {distinct:,} distinct"


def _need_density(metrics: Sequence[str]) -> bool:
    return any("log_prob_true" in registry.METRICS.get(name).needs for name in metrics)


def _density_of_truth(fit: Fit, spec: RunSpec) -> float | str:
    """Return log q(θ* | x_obs) of the parameters θ* of the observation, or why there is none."""
    task = fit.task
    x = task.observation(spec.observation).astype(np.float32) if spec.share_fit else None
    try:
        theta = task.true_parameters(spec.observation)[None]
        log_prob = float(fit.posterior.log_prob(theta, x)[0])
    except Exception as error:  # noqa: BLE001 - a density that fails costs only its metric
        return how_it_failed(error)[1]
    return log_prob if math.isfinite(log_prob) else str(log_prob)


def _plain(info: Mapping[str, Any]) -> Info:
    """Return the facts as plain values that every record can hold."""
    plain: Info = {}
    for name, value in info.items():
        v = value.item() if getattr(value, "size", None) == 1 else value
        finite = isinstance(v, bool | int | str) or (isinstance(v, float) and math.isfinite(v))
        plain[str(name)] = v if finite else str(v)
    return plain
