"""What is to do: runs without a record, and records without a metric."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from sbibench.core.run import RunRecord, RunSpec, Status
from sbibench.store.results import Results


@dataclass(frozen=True)
class Work:
    """A run to do, or, where it has been done, a record to complete with metrics of its samples.

    Attributes
    ----------
    spec, record
        The run, and what is known of it and to be completed.
    samples
        Of a record to complete, [n, d], while that is done: those of thousands fill a memory.
    seen
        The record that there was when this was planned, of whatever status.
    """

    spec: RunSpec
    record: RunRecord | None = None
    samples: np.ndarray | None = None
    seen: RunRecord | None = None


def lacking(record: RunRecord, metrics: Sequence[str]) -> list[str]:
    """Return the metrics that a record says nothing of: neither a value nor why there is none."""
    return [m for m in metrics if m not in record.metrics and m not in record.missing]


def unfinished(
    runs: Sequence[RunSpec], metrics: Sequence[str], results: Results, *, retry: bool = False
) -> list[Work]:
    """Return what is to do of these runs.

    With `retry`, runs that are recorded as not done are among them.
    """
    found = []
    for spec in runs:
        record = results.read(spec.id)
        if record is None or (record.status != "done" and retry):
            found.append(Work(spec, seen=record))
        elif record.status == "done" and lacking(record, metrics):
            known = record if results.has_samples(spec.id) else None
            found.append(Work(spec, known, seen=record))
    return found


def to_judge_again(
    records: Sequence[RunRecord], metrics: Sequence[str], results: Results, *, anew: bool = False
) -> list[Work]:
    """Return what is to do to have these metrics of all records that have samples.

    Those without a value are computed, whatever the reason was; with `anew` all of them are.
    """
    found = []
    for record in records:
        wanted = [m for m in metrics if anew or m not in record.metrics]
        if wanted and results.has_samples(record.spec.id):
            found.append(Work(record.spec, record.without(wanted), seen=record))
    return found


def given_up(
    work: Work, metrics: Sequence[str], status: Status, reason: str, **known: Any
) -> RunRecord:
    """Return the record of work that came to nothing, whose run lacks these metrics.

    Where there are samples only metrics were to be computed: then the record says why they are
    missing, and is otherwise what it was.
    """
    if work.record is not None:
        missing = dict.fromkeys(lacking(work.record, metrics), reason)
        return msgspec.structs.replace(work.record, missing=work.record.missing | missing)
    return RunRecord(
        spec=work.spec,
        status=status,
        reason=reason,
        missing=dict.fromkeys(metrics, "the run has no samples"),
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **known,
    )


def groups(todo: Sequence[Work]) -> dict[str, list[Work]]:
    """Return what is to do in groups that share a fit, by a key; most have one member."""
    found: dict[str, list[Work]] = {}
    for w in todo:
        found.setdefault(w.spec.fit_id if w.record is None else w.spec.id, []).append(w)
    return found
