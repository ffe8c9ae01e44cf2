"""One run, from its spec to its record. Failure is a value with a reason."""

import dataclasses
import datetime
import math
import os
import platform
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import msgspec
import numpy as np

from sbibench.core import registry, settings
from sbibench.core.errors import SbibenchError
from sbibench.core.metric import Evidence
from sbibench.core.posterior import Info, Posterior
from sbibench.core.problem import Progress
from sbibench.core.run import RunRecord, RunSpec, Status
from sbibench.core.task import Task
from sbibench.core.versions import versions

_COMPILE_EVENTS = (
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
)
_compile_seconds = [0.0]


def _count_compilation(event: str, duration_secs: float, **_: str | int) -> None:
    if event in _COMPILE_EVENTS:
        _compile_seconds[0] += duration_secs


jax.monitoring.register_event_duration_secs_listener(_count_compilation)


def _machine() -> dict[str, str | int]:
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 0,
        "device": jax.default_backend(),
    }


def _how_it_failed(error: BaseException) -> tuple[Status, str]:
    if isinstance(error, SbibenchError):
        return error.status, str(error)
    reason = f"{type(error).__name__}: {error}".strip()
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in reason:
        return "out_of_memory", reason
    return "failed", reason


class _Stopwatch:
    """Seconds by stage; the time of compilation is counted on its own, too."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._compiled_before = _compile_seconds[0]

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = time.perf_counter() - start
            self.seconds["compile"] = _compile_seconds[0] - self._compiled_before


def _key(spec: RunSpec) -> jax.Array:
    return jax.random.key(int(spec.id[:15], 16))


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
    watch = _Stopwatch()
    task: Task = registry.TASKS.get(spec.task)
    algorithm = settings.build(
        registry.ALGORITHMS.get(spec.algorithm), spec.settings, spec.algorithm
    )
    problem = task.problem(spec.observation, spec.budget, time_limit)
    if progress:
        problem = dataclasses.replace(problem, progress=progress)
    fit_key, sample_key = jax.random.split(_key(spec))
    status: Status = "done"
    reason = "all samples drawn"
    posterior: Posterior | None = None
    samples: np.ndarray | None = None
    try:
        with watch("fit"):
            posterior = algorithm.fit(fit_key, problem)
        with watch("sample"):
            samples = _checked(posterior.sample(sample_key, spec.samples), (spec.samples, task.d))
        if posterior.info.get("stopped") == "deadline":
            status, reason = "timeout", "the time limit ended the training; its best is used"
    # Whatever an algorithm or a task raises, leaving the interpreter included, is its record.
    except (Exception, SystemExit) as error:  # noqa: BLE001 - see above
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
        info=_plain(posterior.info) if posterior else {},
        versions=versions(),
        machine=_machine(),
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    return judge(record, samples, metrics), samples


def _checked(drawn: Any, shape: tuple[int, int]) -> np.ndarray:
    samples: np.ndarray = np.asarray(drawn, np.float32)
    if samples.shape != shape:
        raise SbibenchError(f"the posterior returned samples of shape {samples.shape}, not {shape}")
    bad = ~np.isfinite(samples).all(1)
    if bad.any():
        raise SbibenchError(f"{int(bad.sum())} of {len(samples)} samples are not finite")
    return samples


def judge(record: RunRecord, samples: np.ndarray | None, metrics: Sequence[str]) -> RunRecord:
    """Return the record with these metrics of its samples added, each a value or a reason."""
    spec = record.spec
    values, missing = dict(record.metrics), dict(record.missing)
    seconds = dict(record.seconds)
    key = jax.random.fold_in(_key(spec), 2)
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
            values[name] = _number(
                metric(jax.random.fold_in(key, zlib.crc32(name.encode())), evidence)
            )
        except Exception as error:  # noqa: BLE001 - a metric that fails costs only itself
            missing[name] = _how_it_failed(error)[1]
        seconds["metrics"] = seconds.get("metrics", 0.0) + time.perf_counter() - start
    return msgspec.structs.replace(record, metrics=values, missing=missing, seconds=seconds)


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise SbibenchError(f"the value is {number}")
    return number


def _plain(info: Mapping[str, Any]) -> Info:
    """Return the facts as plain values that every record can hold."""
    plain: Info = {}
    for name, value in info.items():
        v = value.item() if getattr(value, "size", None) == 1 else value
        finite = isinstance(v, bool | int | str) or (isinstance(v, float) and math.isfinite(v))
        plain[str(name)] = v if finite else str(v)
    return plain


def _evidence(spec: RunSpec, samples: np.ndarray | None) -> tuple[Evidence, dict[str, str]]:
    why = {"samples": "the run has no samples"}
    reference = None
    try:
        reference = registry.TASKS.get(spec.task).reference_samples(spec.observation)
    except Exception as error:  # noqa: BLE001 - a reference that fails costs only its metrics
        why["reference"] = _how_it_failed(error)[1]
    return Evidence(samples=samples, reference=reference), why
