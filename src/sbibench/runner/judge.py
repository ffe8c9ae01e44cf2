"""A run judged: its metrics, each a value or the reason why there is none."""

import math
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import msgspec
import numpy as np

from sbibench.core import registry
from sbibench.core.errors import SbibenchError
from sbibench.core.metric import Estimate, Evidence
from sbibench.core.run import RunRecord, Status
from sbibench.core.task import Task
from sbibench.core.whose import told

T = TypeVar("T")


def how_it_failed(error: BaseException) -> tuple[Status, str]:
    """Return status and reason in words of something that was raised."""
    if isinstance(error, SbibenchError):
        return error.status, str(error)
    reason = told(error)
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in reason:
        return "out_of_memory", reason
    return "failed", reason


def tried(do: Callable[[], T]) -> tuple[T | None, str]:
    """Return what comes of it, or None and in words why nothing does, whatever was raised."""
    try:
        return do(), ""
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what fails costs only itself
        return None, how_it_failed(error)[1]


def key_of(run_id: str) -> jax.Array:
    """Return the key that all randomness of a run comes from."""
    return jax.random.key(int(run_id[:15], 16))


def judge(record: RunRecord, samples: np.ndarray | None, metrics: Sequence[str]) -> RunRecord:
    """Return the record with these metrics of its samples added, each a value or a reason.

    Without the task nothing can be computed: then values that there are stay beside the reason.
    """
    spec = record.spec
    try:
        evidence, why = _evidence(record, samples, metrics)
    except Exception as error:  # noqa: BLE001 - somebody's own task that can't be had any more
        missing = record.missing | dict.fromkeys(metrics, how_it_failed(error)[1])
        return msgspec.structs.replace(record, missing=missing)
    record = record.without(metrics)
    values, missing, errors = dict(record.metrics), dict(record.missing), dict(record.errors)
    seconds = dict(record.seconds)
    key = jax.random.fold_in(key_of(spec.id), 2)
    for name in metrics:
        metric = registry.METRICS.get(name)()
        absent = [need for need in metric.needs if getattr(evidence, need) is None]
        start = time.perf_counter()
        if absent:
            missing[name] = "; ".join(why[need] for need in absent)
            continue
        try:
            value = metric(jax.random.fold_in(key, zlib.crc32(name.encode())), evidence)
            values[name] = _number(value)
            if isinstance(value, Estimate):
                values |= {f"{name}.{more}": _number(v) for more, v in value.also.items()}
                errors |= {} if value.error is None else {name: _number(value.error)}
        except Exception as error:  # noqa: BLE001 - a metric that fails costs only itself
            missing[name] = how_it_failed(error)[1]
        seconds["metrics"] = seconds.get("metrics", 0.0) + time.perf_counter() - start
    return msgspec.structs.replace(
        record, metrics=values, missing=missing, errors=errors, seconds=seconds
    )


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise SbibenchError(f"the value is {number}")
    return number


def _evidence(
    record: RunRecord, samples: np.ndarray | None, metrics: Sequence[str]
) -> tuple[Evidence, dict[str, str]]:
    """Return what there is to judge a run by, and for each field that is None the reason.

    The reference, which may have to be made, is there if one of the metrics needs it.
    """
    spec = record.spec
    task: Task = registry.TASKS.get(spec.task)
    why = {
        "samples": "the run has no samples",
        "log_likelihood": f"{spec.task} has no likelihood",
        "log_prob_true": "no density at the true parameters is on record: the algorithm has none, "
        "or the run was made without a metric that needs it",
    }
    reference = None
    if any("reference" in registry.METRICS.get(name).needs for name in metrics):
        try:
            reference = task.reference_samples(spec.observation)
        except Exception as error:  # noqa: BLE001 - a reference that fails costs only its metrics
            why["reference"] = how_it_failed(error)[1]
    density = record.info.get("log_prob_true")
    if isinstance(density, str):
        why["log_prob_true"] = f"the density at the true parameters: {density}"
    evidence = Evidence(
        samples=samples,
        reference=reference,
        x_obs=task.observation(spec.observation),
        prior=task.prior,
        simulate=task.forward,
        log_likelihood=task.log_likelihood,
        log_prob_true=density if isinstance(density, float) else None,
    )
    return evidence, why
