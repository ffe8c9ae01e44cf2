"""One run, from its spec to its record. Failure is a value with a reason."""

import dataclasses
import datetime
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable

import jax
import msgspec
import numpy as np

import sbibench
from sbibench.core import registry, settings
from sbibench.core.errors import SbibenchError
from sbibench.core.metric import Evidence
from sbibench.core.problem import Problem, Progress
from sbibench.core.run import RunRecord, RunSpec, Status
from sbibench.core.task import Task

_COMPILE_EVENTS = (
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
)
_compile_seconds = [0.0]


def _count_compilation(event: str, duration: float, **_: object) -> None:
    if event in _COMPILE_EVENTS:
        _compile_seconds[0] += duration


jax.monitoring.register_event_duration_secs_listener(_count_compilation)


def _versions() -> dict[str, str]:
    libraries = ("jax", "jaxlib", "equinox", "flowjax", "numpyro", "optax", "diffrax", "numpy")
    found = {name: importlib.metadata.version(name) for name in (*libraries, "scikit-learn")}
    return {"sbibench": sbibench.__version__, "python": platform.python_version(), **found}


def _machine() -> dict[str, str | int]:
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 0,
        "device": jax.default_backend(),
    }


def _how_it_failed(error: Exception) -> tuple[Status, str]:
    if isinstance(error, SbibenchError):
        return error.status, str(error)  # type: ignore[return-value]  # a status by definition
    reason = f"{type(error).__name__}: {error}".strip()
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in reason:
        return "out_of_memory", reason
    return "failed", reason


class _Stopwatch:
    """Seconds by stage; the time of compilation is counted on its own, too."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._compiled_before = _compile_seconds[0]

    def time(self, stage: str, work: Callable[[], object]) -> object:
        start = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
            self.seconds["compile"] = _compile_seconds[0] - self._compiled_before


def execute(
    spec: RunSpec,
    metrics: list[str],
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
    watch = _Stopwatch()
    task: Task = registry.TASKS.get(spec.task)
    algorithm = settings.build(registry.ALGORITHMS.get(spec.algorithm), spec.settings, spec.algorithm)
    problem = task.problem(spec.observation, spec.budget, time_limit)
    if progress:
        problem = dataclasses.replace(problem, progress=progress)
    fit_key, sample_key, metric_key = jax.random.split(jax.random.key(int(spec.id[:15], 16)), 3)
    status: Status
    status, reason = "done", "all samples drawn"
    info: dict[str, object] = {}
    samples: np.ndarray | None = None
    try:
        posterior = watch.time("fit", lambda: algorithm.fit(fit_key, problem))
        info = posterior.info  # type: ignore[attr-defined]
        samples = watch.time("sample", lambda: _checked(posterior.sample(sample_key, spec.samples), spec, task))  # type: ignore[assignment, attr-defined]
        if info.get("stopped") == "deadline":
            status, reason = "timeout", "the time limit ended the training; samples are of its best"
    except Exception as error:  # noqa: BLE001 - whatever an algorithm or a task raises is its record
        status, reason = _how_it_failed(error)
    watch.seconds["simulate"] = problem.simulator.seconds
    watch.seconds["fit"] -= problem.simulator.seconds
    record = RunRecord(
        spec=spec,
        status=status,
        reason=reason,
        calls=problem.simulator.calls,
        invalid=problem.simulator.invalid,
        seconds=watch.seconds,
        info=info,
        versions=_versions(),
        machine=_machine(),
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    return judge(record, samples, metrics), samples


def _checked(samples: np.ndarray, spec: RunSpec, task: Task) -> np.ndarray:
    if np.shape(samples) != (spec.samples, task.d):
        raise SbibenchError(
            f"the posterior returned samples of shape {np.shape(samples)}, "
            f"not {(spec.samples, task.d)}"
        )
    return np.asarray(samples, np.float32)


def judge(record: RunRecord, samples: np.ndarray | None, metrics: list[str]) -> RunRecord:
    """Return the record with these metrics of its samples added, each a value or a reason."""
    spec = record.spec
    values, missing = dict(record.metrics), dict(record.missing)
    seconds = dict(record.seconds)
    key = jax.random.fold_in(jax.random.key(int(spec.id[:15], 16)), 1)
    evidence, why = _evidence(spec, samples)
    for name in metrics:
        values.pop(name, None)
        missing.pop(name, None)
        metric = registry.METRICS.get(name)()
        absent = [need for need in metric.needs if getattr(evidence, need) is None]
        start = time.perf_counter()
        if absent:
            missing[name] = "; ".join(why[need] for need in absent)
            continue
        try:
            values[name] = float(metric(key, evidence))
        except SbibenchError as error:
            missing[name] = str(error)
        seconds["metrics"] = seconds.get("metrics", 0.0) + time.perf_counter() - start
    return msgspec.structs.replace(
        record, metrics=values, missing=missing, seconds=seconds)


def _evidence(spec: RunSpec, samples: np.ndarray | None) -> tuple[Evidence, dict[str, str]]:
    why = {"samples": "the run has no samples"}
    reference = None
    try:
        reference = registry.TASKS.get(spec.task).reference_samples(spec.observation)
    except SbibenchError as error:
        why["reference"] = str(error)
    return Evidence(samples=samples, reference=reference), why
